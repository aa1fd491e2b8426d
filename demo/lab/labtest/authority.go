package labtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"
)

// Authority is a CA that exists for one test.
type Authority struct {
	// PEM is its certificate.
	PEM  []byte
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority makes a CA.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &Authority{PEM: encode("CERTIFICATE", der), cert: cert, key: key}
}

// Issue makes a certificate for a server or a client that is called name, a
// host or an address, and its private key, both in PEM form. It ends after the
// given time, which may be negative.
func (a *Authority) Issue(t testing.TB, name string, lives time.Duration) (cert, key []byte) {
	t.Helper()
	private := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(lives),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if ip := net.ParseIP(name); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{name}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, private.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return encode("CERTIFICATE", der), encode("PRIVATE KEY", raw)
}

// Pool returns a pool with the authority in it.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// TLSFront puts TLS in front of a node and returns the address that speaks it.
// It ends with the test.
func TLSFront(t testing.TB, c *tls.Config, backend string) string {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", c)
	if err != nil {
		t.Fatal(err)
	}
	var (
		running sync.WaitGroup
		mu      sync.Mutex
		open    []net.Conn
		over    bool
	)
	// keep remembers a connection to close it at the end.
	keep := func(c net.Conn) bool {
		mu.Lock()
		defer mu.Unlock()
		open = append(open, c)
		return !over
	}
	running.Go(func() {
		for {
			front, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer front.Close()
				if !keep(front) || front.(*tls.Conn).HandshakeContext(t.Context()) != nil {
					return
				}
				back, err := net.Dial("tcp", backend)
				if err != nil {
					return
				}
				defer back.Close()
				if !keep(back) {
					return
				}
				running.Go(func() {
					_, _ = io.Copy(back, front)
					back.Close()
				})
				_, _ = io.Copy(front, back)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		over = true
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	return l.Addr().String()
}
