package session

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/gsimc/gsimc/store"
)

// A Recommendation says which list a client was shown. Its token is
//
//	| 5 (1 B) | store (4 B) | made (4 B) | before (2 B) | n (1 B) | arm (n B) | items (2 B each) |
//	| tag (8 B) |
//
// in base64 for URLs: store is a part of the fingerprint of the id of the store, made is in seconds
// since 1970, n is 128 more for a list of no user, and the tag is a keyed hash over all before it.
// Of an item it has 16 bits of a keyed hash: an item that is not among 50 is taken for one of them
// with a probability of 8·10⁻⁴, which a count of many events does not notice. A token does not say
// of which user it is, and is no right to anything.
type Recommendation struct {
	Arm    string    // whose model made the list, at most MaxArmBytes bytes
	NoUser bool      // the list was made for a history that came with the request
	Made   time.Time // in whole seconds
	Before int       // items on the pages before, less than 1 << 16
	Items  []uint16  // the first ones, at most MaxPositions, by ShortHash
}

const (
	recommendationVersion = 5
	shortMark             = 6 // first byte of what ShortHash hashes
	userMark              = 7 // of UserHash
	recommendationHead    = 1 + 4 + 4 + 2 + 1
	tagBytes              = 8
	noUserBit             = 0x80

	// MaxPositions is the number of items of a list that a token knows.
	MaxPositions = 50
	// MaxArmBytes is the longest name of an arm, in bytes.
	MaxArmBytes = 24
	// MaxRecommendationBytes is the longest token, in bytes.
	MaxRecommendationBytes = ((recommendationHead+MaxArmBytes+2*MaxPositions+tagBytes)*8 + 5) / 6
)

// ShortHash returns what stands for an item in a recommendation.
func ShortHash(id store.Identity, item string) uint16 {
	var memory [1 + store.MaxIDBytes]byte
	return uint16(sipHash(id.ID, append(append(memory[:0], shortMark), item...)))
}

// UserHash returns a keyed hash of a user id, the same on all servers of a store.
func UserHash(id store.Identity, user string) uint64 {
	var memory [1 + store.MaxIDBytes]byte
	return sipHash(id.ID, append(append(memory[:0], userMark), user...))
}

// Position returns the place of an item on the list, from 1; 0 if it is not among the first.
func (r *Recommendation) Position(id store.Identity, item string) int {
	at := slices.Index(r.Items, ShortHash(id, item))
	if at < 0 {
		return 0
	}
	return r.Before + at + 1
}

// Token returns the token of the recommendation.
func (r *Recommendation) Token(id store.Identity) string {
	var memory [recommendationHead + MaxArmBytes + 2*MaxPositions + tagBytes]byte
	b := binary.LittleEndian.AppendUint32(append(memory[:0], recommendationVersion),
		uint32(fingerprint(id)))
	b = binary.LittleEndian.AppendUint32(b, uint32(r.Made.Unix()))
	b = binary.LittleEndian.AppendUint16(b, uint16(r.Before))
	arm := byte(len(r.Arm))
	if r.NoUser {
		arm |= noUserBit
	}
	b = append(append(b, arm), r.Arm...)
	for _, hash := range r.Items {
		b = binary.LittleEndian.AppendUint16(b, hash)
	}
	b = binary.LittleEndian.AppendUint64(b, sipHash(id.ID, b))
	return base64.RawURLEncoding.EncodeToString(b)
}

// ReadRecommendation returns the recommendation of a token. The error is [ErrOtherStore], which
// comes first, or [ErrMalformed].
func ReadRecommendation(id store.Identity, token string) (r Recommendation, err error) {
	if len(token) > MaxRecommendationBytes || strings.ContainsAny(token, "\r\n") {
		return r, ErrMalformed
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) < recommendationHead+tagBytes || b[0] != recommendationVersion {
		return r, ErrMalformed
	}
	if binary.LittleEndian.Uint32(b[1:]) != uint32(fingerprint(id)) {
		return r, ErrOtherStore
	}
	body, tag := b[:len(b)-tagBytes], binary.LittleEndian.Uint64(b[len(b)-tagBytes:])
	arm := int(b[recommendationHead-1] &^ noUserBit)
	items := len(body) - recommendationHead - arm
	if sipHash(id.ID, body) != tag || arm > MaxArmBytes || items < 0 || items%2 != 0 {
		return r, ErrMalformed
	}
	r.Made = time.Unix(int64(binary.LittleEndian.Uint32(b[5:])), 0)
	r.Before = int(binary.LittleEndian.Uint16(b[9:]))
	r.NoUser = b[recommendationHead-1]&noUserBit != 0
	r.Arm = string(body[recommendationHead : recommendationHead+arm])
	for at := recommendationHead + arm; at < len(body); at += 2 {
		r.Items = append(r.Items, binary.LittleEndian.Uint16(body[at:]))
	}
	return r, nil
}
