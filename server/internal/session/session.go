// Package session makes and reads session tokens. A token names a beginning of the history of a
// user, so that a client can demand an answer that reflects what it has written, of any server that
// shares the store.
//
// # Format
//
//	| 1 (1 B) | store (8 B) | revision (8 B) | mark (8 B) | tag (8 B) |
//
// Numbers are little endian. store is a fingerprint of the id of the store. The tag is a keyed hash
// over all before it and the user id, which is not in the token: it tells damaged tokens, and those
// of other users. The key is the id of the store, which is in its files and is not shown. So a
// client that does not know it can neither make a token nor find out, by trying, of which user one
// is. A token is no right to anything.
//
// A [Page] has a token of its own, for the next page of a list.
package session

import (
	"encoding/binary"
	"errors"

	"github.com/gsimc/gsimc/store"
)

const (
	version  = 1
	tagPlace = 1 + 8 + 8 + 8
	// TokenBytes is the length of a token.
	TokenBytes = tagPlace + 8
)

var (
	// ErrMalformed is the error of a token that is damaged, of a later version of the format, or of
	// another user.
	ErrMalformed = errors.New("session: the token is damaged, or of another user")
	// ErrOtherStore is the error of a token of another store.
	ErrOtherStore = errors.New("session: the token is of another store")
)

// A Token is an encoded token.
type Token [TokenBytes]byte

// Make returns the token of a version of the user's history. The user id has at most
// [store.MaxIDBytes] bytes.
func Make(id store.Identity, user string, v store.Version) (t Token) {
	t[0] = version
	binary.LittleEndian.PutUint64(t[1:], fingerprint(id))
	binary.LittleEndian.PutUint64(t[9:], v.Revision)
	binary.LittleEndian.PutUint64(t[17:], v.Mark)
	binary.LittleEndian.PutUint64(t[tagPlace:], tag(id, user, &t))
	return t
}

// Read returns the version that a token names. The error is [ErrOtherStore], which comes first, or
// [ErrMalformed].
func Read(id store.Identity, user string, token []byte) (store.Version, error) {
	if len(token) != TokenBytes || token[0] != version {
		return store.Version{}, ErrMalformed
	}
	t := Token(token)
	if binary.LittleEndian.Uint64(t[1:]) != fingerprint(id) {
		return store.Version{}, ErrOtherStore
	}
	v := store.Version{Revision: binary.LittleEndian.Uint64(t[9:]),
		Mark: binary.LittleEndian.Uint64(t[17:])}
	if binary.LittleEndian.Uint64(t[tagPlace:]) != tag(id, user, &t) || v.Revision == 0 {
		return store.Version{}, ErrMalformed
	}
	return v, nil
}

// fingerprint tells stores apart without their ids. No other hash is of one byte.
func fingerprint(id store.Identity) uint64 { return sipHash(id.ID, []byte{version}) }

func tag(id store.Identity, user string, t *Token) uint64 {
	var memory [tagPlace + store.MaxIDBytes]byte
	return sipHash(id.ID, append(append(memory[:0], t[:tagPlace]...), user...))
}
