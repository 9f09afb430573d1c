package local

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/kalman"
)

// distinctHistories draws histories with each item at most once. Items below 0 are strangers.
func distinctHistories(rng *rand.Rand, n, users int) (all []kalman.History, indices [][]int32) {
	for range users {
		var h kalman.History
		var items []int32
		for _, i := range rng.Perm(n)[:rng.IntN(min(n, 15)+1)] {
			if rng.IntN(10) == 0 {
				items = append(items, -1)
				h = append(h, kalman.Event{Item: int32(n)}) // an item beyond the oracle's others
			}
			items = append(items, int32(i))
			h = append(h, kalman.Event{Item: int32(i), Weight: 1})
		}
		all, indices = append(all, h), append(indices, items)
	}
	return all, indices
}

// arrivalIDs returns the ids of new items.
func arrivalIDs(count int) (ids []string) {
	for i := range count {
		ids = append(ids, fmt.Sprintf("new-%02d", i))
	}
	return ids
}

// dense returns T of a graph over n items.
func dense(g *Graph, n int) []float64 {
	t := make([]float64, n*n)
	for i := range int32(n) {
		for j := range int32(n) {
			t[int(i)*n+int(j)] = float64(g.Weight(i, j))
		}
	}
	return t
}

// withArrivals returns a graph of the first known of n items, and the same extended by the others,
// which come with the given sample.
func withArrivals(
	s *Spec, known, n int, histories []kalman.History, indices [][]int32, degrees []int64,
	sample float64,
) (base, extended *Graph) {
	var old []kalman.History
	for _, h := range histories {
		old = append(old, slices.DeleteFunc(slices.Clone(h),
			func(e kalman.Event) bool { return int(e.Item) >= known }))
	}
	base = Count(known, degrees[:known], slices.Values(old), s.Neighbours).Graph(s)
	a := NewArrivals(s, degrees[:known], arrivalIDs(n-known), nil)
	for _, h := range indices {
		a.Add(h)
	}
	var placed []Arrival
	for i := range n - known {
		placed = append(placed, a.Place(i, degrees[known+i], sample, 1))
	}
	return base, base.Extend(s, placed)
}

// The rows and columns of new items that all histories show are those of a graph that was counted
// with them, and the entries of known items stay.
func TestArrivalsAgainstTheDefinition(t *testing.T) {
	const known, n = 20, 27
	rng := rand.New(rand.NewPCG(2, 1))
	histories, indices := distinctHistories(rng, n, 80)
	degrees := degreesOf(n+1, histories)[:n]
	s := Default()
	s.Weight, s.Backward, s.Neighbours = 0.7, 0.3, n
	base, g := withArrivals(&s, known, n, histories, indices, degrees, 1)
	strangers := oracleF(n+1, histories)
	f := make([]float64, n*n)
	for i := range n {
		copy(f[i*n:(i+1)*n], strangers[i*(n+1):])
	}
	want := oracleT(n, f, degrees, &s)
	for i := range known {
		for j := range known {
			want[i*n+j] = float64(base.Weight(int32(i), int32(j)))
		}
	}
	check.SameBy(t, cmpopts.EquateApprox(1e-5, 0), want, dense(g, n), "T")
	if base.More() != nil {
		t.Error("the base has changed")
	}
}

