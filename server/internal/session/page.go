package session

import (
	"encoding/base64"
	"encoding/binary"
	"strings"

	"github.com/gsimc/gsimc/store"
)

// A Page says what a client got with the pages of a list so far. Its token is
//
//	| 2 (1 B) | request (8 B) | seed (8 B) | served (8 B each) | tag (8 B) |
//
// in base64 for URLs. The tag is a keyed hash over all before it. Items are keyed hashes of their
// ids, so that a page is of no model. Of a million items, one has the hash of one of 5,000 served
// ones with a probability of 3·10⁻¹⁰; then it is missing, and none comes twice.
type Page struct {
	Request uint64   // hash of what the list was asked for
	Seed    uint64   // of its draw, if it is one
	Served  []uint64 // the items, by ItemHash
}

const (
	pageVersion = 2
	pageHead    = 1 + 8 + 8
	itemMark    = 3 // first byte of what ItemHash hashes
	requestMark = 4 // of RequestHash
)

// PageTokenBytes is the length of the token of a page with n served items.
func PageTokenBytes(n int) int { return base64.RawURLEncoding.EncodedLen(pageHead + 8*n + 8) }

// ItemHash returns what stands for an item in a page.
func ItemHash(id store.Identity, item string) uint64 {
	var memory [1 + store.MaxIDBytes]byte
	return sipHash(id.ID, append(append(memory[:0], itemMark), item...))
}

// RequestHash returns what stands for a request in a page.
func RequestHash(id store.Identity, request []byte) uint64 {
	return sipHash(id.ID, append([]byte{requestMark}, request...))
}

// Token returns the token of the page.
func (p *Page) Token(id store.Identity) string {
	b := make([]byte, 0, pageHead+8*len(p.Served)+8)
	b = binary.LittleEndian.AppendUint64(append(b, pageVersion), p.Request)
	b = binary.LittleEndian.AppendUint64(b, p.Seed)
	for _, hash := range p.Served {
		b = binary.LittleEndian.AppendUint64(b, hash)
	}
	b = binary.LittleEndian.AppendUint64(b, sipHash(id.ID, b))
	return base64.RawURLEncoding.EncodeToString(b)
}

// ReadPage returns the page of a token. The error is [ErrMalformed], also for one of another store.
func ReadPage(id store.Identity, token string) (*Page, error) {
	if strings.ContainsAny(token, "\r\n") { // which the decoder would pass over
		return nil, ErrMalformed
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) < pageHead+8 || (len(b)-pageHead)%8 != 0 || b[0] != pageVersion {
		return nil, ErrMalformed
	}
	body, tag := b[:len(b)-8], binary.LittleEndian.Uint64(b[len(b)-8:])
	if sipHash(id.ID, body) != tag {
		return nil, ErrMalformed
	}
	p := &Page{Request: binary.LittleEndian.Uint64(b[1:]), Seed: binary.LittleEndian.Uint64(b[9:])}
	for at := pageHead; at < len(body); at += 8 {
		p.Served = append(p.Served, binary.LittleEndian.Uint64(b[at:]))
	}
	return p, nil
}
