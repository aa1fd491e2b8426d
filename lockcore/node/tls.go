package node

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
)

// TLSParts is what TLS may need beside the address. The zero value trusts the
// system's authorities and shows no certificate.
type TLSParts struct {
	// CA has the certificates of the authorities to trust, in PEM form, in
	// place of the system's. Empty means the system's.
	CA []byte
	// Cert and Key are our own certificate and its private key, in PEM form,
	// for servers that ask for one: both or neither.
	Cert, Key []byte
	// ServerName is the name the server's certificate must be for, and is
	// asked for in the handshake. Empty means the host that is connected to.
	ServerName string
	// Insecure accepts any certificate, so that whoever is in between can
	// read and change everything.
	Insecure bool
}

// Config makes the configuration of [Options] of it. The error says which part
// is wrong and never repeats any of it.
func (p TLSParts) Config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: p.ServerName, InsecureSkipVerify: p.Insecure}
	if len(p.CA) > 0 {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(p.CA) {
			return nil, errors.New("the CA file holds no certificate in PEM form")
		}
	}
	switch {
	case len(p.Cert) == 0 && len(p.Key) == 0:
		return c, nil
	case len(p.Key) == 0:
		return nil, errors.New("a client certificate is of no use without its private key; give both")
	case len(p.Cert) == 0:
		return nil, errors.New("a private key is of no use without its client certificate; give both")
	}
	pair, err := tls.X509KeyPair(p.Cert, p.Key)
	if err != nil {
		return nil, errors.New(keyPairFault(p, err))
	}
	c.Certificates = []tls.Certificate{pair}
	return c, nil
}

// keyPairFault says what is wrong with a certificate and its key.
func keyPairFault(p TLSParts, err error) string {
	if !hasBlock(p.Cert, func(b *pem.Block) bool { return b.Type == "CERTIFICATE" }) {
		return "the client certificate's file holds no certificate in PEM form"
	}
	if hasBlock(p.Key, func(b *pem.Block) bool {
		return b.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(b.Headers["Proc-Type"], "ENCRYPTED")
	}) {
		return "the private key is encrypted with a passphrase; give a key without one, in a file that only you can read"
	}
	if !hasBlock(p.Key, func(b *pem.Block) bool { return strings.HasSuffix(b.Type, "PRIVATE KEY") }) {
		return "the key's file holds no private key in PEM form"
	}
	if strings.Contains(err.Error(), "does not match") {
		return "the private key does not belong to the client certificate"
	}
	return "the client certificate or its private key cannot be read"
}

func hasBlock(data []byte, is func(*pem.Block) bool) bool {
	for {
		var b *pem.Block
		if b, data = pem.Decode(data); b == nil {
			return false
		}
		if is(b) {
			return true
		}
	}
}