// A sample of the histories gives r √(F² − own + own/r).
func TestArrivalsOfASample(t *testing.T) {
	const known, n, sample = 12, 15, 4.0
	rng := rand.New(rand.NewPCG(2, 2))
	histories, indices := distinctHistories(rng, n, 60)
	degrees := degreesOf(n+1, histories)[:n]
	s := Default()
	s.Weight, s.Backward, s.Neighbours = 0.7, 0.3, n
	_, g := withArrivals(&s, known, n, histories, indices, degrees, sample)
	sum, own := make([]float64, n*n), make([]float64, n*n)
	for _, h := range histories {
		f := oracleF(n+1, []kalman.History{h})
		for i := range n {
			for j := range n {
				x := f[i*(n+1)+j] + s.Backward*f[j*(n+1)+i]
				sum[i*n+j] += x
				own[i*n+j] += x * x
			}
		}
	}
	got := dense(g, n)
	for i := range n {
		for j := range n {
			if i == j || i < known && j < known {
				continue
			}
			at := i*n + j
			f := sample * math.Sqrt(sum[at]*sum[at]-own[at]+own[at]/sample)
			want := s.Weight * (f - s.Discount) * math.Pow(float64(degrees[i]+3), -s.SourceExponent) *
				math.Pow(float64(degrees[j]+3), -s.TargetExponent)
			if math.Abs(got[at]-want) > 1e-5*want {
				t.Errorf("T of %d and %d is %v, want %v", i, j, got[at], want)
			}
		}
	}
}

// Rows are cut to the strongest: those of new items, and what known items gain.
func TestArrivalsAreBounded(t *testing.T) {
	const known, n, most = 12, 18, 3 // few enough new items to be remembered all
	rng := rand.New(rand.NewPCG(2, 3))
	histories, indices := distinctHistories(rng, n, 300)
	degrees := degreesOf(n+1, histories)[:n]
	s := Default()
	s.Weight, s.Neighbours = 1, most
	base, g := withArrivals(&s, known, n, histories, indices, degrees, 1)
	whole := s
	whole.Neighbours = n
	_, all := withArrivals(&whole, known, n, histories, indices, degrees, 1)
	for i := range int32(n) {
		items, values := g.More().Row(i)
		if len(items) != most || !slices.IsSorted(items) {
			t.Fatalf("row %d has the items %v, want %d, ascending", i, items, most)
		}
		more, strengths := all.More().Row(i)
		for at, j := range more {
			if !slices.Contains(items, j) && strengths[at] > slices.Min(values) {
				t.Errorf("row %d leaves out item %d with %v, and keeps %v",
					i, j, strengths[at], values)
			}
		}
		if int(i) < known && !cmp.Equal(rowOf(g, i), rowOf(base, i)) {
			t.Errorf("row %d of the base has changed", i)
		}
	}
}

func rowOf(g *Graph, i int32) map[int32]float32 {
	items, values := g.Row(i)
	row := map[int32]float32{}
	for k, j := range items {
		row[j] = values[k]
	}
	return row
}

// Items of different counts find each other by their ids. Where both tell a number the smaller one
// counts, and items that are not given have no entries.
func TestArrivalsMeet(t *testing.T) {
	s := Default()
	s.Weight, s.Backward, s.SourceExponent, s.TargetExponent = 1, 0, 0, 0
	degrees := []int64{5, 5}
	place := func(ids []string, histories ...[]int32) Arrival {
		a := NewArrivals(&s, degrees, ids[:1], ids[1:])
		for _, h := range histories {
			a.Add(h)
		}
		return a.Place(0, 5, 1, 1)
	}
	base := Count(2, degrees, slices.Values([]kalman.History(nil)), 1).Graph(&s)
	alone := place([]string{"a"}, []int32{0, 2})
	withA := place([]string{"b", "a"}, []int32{3, 2, -1, 1}, []int32{3, 2})
	withB := place([]string{"a", "b", "gone"}, []int32{2, 3}, []int32{4, 2, 3}, []int32{2, 3})
	for _, test := range []struct {
		name string
		a    Arrival
		met  float64
	}{
		{"one knows the other", alone, 2},
		{"both know each other", withB, 2},
	} {
		g := base.Extend(&s, []Arrival{test.a, withA})
		if got, want := g.Weight(2, 3), float32(test.met-s.Discount); got != want {
			t.Errorf("%s: T from a to b: %v, want %v", test.name, got, want)
		}
		if got, want := g.Weight(3, 1), float32(gapFade-s.Discount); got != want {
			t.Errorf("%s: T from b to item 1: %v, want %v", test.name, got, want)
		}
	}
}
