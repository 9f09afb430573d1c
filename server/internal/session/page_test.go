package session

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/internal/test/check"
)

func TestPageTokens(t *testing.T) {
	for n := range 5 {
		p := &Page{Request: 7, Seed: 1 << 63}
		for i := range n {
			p.Served = append(p.Served, ItemHash(here, string(rune('a'+i))))
		}
		token := p.Token(here)
		got, err := ReadPage(here, token)
		if d := cmp.Diff(p, got); d != "" || err != nil || len(token) != PageTokenBytes(n) {
			t.Errorf("%v, %d characters (-made +read):\n%s", err, len(token), d)
		}
		check.Fails(t, check.Err(ReadPage(there, token)), ErrMalformed, "of another store")
		for at := range len(token) {
			check.Fails(t, check.Err(ReadPage(here, token[:at])), ErrMalformed, "%d characters", at)
			damaged := []byte(token)
			damaged[at] ^= 1
			check.Fails(t, check.Err(ReadPage(here, string(damaged))), ErrMalformed,
				"character %d", at)
		}
	}
	if ItemHash(here, "a") == ItemHash(here, "b") || ItemHash(here, "a") == ItemHash(there, "a") {
		t.Error("equal hashes of different items, or in different stores")
	}
}

// FuzzReadPage reads anything: a token that is accepted is the one that Token makes.
func FuzzReadPage(f *testing.F) {
	f.Add((&Page{Request: 1, Served: []uint64{5}}).Token(here))
	f.Add("")
	f.Fuzz(func(t *testing.T, token string) {
		if p, err := ReadPage(here, token); err == nil && p.Token(here) != token {
			t.Errorf("%q is read as %v, whose token is %q", token, p, p.Token(here))
		}
	})
}
