package ranking

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/internal/test/check"
)

// topOracle sorts everything and cuts.
func topOracle(scores []float32, n int, skip map[int32]bool) []Scored {
	all := []Scored{}
	for i, s := range scores {
		if math.IsNaN(float64(s)) {
			s = float32(math.Inf(-1))
		}
		if !skip[int32(i)] {
			all = append(all, Scored{int32(i), s})
		}
	}
	slices.SortStableFunc(all, func(a, b Scored) int {
		switch {
		case a.Score > b.Score:
			return -1
		case a.Score < b.Score:
			return 1
		}
		return int(a.Item) - int(b.Item)
	})
	return all[:min(n, len(all))]
}

func TestTopNRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	specials := specials()
	for trial := range 3000 {
		items := rng.IntN(200)
		scores := make([]float32, items)
		skip, skipped := NewSet(items), map[int32]bool{}
		for i := range scores {
			scores[i] = float32(rng.IntN(20)) // few values: many ties
			if trial%3 == 0 && rng.IntN(4) == 0 {
				scores[i] = specials[rng.IntN(len(specials))]
			}
			if trial%2 == 0 && rng.IntN(3) == 0 {
				skip.Add(int32(i))
				skipped[int32(i)] = true
			}
		}
		n := rng.IntN(30)
		want := topOracle(scores, n, skipped)
		var top TopN
		top.Reset(make([]Scored, 0, rng.IntN(10)), n)
		for at := 0; at < items; { // in blocks of uneven length
			end := min(items, at+1+rng.IntN(50))
			top.Offer(int32(at), scores[at:end], skip)
			at = end
		}
		diff := cmp.Diff(want, append([]Scored{}, top.Sorted()...))
		if diff != "" {
			t.Fatalf("trial %d, %d of %d items (-want +got):\n%s", trial, n, items, diff)
		}
	}
}

// specials returns scores that are not ordinary numbers.
func specials() []float32 {
	return []float32{
		float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 0,
		float32(math.Copysign(0, -1)),
	}
}

// randomScores returns n scores from a normal distribution.
func randomScores(rng *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	return v
}

func TestTopNReusesMemory(t *testing.T) {
	scores := randomScores(rand.New(rand.NewPCG(6, 6)), 1000)
	buf := make([]Scored, 0, 10)
	var top TopN
	if allocs := testing.AllocsPerRun(10, func() {
		top.Reset(buf, 10)
		top.Offer(0, scores, nil)
		if got := top.Sorted(); &got[0] != &buf[:1][0] {
			t.Error("the results do not stand in the given memory")
		}
	}); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func TestTopNZeroValue(t *testing.T) {
	var top TopN
	top.Offer(0, []float32{1, 2}, nil)
	check.Same(t, 0, len(top.Sorted()), "items of the zero value")
	top.Reset(nil, -1)
	top.Offer(0, []float32{1, 2}, nil)
	check.Same(t, 0, len(top.Sorted()), "items of a selection of −1")
}

func ExampleTopN() {
	seen := NewSet(5)
	seen.Add(1)
	var top TopN
	top.Reset(nil, 3)
	top.Offer(0, []float32{0.5, 0.9, 0.7, 0.5, 0.1}, seen)
	fmt.Println(top.Sorted())
	// Output: [{2 0.7} {0 0.5} {3 0.5}]
}

func BenchmarkTopN(b *testing.B) {
	for _, n := range []int{20_000, 200_000} {
		for _, top := range []int{10, 100} {
			b.Run(fmt.Sprintf("n=%d/top=%d", n, top), func(b *testing.B) {
				scores := randomScores(rand.New(rand.NewPCG(8, 8)), n)
				buf := make([]Scored, 0, top)
				var sel TopN
				for b.Loop() {
					sel.Reset(buf, top)
					sel.Offer(0, scores, nil)
					sel.Sorted()
				}
			})
		}
	}
}
