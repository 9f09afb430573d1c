package server

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
)

// userHasher turns user ids into hashes that may stand in a log.
type userHasher struct{ key []byte }

func newUserHasher(key []byte) *userHasher {
	if len(key) == 0 {
		key = make([]byte, sha256.Size)
		rand.Read(key) // never fails
	}
	return &userHasher{key: key}
}

// userID is a user id on its way to a log. Every way of printing it gives the keyed hash.
type userID struct {
	hasher *userHasher
	id     string
}

// String is the first 8 bytes of HMAC-SHA-256(key, id), in hex.
func (u userID) String() string {
	mac := hmac.New(sha256.New, u.hasher.key)
	mac.Write([]byte(u.id))
	return hex.EncodeToString(mac.Sum(nil)[:8])
}

// GoString keeps %#v from showing the fields.
func (u userID) GoString() string { return u.String() }

// LogValue implements [slog.LogValuer].
func (u userID) LogValue() slog.Value { return slog.StringValue(u.String()) }

// MarshalText keeps encoders from showing the fields.
func (u userID) MarshalText() ([]byte, error) { return []byte(u.String()), nil }
