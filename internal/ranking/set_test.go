package ranking

import (
	"math/rand/v2"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

func TestSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for _, n := range []int{0, 1, 63, 64, 65, 130} {
		b, want := NewSet(n), map[int32]bool{}
		for range 4 * n {
			i := int32(rng.IntN(n))
			if rng.IntN(2) == 0 {
				b.Add(i)
				want[i] = true
			} else {
				b.Remove(i)
				delete(want, i)
			}
		}
		for i := int32(-2); i < int32(n)+130; i++ {
			if got, want := b.Has(i), want[i]; got != want {
				t.Errorf("n=%d: Has(%d): %v, want %v", n, i, got, want)
			}
		}
		check.Same(t, n, b.Cap(), "n=%d: Cap", n)
		b.Clear()
		for i := range int32(n) {
			if b.Has(i) {
				t.Errorf("n=%d: %d is a member after Clear", n, i)
			}
		}
	}
	if s := SetOf(70, 3, 64); !s.Has(3) || !s.Has(64) || s.Has(4) || s.Cap() != 70 {
		t.Error("SetOf(70, 3, 64) does not hold 3 and 64 of 70")
	}
	full := NewSet(70)
	full.Fill()
	for i := int32(-1); i < 130; i++ {
		check.Same(t, i >= 0 && i < 70, full.Has(i), "Has(%d) after Fill", i)
	}
	var none *Set
	if none.Has(0) || none.Has(-1) || none.Cap() != 0 {
		t.Error("a nil Set has members")
	}
}

func TestSetPanics(t *testing.T) {
	for name, f := range map[string]func(){
		"NewSet":       func() { NewSet(-1) },
		"SetOf":        func() { SetOf(3, 3) },
		"Add":          func() { NewSet(64).Add(64) },
		"Add negative": func() { NewSet(64).Add(-1) },
		"Remove":       func() { NewSet(3).Remove(3) },
	} {
		check.Panics(t, "", name, f)
	}
}
