// Package certtest makes certificates for tests.
package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
)

// Authority signs certificates.
type Authority struct {
	PEM []byte // its own certificate

	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Pair is a certificate with its key, both as PEM.
type Pair struct{ Cert, Key []byte }

// NewAuthority makes an authority.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of a test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	key := newKey(t)
	der := sign(t, template, template, key, key)
	cert := check.Get(x509.ParseCertificate(der))(t)
	return &Authority{PEM: encode("CERTIFICATE", der), cert: cert, key: key}
}

// Issue signs a certificate for localhost, 127.0.0.1 and more addresses, of servers and clients,
// that is valid until this time.
func (a *Authority) Issue(t testing.TB, serial int64, until time.Time, more ...net.IP) Pair {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: until,
		DNSNames: []string{"localhost"}, IPAddresses: append(more, net.IPv4(127, 0, 0, 1)),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	key := newKey(t)
	der := sign(t, template, a.cert, key, a.key)
	private := check.Get(x509.MarshalPKCS8PrivateKey(key))(t)
	return Pair{Cert: encode("CERTIFICATE", der), Key: encode("PRIVATE KEY", private)}
}

// Write writes text to a file of this name in a folder and returns the path of the file. A reader
// of the file gets the text before or the new text, and never a part of one.
func Write(t testing.TB, dir, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	check.Must(t, os.WriteFile(path+".new", text, 0o600))
	check.Must(t, os.Rename(path+".new", path))
	return path
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key := check.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	return key
}

func sign(
	t testing.TB, template, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey,
) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	check.Must(t, err)
	return der
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
