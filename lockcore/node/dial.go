package node

import (
	"context"
	"crypto/tls"
	"net"
)

// tlsFor is how connections to the target are encrypted, nil for not at all.
func (o Options) tlsFor(t target) *tls.Config {
	if t.network == "unix" || t.tls == nil && !o.TLS {
		return nil
	}
	if o.TLSConfig == nil {
		return &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return o.TLSConfig.Clone()
}

// dialer makes connections and says at which stage one failed. It does TLS
// itself, since go-redis' own way to do it does not heed a context, and since
// the certificate has to be for the address that is dialed: of a cluster or
// behind sentinels that is not the one of the URL.
func (o Options) dialer(c *tls.Config) func(ctx context.Context, network, addr string) (net.Conn, error) {
	dial := o.Dialer
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		raw, err := dial(ctx, network, addr)
		if err != nil {
			return nil, &StageError{Dial, err}
		}
		if c == nil {
			return raw, nil
		}
		config := c
		if c.ServerName == "" {
			config = c.Clone()
			if config.ServerName, _, err = net.SplitHostPort(addr); err != nil {
				config.ServerName = addr
			}
		}
		conn := tls.Client(raw, config)
		if err := conn.HandshakeContext(ctx); err != nil {
			raw.Close()
			return nil, &StageError{TLS, err}
		}
		return conn, nil
	}
}
