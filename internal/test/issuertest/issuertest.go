// Package issuertest is an issuer of signed tokens for tests.
package issuertest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/gsimc/gsimc/internal/test/check"
)

// An Issuer signs tokens, and serves its configuration and its public keys on loopback.
type Issuer struct {
	URL  string
	Keys atomic.Int64 // times that the keys were asked for
	Away atomic.Bool  // it answers no question
	// NoNames leaves the names of keys out of tokens, and of what is published, from the next
	// Rotate on.
	NoNames atomic.Bool
	// Withdrawn leaves the key out of what is published.
	Withdrawn atomic.Bool
	number    atomic.Int64
	key       atomic.Pointer[jose.JSONWebKey]
}

// New starts an issuer. It ends with the test.
func New(t testing.TB) *Issuer {
	t.Helper()
	i := &Issuer{}
	i.Rotate(t)
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration",
		func(w http.ResponseWriter, _ *http.Request) {
			i.answer(w, map[string]string{"issuer": i.URL, "jwks_uri": i.URL + "/keys"})
		})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		i.Keys.Add(1)
		i.answer(w, i.Document())
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	i.URL = s.URL
	return i
}

func (i *Issuer) answer(w http.ResponseWriter, document any) {
	if i.Away.Load() {
		http.Error(w, "away", http.StatusServiceUnavailable)
		return
	}
	_ = json.NewEncoder(w).Encode(document) // an error means that the client has gone
}

// Rotate gives the issuer another key, with another name, in place of its own.
func (i *Issuer) Rotate(t testing.TB) {
	t.Helper()
	name := strconv.FormatInt(i.number.Add(1), 10)
	if i.NoNames.Load() {
		name = ""
	}
	key := check.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	i.key.Store(&jose.JSONWebKey{Key: crypto.Signer(key), KeyID: name,
		Algorithm: string(jose.ES256), Use: "sig"})
}

// Document has the public key.
func (i *Issuer) Document() jose.JSONWebKeySet {
	if i.Withdrawn.Load() {
		return jose.JSONWebKeySet{Keys: []jose.JSONWebKey{}}
	}
	return jose.JSONWebKeySet{Keys: []jose.JSONWebKey{i.key.Load().Public()}}
}

// Sign returns a token with these claims.
func (i *Issuer) Sign(t testing.TB, claims map[string]any) string {
	t.Helper()
	return Sign(t, jose.SigningKey{Algorithm: jose.ES256, Key: *i.key.Load()}, claims)
}

// Sign returns a token with these claims, signed by a key.
func Sign(t testing.TB, key jose.SigningKey, claims map[string]any) string {
	t.Helper()
	signer := check.Get(jose.NewSigner(key, nil))(t)
	token, err := jwt.Signed(signer).Claims(claims).Serialize()
	check.Must(t, err)
	return token
}
