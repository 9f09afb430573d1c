package recent

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestIDSet adds and removes random hashes and compares the revisions found with a list. The hashes
// are few, so that many are equal, and differ in the bits that either form of the set looks at.
func TestIDSet(t *testing.T) {
	for _, most := range []int{20, maxTags, 1500} {
		rng := rand.New(rand.NewPCG(1, uint64(most)))
		hash := func() uint64 { h := uint64(rng.IntN(1 + most/3)); return h<<revisionBits | h }
		s := newIDSet(uint64(most))
		var list []uint64
		for range 20 * most {
			if len(list) == 0 || len(list) < most && rng.IntN(100) < 53 {
				list = append(list, hash())
				s.add(list[len(list)-1])
			} else {
				s.remove(list[len(list)-1])
				list = list[:len(list)-1]
			}
			h := hash()
			var want, got []uint64
			for i, other := range list {
				if other == h {
					want = append(want, uint64(i+1))
				}
			}
			s.find(h, func(revision uint64) bool { got = append(got, revision); return true })
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Fatalf("with %d of at most %d ids: got revisions %v, want %v", len(list), most,
					got, want)
			}
		}
	}
}
