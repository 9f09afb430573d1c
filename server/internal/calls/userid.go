package calls

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
)

// Hasher turns user ids into hashes that may stand in a log.
type Hasher struct{ key []byte }

// NewHasher returns the hasher of a key; empty: a random one.
func NewHasher(key []byte) *Hasher {
	if len(key) == 0 {
		key = make([]byte, sha256.Size)
		rand.Read(key) // never fails
	}
	return &Hasher{key: key}
}

// Hash returns the user id as it may stand in a log.
func (h *Hasher) Hash(user string) slog.LogValuer { return loggedUser{h, user} }

// loggedUser is a user id on its way to a log. Every way of printing it gives the keyed hash.
type loggedUser struct {
	hasher *Hasher
	id     string
}

// String is the first 8 bytes of HMAC-SHA-256(key, id), in hex.
func (u loggedUser) String() string {
	mac := hmac.New(sha256.New, u.hasher.key)
	mac.Write([]byte(u.id))
	return hex.EncodeToString(mac.Sum(nil)[:8])
}

// GoString keeps %#v from showing the fields.
func (u loggedUser) GoString() string { return u.String() }

// LogValue implements [slog.LogValuer].
func (u loggedUser) LogValue() slog.Value { return slog.StringValue(u.String()) }

// MarshalText keeps encoders from showing the fields.
func (u loggedUser) MarshalText() ([]byte, error) { return []byte(u.String()), nil }
