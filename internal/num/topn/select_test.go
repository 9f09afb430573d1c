package topn

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/ranking"
)

// TestKeys: rising keys are the order of ranking.Before, and a key gives back its item and score.
func TestKeys(t *testing.T) {
	var all []ranking.Scored
	inf := float32(math.Inf(1))
	for _, score := range []float32{
		inf, math.MaxFloat32, 1, 0x1p-149, 0, -0x1p-149, -1, -math.MaxFloat32, -inf,
	} {
		for _, item := range []int32{0, 1, math.MaxInt32} {
			all = append(all, ranking.Scored{Item: item, Score: score})
		}
	}
	for i, s := range all {
		if got := scored(key(s.Item, s.Score)); !equal(got, s) {
			t.Errorf("key of %v gives %v", s, got)
		}
		if i > 0 && !ranking.Before(all[i-1], s) {
			t.Errorf("%v does not come before %v", all[i-1], s)
		}
		for _, other := range all {
			got := key(other.Item, other.Score) < key(s.Item, s.Score)
			if want := ranking.Before(other, s); got != want {
				t.Errorf("key of %v below key of %v: %v, Before: %v", other, s, got, want)
			}
		}
	}
}

// TestSortKeys, with keys close together and far apart, and with equal ones.
func TestSortKeys(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 11))
	for trial := range 500 {
		s := new(search)
		s.keys = make([]uint64, rng.IntN(400))
		for i := range s.keys {
			s.keys[i] = rng.Uint64()>>rng.IntN(1+trial%64) + uint64(trial)
		}
		want := slices.Clone(s.keys)
		slices.Sort(want)
		s.sortKeys()
		if !slices.Equal(s.keys, want) {
			t.Fatalf("%x, want %x", s.keys, want)
		}
	}
}
