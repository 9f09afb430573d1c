package session

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/internal/test/check"
)

func recommendation(n int) *Recommendation {
	r := &Recommendation{Arm: strings.Repeat("a", MaxArmBytes), Made: time.Unix(1_700_000_000, 0),
		Before: 100, NoUser: n%2 == 1}
	for i := range n {
		r.Items = append(r.Items, ShortHash(here, fmt.Sprint("item-", i)))
	}
	return r
}

func TestRecommendationTokens(t *testing.T) {
	for _, n := range []int{0, 1, 2, MaxPositions} {
		r := recommendation(n)
		token := r.Token(here)
		got, err := ReadRecommendation(here, token)
		if d := cmp.Diff(r, &got); d != "" || err != nil || len(token) > MaxRecommendationBytes {
			t.Errorf("%v, %d characters (-made +read):\n%s", err, len(token), d)
		}
		check.Fails(t, check.Err(ReadRecommendation(there, token)), ErrOtherStore,
			"of another store")
		for at := range len(token) {
			damaged := []byte(token)
			damaged[at] ^= 1
			for _, bad := range []string{token[:at], string(damaged)} {
				if _, err := ReadRecommendation(here, bad); err == nil {
					t.Errorf("character %d: accepted", at)
				}
			}
		}
		for i := range n {
			check.Same(t, 101+i, r.Position(here, fmt.Sprint("item-", i)), "item %d has position",
				i)
		}
		check.Same(t, 0, r.Position(here, "elsewhere"), "an item of another list has position")
	}
	if n := len(recommendation(MaxPositions).Token(here)); n != MaxRecommendationBytes || n > 200 {
		t.Errorf("the longest token has %d characters, want %d", n, MaxRecommendationBytes)
	}
}

// FuzzReadRecommendation reads anything: a token that is accepted is the one that Token makes.
func FuzzReadRecommendation(f *testing.F) {
	f.Add(recommendation(3).Token(here))
	f.Add("")
	f.Fuzz(func(t *testing.T, token string) {
		if r, err := ReadRecommendation(here, token); err == nil && r.Token(here) != token {
			t.Errorf("%q is read as %v, whose token is %q", token, r, r.Token(here))
		}
	})
}

func BenchmarkRecommendationToken(b *testing.B) {
	for b.Loop() {
		r := Recommendation{Arm: "main", Made: time.Unix(1_700_000_000, 0)}
		for range 10 {
			r.Items = append(r.Items, ShortHash(here, "item-000001"))
		}
		_ = r.Token(here)
	}
}
