package ranking

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// ahead is the order of results, spelled out: whether item i comes before item j.
func ahead[T cmp.Ordered](scores []T, i, j int32) bool {
	a, b := scores[i], scores[j]
	switch {
	case a != a && b == b:
		return false // NaN after a number
	case b != b && a == a:
		return true
	case a != a && b != b, a == b:
		return i < j
	}
	return a > b
}

// orderOracle takes the first item of those left, again and again.
func orderOracle[T cmp.Ordered](scores []T, skip *Set) []int32 {
	var left, order []int32
	for i := range int32(len(scores)) {
		if !skip.Has(i) {
			left = append(left, i)
		}
	}
	for len(left) > 0 {
		first := 0
		for at := range left {
			if ahead(scores, left[at], left[first]) {
				first = at
			}
		}
		order = append(order, left[first])
		left = slices.Delete(left, first, first+1)
	}
	return order
}

// tied returns n scores with many ties, some of them special.
func tied(rng *rand.Rand, n int) []float32 {
	scores, special := make([]float32, n), specials()
	for i := range scores {
		scores[i] = float32(rng.IntN(5) - 2)
		if rng.IntN(4) == 0 {
			scores[i] = special[rng.IntN(len(special))]
		}
	}
	return scores
}

func TestOrderAgainstOracle(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		scores := tied(rng, rng.IntN(40))
		want := orderOracle(scores, nil)
		got := Order(scores)
		if !slices.Equal(got, want) {
			t.Fatalf("Order(%v) = %v, want %v", scores, got, want)
		}
		cut := rng.IntN(len(scores) + 1)
		score := func(i int32) float32 { return scores[i] }
		a, b := Order(scores[:cut]), []int32{}
		for i := cut; i < len(scores); i++ {
			b = append(b, int32(i))
		}
		rng.Shuffle(len(b), func(i, j int) { b[i], b[j] = b[j], b[i] })
		Sort(b, score)
		if got := Merge(a, b, score); !slices.Equal(got, want) {
			t.Fatalf("Merge of two parts of %v = %v, want %v", scores, got, want)
		}
	}
}

func TestOfAgainstOracle(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		n := 1 + rng.IntN(40)
		scores, skip := tied(rng, n), NewSet(n)
		for i := range int32(n) {
			if rng.IntN(3) == 0 {
				skip.Add(i)
			}
		}
		target := int32(rng.IntN(n))
		without := SetOf(n)
		for i := range int32(n) {
			if skip.Has(i) && i != target {
				without.Add(i)
			}
		}
		want := slices.Index(orderOracle(scores, without), target) + 1
		if got := Of(scores, target, skip); got != want {
			t.Fatalf("Of(%v, %d, %v) = %d, want %d", scores, target, skip.words, got, want)
		}
		counts := make([]int64, n)
		for i := range counts {
			counts[i] = int64(rng.IntN(4))
		}
		want = slices.Index(orderOracle(counts, nil), target) + 1
		if got := Of(counts, target, nil); got != want {
			t.Fatalf("Of(%v, %d, nil) = %d, want %d", counts, target, got, want)
		}
	}
}

// Before, Compare, Order and TopN are one order.
func TestBeforeAndCompareAgree(t *testing.T) {
	values := []float32{float32(math.Inf(-1)), -1, float32(math.Copysign(0, -1)), 0, 1,
		float32(math.Inf(1))}
	for _, x := range values {
		for _, y := range values {
			for i := range int32(3) {
				for j := range int32(3) {
					a, b := Scored{i, x}, Scored{j, y}
					if got, want := Compare(a, b) < 0, Before(a, b); got != want {
						t.Errorf("Compare(%v, %v) < 0 is %v, Before is %v", a, b, got, want)
					}
					if Compare(a, b) != -Compare(b, a) {
						t.Errorf("Compare(%v, %v) is not −Compare(%v, %v)", a, b, b, a)
					}
				}
			}
		}
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		scores := randomScores(rng, 50)
		for i := range scores {
			scores[i] = float32(math.Round(float64(scores[i])))
		}
		var top TopN
		top.Reset(nil, len(scores))
		top.Offer(0, scores, nil)
		got := []int32{}
		for at, s := range top.Sorted() {
			got = append(got, s.Item)
			check.Same(t, at+1, Of(scores, s.Item, nil), "rank of item %d", s.Item)
		}
		check.MustSame(t, Order(scores), got, "TopN and Order (-Order +TopN)")
	}
}

func ExampleOf() {
	scores := []float32{0.5, 0.9, 0.7, 0.5}
	fmt.Println(Of(scores, 3, nil), Of(scores, 3, SetOf(4, 1)))
	// Output: 4 3
}

func ExampleOrder() {
	fmt.Println(Order([]int64{5, 9, 7, 5}))
	// Output: [1 2 0 3]
}
