package node

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"syscall"
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

// dialing settles TLS for a target, and returns options whose dialer does it.
func (o Options) dialing(t *target) Options {
	t.tls = o.tlsFor(*t)
	o.Dialer = o.dialer(t.tls)
	return o
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
		return &tlsConn{conn}, nil
	}
}

// tlsConn tells why a server hangs up. What it objects to in our certificate
// comes after our side of the handshake is over; if the connection is broken by
// then, a write only finds that, and the reason is still there to be read.
type tlsConn struct{ *tls.Conn }

func (c *tlsConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		var remote *net.OpError
		if _, why := c.Conn.Read(make([]byte, 1)); errors.As(why, &remote) && remote.Op == "remote error" {
			err = why
		}
	}
	return n, err
}
