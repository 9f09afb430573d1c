package doors

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"time"

	"github.com/gsimc/gsimc/internal/fault"
)

// parseCertificates makes the configuration of a handshake from the texts of a certificate with its
// chain, its key and, if clients need certificates too, their authorities. until is the end of the
// certificate.
func parseCertificates(texts [][]byte, now time.Time) (_ *tls.Config, until time.Time, _ error) {
	pair, err := tls.X509KeyPair(texts[0], texts[1])
	if err != nil {
		return nil, until, &fault.Fault{Field: "TLSCert", Problem: "does not go with its key:",
			Err: err, Advice: []fault.Change{{Verb: "see", Field: "TLSKey"}}}
	}
	until = pair.Leaf.NotAfter
	switch {
	case now.After(until):
		return nil, until, &fault.Fault{Field: "TLSCert",
			Problem: "the certificate ended at " + until.Format(time.RFC3339)}
	case now.Before(pair.Leaf.NotBefore):
		return nil, until, &fault.Fault{Field: "TLSCert", Problem: "the certificate begins at " +
			pair.Leaf.NotBefore.Format(time.RFC3339)}
	}
	config := &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair},
		NextProtos: []string{"h2"},
		// A resumed session would be one of the certificates before, of the client's too.
		SessionTicketsDisabled: true,
	}
	if len(texts) > 2 {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(texts[2]) {
			return nil, until, &fault.Fault{Field: "TLSClientCA",
				Err: errors.New("there is no certificate in the file")}
		}
		config.ClientCAs, config.ClientAuth = pool, tls.RequireAndVerifyClientCert
	}
	return config, until, nil
}
