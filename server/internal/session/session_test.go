package session

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store"
)

var (
	here  = store.Identity{ID: [16]byte{1, 2, 3}}
	there = store.Identity{ID: [16]byte{1, 2, 4}}
	sixth = store.Version{Revision: 6, Mark: 0xfedcba9876543210}
)

// TestSipHash compares with the vectors of the reference implementation: keys 0 to 15, messages
// 0, 1, 2, ….
func TestSipHash(t *testing.T) {
	var key [16]byte
	var message []byte
	for i := range key {
		key[i] = byte(i)
	}
	want := map[int]uint64{0: 0x726fdb47dd0e0e31, 1: 0x74f839c593dc67fd, 7: 0xab0200f58b01d137,
		8: 0x93f5f5799a932462, 15: 0xa129ca6149be45e5}
	for n := range 16 {
		if w, ok := want[n]; ok && sipHash(key, message) != w {
			t.Errorf("%d bytes: got %x, want %x", n, sipHash(key, message), w)
		}
		message = append(message, byte(n))
	}
}

func TestTokens(t *testing.T) {
	long := strings.Repeat("u", store.MaxIDBytes)
	for _, user := range []string{"ann", "", long} {
		token := Make(here, user, sixth)
		check.Same(t, sixth, check.Get(Read(here, user, token[:]))(t), "what the token says")
		if user != "" && bytes.Contains(token[:], []byte(user)) {
			t.Error("the user id is in the token")
		}
		check.Fails(t, check.Err(Read(here, user+"x", token[:])), ErrMalformed, "of another user")
		check.Fails(t, check.Err(Read(there, user, token[:])), ErrOtherStore, "of another store")
		for n := range len(token) {
			check.Fails(t, check.Err(Read(here, user, token[:n])), ErrMalformed, "%d bytes", n)
			for bit := range 8 {
				damaged := token
				damaged[n] ^= 1 << bit
				if _, err := Read(here, user, damaged[:]); err == nil {
					t.Errorf("byte %d, bit %d: no error", n, bit)
				}
			}
		}
	}
	empty := Make(here, "ann", store.Version{})
	check.Fails(t, check.Err(Read(here, "ann", empty[:])), ErrMalformed, "of no history")
}

// FuzzRead reads anything: a token that is accepted is the one that Make makes.
func FuzzRead(f *testing.F) {
	token := Make(here, "ann", sixth)
	f.Add("ann", token[:])
	f.Add("", []byte{})
	f.Add("bob", make([]byte, TokenBytes))
	f.Fuzz(func(t *testing.T, user string, token []byte) {
		if len(user) > store.MaxIDBytes {
			return
		}
		v, err := Read(here, user, token)
		if err != nil {
			if v != (store.Version{}) {
				t.Errorf("a version with an error")
			}
			return
		}
		if again := Make(here, user, v); !bytes.Equal(again[:], token) {
			t.Errorf("%x is read as %v, whose token is %x", token, v, again)
		}
	})
}

func BenchmarkMake(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Make(here, "user 1234567890", sixth)
	}
}
