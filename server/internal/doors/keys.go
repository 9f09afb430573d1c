package doors

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/go-jose/go-jose/v4"

	"github.com/gsimc/gsimc/internal/fault"
)

// maxKeyBytes bounds a document of keys.
const maxKeyBytes = 1 << 20

// maxKeys bounds the keys by which a token that names none is verified.
const maxKeys = 100

// minRSABytes is the size of the smallest RSA key that counts, 2048 bits.
const minRSABytes = 256

// A keySet is the public keys of an issuer.
type keySet struct {
	text []byte // of the document
	keys []jose.JSONWebKey
}

// of returns the keys that may have made a signature.
func (s *keySet) of(header jose.Header) (keys []jose.JSONWebKey) {
	for _, key := range s.keys {
		if (header.KeyID == "" || key.KeyID == "" || key.KeyID == header.KeyID) &&
			(key.Algorithm == "" || key.Algorithm == header.Algorithm) {
			keys = append(keys, key)
		}
	}
	return keys
}

// parseKeys reads a document of keys (RFC 7517). It leaves out those that verify nothing. None may
// be left: the issuer has withdrawn them.
func parseKeys(text []byte) (*keySet, error) {
	var document struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &document); err != nil || document.Keys == nil {
		return nil, errors.New("not a JSON document of keys")
	}
	if len(document.Keys) > maxKeys {
		return nil, fmt.Errorf("more than %d keys", maxKeys)
	}
	set := &keySet{text: text}
	for _, one := range document.Keys {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(one) == nil && verifies(key) {
			set.keys = append(set.keys, key)
		}
	}
	return set, nil
}

// verifies reports whether a key is a public one, for signatures, and strong enough.
func verifies(key jose.JSONWebKey) bool {
	if r, ok := key.Key.(*rsa.PublicKey); ok && r.Size() < minRSABytes {
		return false
	}
	return key.IsPublic() && key.Valid() && (key.Use == "" || key.Use == "sig")
}

// readKeys reads the keys of an issuer from where they are.
func (i *issuer) readKeys(ctx context.Context) (*keySet, error) {
	if i.ofFile() {
		text, err := readKeyFile(i.place)
		if err != nil {
			return nil, err
		}
		return parseKeys(text)
	}
	place := i.place
	if place == "" {
		var err error
		if place, err = i.discover(ctx); err != nil {
			return nil, err
		}
	}
	text, err := i.get(ctx, place)
	if err != nil {
		return nil, err
	}
	return parseKeys(text)
}

// discover asks the configuration of an issuer where its keys are (OpenID Connect Discovery 1.0,
// section 4).
func (i *issuer) discover(ctx context.Context) (place string, err error) {
	text, err := i.get(ctx, strings.TrimSuffix(i.name, "/")+"/.well-known/openid-configuration")
	if err != nil {
		return "", err
	}
	var says struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	switch {
	case json.Unmarshal(text, &says) != nil:
		return "", errors.New("the configuration of the issuer is not JSON")
	case says.Issuer != i.name:
		return "", fmt.Errorf("the configuration is that of %q, and the line names %q", says.Issuer,
			i.name)
	case !i.mayRead(says.Keys):
		return "", errors.New("the configuration has a jwks_uri that is " + unsafeURL)
	}
	return says.Keys, nil
}

// get reads a document.
func (i *issuer) get(ctx context.Context, from string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	answer, err := i.client.Do(request)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err // without the URL, which may have a secret
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }() // it is read whole, or of no use
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", request.URL.Path, answer.Status)
	}
	return readBounded(answer.Body)
}

// readKeyFile reads a regular file. The error does not name it.
func readKeyFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("it is not a file")
	}
	if err == nil {
		var f *os.File
		if f, err = os.Open(name); err == nil {
			text, err := readBounded(f)
			return text, errors.Join(err, f.Close())
		}
	}
	return nil, fault.Cause(err)
}

func readBounded(from io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(from, maxKeyBytes+1))
	if err == nil && len(text) > maxKeyBytes {
		err = fmt.Errorf("more than %d bytes", maxKeyBytes)
	}
	return text, err
}
