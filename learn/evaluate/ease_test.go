package evaluate

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/evaluate/internal/regression"
	"github.com/gsimc/gsimc/learn/evaluate/internal/symmetric"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/spectral"
)

// randomHistories deals out to each user 2 to 12 of n items, some far more
// often than others. Neighbours in the order of items go together.
func randomHistories(rng *rand.Rand, users, n int) dataset.Histories {
	h := dataset.Histories{Ptr: []int64{0}}
	for u := range users {
		h.User = append(h.User, int32(u))
		at := rng.IntN(n)
		first := len(h.Item)
		for range 2 + rng.IntN(11) {
			at = (at + 1 + int(rng.ExpFloat64()*3)) % n
			if i := int32(at); !slices.Contains(h.Item[first:], i) {
				h.Item = append(h.Item, i)
			}
		}
		h.Ptr = append(h.Ptr, int64(len(h.Item)))
	}
	return h
}

func randomPartition(seed uint64, users, n int) *dataset.Partition {
	rng := rand.New(rand.NewPCG(seed, 1))
	p := &dataset.Partition{
		Train: randomHistories(rng, users, n), Validation: randomHistories(rng, users/4, n),
		Test: randomHistories(rng, users/4, n),
	}
	for i := range n {
		p.Items = append(p.Items, fmt.Sprintf("%05d", i))
	}
	p.Test.Weight = make([]float32, len(p.Test.Item))
	for j := range p.Test.Weight {
		p.Test.Weight[j] = 0.5 + rng.Float32()
	}
	return p
}

// denseEASE is B by the book: R as a dense matrix, its inverse by LU.
func denseEASE(t *testing.T, r *spectral.Incidence, lambda float64) *mat.Dense {
	t.Helper()
	n := r.NumItems
	dense := mat.NewDense(r.NumUsers(), n, nil)
	for u := range r.NumUsers() {
		for _, i := range r.Item[r.Ptr[u]:r.Ptr[u+1]] {
			dense.Set(u, int(i), 1)
		}
	}
	var g, p mat.Dense
	g.Mul(dense.T(), dense)
	for i := range n {
		g.Set(i, i, g.At(i, i)+lambda)
	}
	check.Must(t, p.Inverse(&g))
	b := mat.NewDense(n, n, nil)
	b.Apply(func(i, j int, v float64) float64 {
		if i == j {
			return 0
		}
		return -v / p.At(j, j)
	}, &p)
	return b
}

// The sizes lie around one and two blocks of the inversion, and strips of the matrix.
func TestEASEWeights(t *testing.T) {
	for _, n := range []int{
		1, 2, 17, 255, 256, 257, 511, 512, 513, 551, 1041,
	} {
		if n > 1000 && soak.Brief() {
			continue // the oracle takes n³
		}
		for _, lambda := range []float64{0.5, 30} {
			p := randomPartition(uint64(n), 2*n+3, max(n, 16))
			r := train.Incidence(p)
			got := check.Get(regression.New(r, lambda, symmetric.New(r.NumItems), nil))(t)
			want := denseEASE(t, r, lambda)
			s := got.Scorer(1)
			for i := range r.NumItems {
				s.Score(model.History{{Item: int32(i), Weight: 1}}, []float64{1})
				for j, g := range s.Scores[0] {
					w := want.At(i, j)
					if i == j && g != 0 {
						t.Fatalf("n = %d, λ = %v: B[%d,%d] = %v, want 0", r.NumItems, lambda, i, i, g)
					}
					if math.Abs(g-w) > 1e-11 {
						t.Fatalf("n = %d, λ = %v: B[%d,%d] = %v, want %v", r.NumItems, lambda, i, j, g,
							w)
					}
				}
			}
		}
	}
}

// bothEASE are the methods that are a matrix of all pairs of items.
var bothEASE = []Method{ease{}, ease{forgets: true}}

// oracleRanks ranks the targets of h with dense arithmetic and a sorted list.
func oracleRanks(b *mat.Dense, h *dataset.Histories, alpha float64) []int32 {
	n, _ := b.Dims()
	ranks := make([]int32, h.Len())
	for u := range ranks {
		items, weights := h.Of(u), h.Weights(u)
		last := len(items) - 1
		s, y := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
		for j, i := range items[:last] {
			w := math.Pow(alpha, float64(last-1-j))
			if weights != nil {
				w *= float64(weights[j])
			}
			s.SetVec(int(i), w)
		}
		y.MulVec(b.T(), s)
		var open []int32
		for i := range int32(n) {
			if !slices.Contains(items[:last], i) {
				open = append(open, i)
			}
		}
		slices.SortStableFunc(open, func(i, j int32) int {
			// Sums of different order may differ in the last bits: what is
			// this close counts as equal.
			if d := y.AtVec(int(j)) - y.AtVec(int(i)); math.Abs(d) > 1e-12 {
				return int(math.Copysign(1, d))
			}
			return 0
		})
		ranks[u] = int32(slices.Index(open, items[last])) + 1
	}
	return ranks
}

// The whole method against a search by brute force: every λ and α of the grid
// on the validation users, then the best of them on the test users.
func TestEASEChoosesOnValidation(t *testing.T) {
	p := randomPartition(7, 160, 40)
	for _, m := range bothEASE {
		alphas := []float64{1}
		if m.Name() == EASEForgetting {
			alphas = easeAlphas
		}
		best, chosen := -1.0, map[string]float64(nil)
		var ranks []int32
		for _, lambda := range easeLambdas {
			b := denseEASE(t, train.Incidence(p), lambda)
			for _, alpha := range alphas {
				if v := MetricAt(10, oracleRanks(b, &p.Validation, alpha)).NDCG; v > best {
					best, ranks = v, oracleRanks(b, &p.Test, alpha)
					chosen = map[string]float64{"lambda": lambda}
					if m.Name() == EASEForgetting {
						chosen["alpha"] = alpha
					}
				}
			}
		}
		for range 2 { // the second run must not differ in anything
			var seen []int
			progress := func(_ string, done, _ int) { seen = append(seen, done) }
			got := check.Get(Run(p, Options{Methods: []Method{m}, Progress: progress}))(t)
			if !slices.IsSorted(seen) || len(seen) < len(easeLambdas) ||
				seen[len(seen)-1] != p.Test.Len() {
				t.Errorf("progress was %v, want it to rise to %d", seen, p.Test.Len())
			}
			check.Same(t, chosen, got[0].Chosen, "%s: constants", m.Name())
			check.Same(t, ranks, got[0].Ranks, "%s: ranks", m.Name())
			if f := got[0].Figures(); f["lambda"] != chosen["lambda"] ||
				f["alpha"] != chosen["alpha"] {
				t.Errorf("%v: figures %v, want those of %v among them", m.Name(), f, chosen)
			}
		}
	}
}

func TestEASEErrors(t *testing.T) {
	large := randomPartition(1, 20, maxEASEItems+1)
	blind := randomPartition(1, 20, 20)
	blind.Validation = dataset.Histories{Ptr: []int64{0}}
	for want, p := range map[string]*dataset.Partition{
		"needs half a matrix of all pairs of items: 32514 items": large,
		"none has two or more items":                             blind,
	} {
		_, err := Run(p, Options{Methods: []Method{ease{}}})
		if err == nil || !strings.Contains(err.Error(), "ease: ") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if symmetric.Len(maxEASEItems)*8 > maxEASEBytes || symmetric.Len(maxEASEItems+1)*8 <= maxEASEBytes {
		t.Errorf("%d items is not what %d bytes allow", maxEASEItems, uint64(maxEASEBytes))
	}
}

func TestClimb(t *testing.T) {
	tests := []struct {
		name   string
		values []float64
		start  int
		budget int
		want   []int // places, in the order of the calls
	}{
		{"up", []float64{0, 1, 2, 3, 2, 1}, 1, 9, []int{1, 2, 3, 4}},
		{"down", []float64{1, 5, 4, 3, 2}, 3, 9, []int{3, 4, 2, 1, 0}},
		{"top already", []float64{1, 2, 1}, 1, 9, []int{1, 2, 0}},
		{"up to the edge", []float64{1, 2, 3}, 0, 9, []int{0, 1, 2}},
		{"down from the edge", []float64{1, 3, 2}, 2, 9, []int{2, 1, 0}},
		{"equal is no step", []float64{1, 1, 1}, 1, 9, []int{1, 2, 0}},
		{"budget", []float64{0, 1, 2, 3, 4, 5}, 1, 3, []int{1, 2, 3}},
		{"budget on the way down", []float64{5, 4, 3, 2, 1}, 3, 3, []int{3, 4, 2}},
		{"budget of one", []float64{1, 2}, 0, 1, []int{0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []int
			err := climb(tt.start, len(tt.values), tt.budget, func(place int) (float64, error) {
				got = append(got, place)
				return tt.values[place], nil
			})
			check.Must(t, err)
			check.Same(t, tt.want, got, "calls")
		})
	}
	fault := errors.New("fault")
	check.Fails(t, climb(0, 2, 9, func(int) (float64, error) {
		return 0, fault
	}), fault, "a callback that fails")
	check.Same(t, 100.0, easeLambdas[easeStart], "the search starts from λ")
}
