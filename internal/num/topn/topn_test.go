package topn

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/num/vec"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
)

// oracle scores every item and sorts.
func oracle(
	rows, gain, added []float32, k int, r ranking.Request,
) []ranking.Scored {
	var all []ranking.Scored
	among := map[int32]bool{}
	for _, i := range r.Among {
		among[i] = true
	}
	additions := map[int32]float32{}
	for _, b := range r.Boosts {
		additions[b.Item] = b.Score
	}
	for i, g := range gain {
		if r.Skip.Has(int32(i)) || r.Among != nil && !among[int32(i)] {
			continue
		}
		score := vec.Dot(rows[i*k:(i+1)*k], r.Query)*g + 0
		if math.IsNaN(float64(score)) {
			score = float32(math.Inf(-1))
		}
		if added != nil {
			score += added[i]
		}
		score += additions[int32(i)]
		all = append(all, ranking.Scored{Item: int32(i), Score: score})
	}
	slices.SortStableFunc(all, func(a, b ranking.Scored) int {
		return cmp.Compare(b.Score, a.Score)
	})
	return all[:min(len(all), max(r.N, 0))]
}

// A shape makes the rows, gains and queries of a kind of data.
type shape struct {
	name  string
	rows  func(rng *rand.Rand, n, k int) []float32
	gain  func(rng *rand.Rand, i int) float32
	query func(rng *rand.Rand, rows []float32, k int) []float32
}

func gaussian(rng *rand.Rand, n, k int) []float32 {
	v := make([]float32, n*k)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	return v
}

func one(*rand.Rand, int) float32 { return 1 }

func gaussianQuery(rng *rand.Rand, _ []float32, k int) []float32 { return gaussian(rng, 1, k) }

// overflowing rows are beyond what the bound is for: an index has no copy of them.
const overflowing = "products that overflow before the gain"

// shapes are random, skewed, tied, degenerate and adversarial data.
var shapes = []shape{
	{"gaussian", gaussian, one, gaussianQuery},
	{"skewed", func(rng *rand.Rand, n, k int) []float32 {
		v := gaussian(rng, n, k)
		for i := range v {
			v[i] *= float32(math.Pow(float64(1+i/k), -0.5) * math.Pow(float64(1+i%k), -0.7))
		}
		return v
	}, func(_ *rand.Rand, i int) float32 {
		return float32(math.Sqrt(float64(1 + i%7)))
	}, func(rng *rand.Rand, _ []float32, k int) []float32 {
		q := gaussian(rng, 1, k)
		for j := range q {
			q[j] /= float32(1 + j)
		}
		return q
	}},
	{"tied", func(rng *rand.Rand, n, k int) []float32 {
		v := make([]float32, n*k)
		for i := range v {
			v[i] = float32(rng.IntN(3) - 1)
		}
		return v
	}, one, func(rng *rand.Rand, _ []float32, k int) []float32 {
		q := make([]float32, k)
		for j := range q {
			q[j] = float32(rng.IntN(3) - 1)
		}
		return q
	}},
	{"all equal", func(_ *rand.Rand, n, k int) []float32 {
		v := make([]float32, n*k)
		for i := range v {
			v[i] = 0.25
		}
		return v
	}, one, gaussianQuery},
	{"zero rows", func(rng *rand.Rand, n, k int) []float32 {
		v := gaussian(rng, n, k)
		for i := range n {
			if i%3 != 0 {
				clear(v[i*k : (i+1)*k])
			}
		}
		return v
	}, func(_ *rand.Rand, i int) float32 { return float32(i % 2) }, gaussianQuery},
	{"one column counts", func(rng *rand.Rand, n, k int) []float32 {
		v := gaussian(rng, n, k)
		for i := range v {
			if i%k != k-1 {
				v[i] *= 1e-6
			}
		}
		return v
	}, one, func(rng *rand.Rand, _ []float32, k int) []float32 {
		q := make([]float32, k)
		q[k-1], q[0] = float32(rng.NormFloat64()), 1e-3
		return q
	}},
	{"wide range", func(rng *rand.Rand, n, k int) []float32 {
		v := gaussian(rng, n, k)
		for i := range n {
			scale := float32(math.Ldexp(1, rng.IntN(200)-150))
			for j := range k {
				v[i*k+j] *= scale
			}
		}
		return v
	}, one, func(rng *rand.Rand, _ []float32, k int) []float32 {
		q := gaussian(rng, 1, k)
		scale := float32(math.Ldexp(1, rng.IntN(240)-140)) // beyond the limits of the bound, too
		for j := range q {
			q[j] *= scale
		}
		return q
	}},
	{"close to the rows", gaussian, one, func(rng *rand.Rand, rows []float32, k int) []float32 {
		return slices.Clone(rows[rng.IntN(len(rows)/k)*k:][:k])
	}},
	{"one last digit apart", func(rng *rand.Rand, n, k int) []float32 {
		v, first := make([]float32, n*k), gaussian(rng, 1, k)
		for i := range n {
			row := v[i*k : (i+1)*k]
			copy(row, first)
			j := rng.IntN(k)
			row[j] = math.Nextafter32(row[j], float32(rng.NormFloat64()*1e9))
		}
		return v
	}, one, gaussianQuery},
	{"all against", func(rng *rand.Rand, n, k int) []float32 { // all scores are negative
		v := gaussian(rng, n, k)
		for i := range v {
			v[i] = -float32(math.Abs(float64(v[i])))
		}
		return v
	}, one, func(rng *rand.Rand, _ []float32, k int) []float32 {
		q := gaussian(rng, 1, k)
		for i := range q {
			q[i] = float32(math.Abs(float64(q[i])))
		}
		return q
	}},
	// The floor of the sample is too low.
	{"the best where no sample is", func(rng *rand.Rand, n, k int) []float32 {
		v := gaussian(rng, n, k)
		for i := range min(n, 3*vec.BlockRows) {
			v[i*k] = 100
		}
		return v
	}, one, func(rng *rand.Rand, _ []float32, k int) []float32 {
		q := gaussian(rng, 1, k)
		q[0] = float32(math.Abs(float64(q[0])))
		return q
	}},
	// The floor of the sample is too high, and the search begins anew.
	{"the best in the sample", func(rng *rand.Rand, n, k int) []float32 {
		v, blocks := gaussian(rng, n, k), (n+vec.BlockRows-1)/vec.BlockRows
		for i := range n {
			// Rows are in the order of the blocks already.
			length := float32(2 - float64(i)/float64(n))
			sum := 0.0
			for _, x := range v[i*k : (i+1)*k] {
				sum += float64(x) * float64(x)
			}
			for j := range k {
				v[i*k+j] *= length / float32(math.Sqrt(sum))
			}
			if middle := blocks / (2 * fewestBlocks); i/vec.BlockRows == middle && i%8 == 0 {
				clear(v[i*k : (i+1)*k])
				v[i*k] = length
			}
		}
		return v
	}, one, func(rng *rand.Rand, _ []float32, k int) []float32 {
		q := gaussian(rng, 1, k)
		for j := range q {
			q[j] *= 0.01
		}
		q[0] = 1
		return q
	}},
	{overflowing, func(rng *rand.Rand, n, k int) []float32 {
		v := gaussian(rng, n, k)
		for i := 0; i < n; i += 7 {
			for j := range k {
				v[i*k+j] *= 0x1p96
			}
		}
		return v
	}, func(_ *rand.Rand, i int) float32 {
		if i%7 == 0 {
			return 0x1p-100
		}
		return 1
	}, func(rng *rand.Rand, _ []float32, k int) []float32 {
		q := gaussian(rng, 1, k)
		for j := range q {
			q[j] *= 0x1p40
		}
		return q
	}},
	{"nothing", func(_ *rand.Rand, n, k int) []float32 {
		return make([]float32, n*k)
	}, one, func(_ *rand.Rand, _ []float32, k int) []float32 {
		return make([]float32, k)
	}},
}

// randomRequest asks for up to 150 items, with and without exclusions.
func randomRequest(rng *rand.Rand, s shape, rows []float32, n, k int) ranking.Request {
	sizes := []int{0, 1, 10, 100, n, n + 5, rng.IntN(150)}
	r := ranking.Request{Query: s.query(rng, rows, k), N: sizes[rng.IntN(len(sizes))]}
	if rng.IntN(3) == 0 {
		r.Skip = ranking.NewSet(n)
		for range rng.IntN(n + 1) {
			r.Skip.Add(int32(rng.IntN(n)))
		}
	}
	if rng.IntN(4) == 0 {
		r.Among = []int32{}
		for range rng.IntN(n + 1) {
			r.Among = append(r.Among, int32(rng.IntN(n)))
		}
	}
	if rng.IntN(2) == 0 {
		r.Boosts = randomBoosts(rng, rows, n, k, r.Query)
	}
	return r
}

func describe(r ranking.Request) string {
	return fmt.Sprintf("N=%d, some skipped: %v, %d among (nil: %v), %d boosts",
		r.N, r.Skip != nil, len(r.Among), r.Among == nil, len(r.Boosts))
}

func equal(a, b ranking.Scored) bool {
	return a.Item == b.Item && math.Float32bits(a.Score) == math.Float32bits(b.Score)
}

// TestSearchIsTheScan: items, order and bits are those of the float32 scores of all items, sorted.
func TestSearchIsTheScan(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	trials := 3
	if soak.Brief() {
		trials = 1
	}
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			for range trials {
				for _, k := range []int{1, 3, 4, 31, 64, 157, 160, 161, 300} {
					n := 1 + rng.IntN([]int{300, 900, 5000}[rng.IntN(3)])
					rows, gain := s.rows(rng, n, k), make([]float32, n)
					for i := range gain {
						gain[i] = s.gain(rng, i)
					}
					for _, five := range []bool{false, true} {
						checkSearches(t, rng, s, rows, gain, k, five)
					}
				}
			}
		})
	}
}

// TestManyItems: so are those of lists and indices that are large enough for the larger sample.
func TestManyItems(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			const n, k = manyBlocks*vec.BlockRows + 1, 9
			rows, gain := s.rows(rng, n, k), make([]float32, n)
			for i := range gain {
				gain[i] = s.gain(rng, i)
			}
			for range 2 {
				checkSearches(t, rng, s, rows, gain, k, false)
			}
		})
	}
}

func checkSearches(t *testing.T, rng *rand.Rand, s shape, rows, gain []float32, k int, five bool) {
	t.Helper()
	x := newIndex(rows, gain, k, 0, five)
	if rng.IntN(2) == 0 {
		factors := randomFactors(rng, len(gain))
		x.Times(randomFactors(rng, len(gain)))
		y := x.Times(factors)
		if x.Times(slices.Clone(factors)) != y {
			t.Error("the same factors make another index")
		}
		x, gain = y, y.Gains()
	}
	batch := make([]ranking.Request, []int{1, 1, 2, 3, 40}[rng.IntN(5)])
	for i := range batch {
		batch[i] = randomRequest(rng, s, rows, len(gain), k)
	}
	want := slices.Clone(batch)
	added := randomAdditions(rng, rows, len(gain), k, batch[0].Query)
	var additions *Additions
	if added != nil {
		additions = NewAdditions(x, added)
	}
	x.Search(batch, additions)
	for i, r := range batch {
		if w := oracle(rows, gain, added, k, want[i]); !slices.EqualFunc(r.Top, w, equal) {
			at := 0
			for at < min(len(r.Top), len(w)) && equal(r.Top[at], w[at]) {
				at++
			}
			t.Fatalf("n=%d k=%d five=%v added=%v, %s: %d items, want %d; from place %d on\n"+
				"got  %v\nwant %v", len(gain), k, five, added != nil, describe(want[i]),
				len(r.Top), len(w), at, r.Top[at:min(at+3, len(r.Top))], w[at:min(at+3, len(w))])
		}
	}
}

// randomFactors are such as trends make.
func randomFactors(rng *rand.Rand, n int) []float32 {
	factors := make([]float32, n)
	for i := range factors {
		factors[i] = float32(math.Exp(1.5 * rng.NormFloat64()))
	}
	return factors
}

// TestLostStaysLost: a search that is given up has not seen every block, so no later floor may
// bring it back. Here the blocks of the sample are far below all others, whose scores are close
// together. So the first floor is too coarse to drop any of them, the next would drop most, and the
// best stand in the last block.
func TestLostStaysLost(t *testing.T) {
	const n, k = 64 * vec.BlockRows, 3
	rows, gain := make([]float32, n*k), slices.Repeat([]float32{1}, n)
	var inSample []int32 // blocks
	if order := New(rows, gain, k, 0).few.blocks; len(order) > fewestBlocks {
		inSample = order[:fewestBlocks]
	}
	for i := range n {
		row := [k]float64{0, float64(i*37%100) / 127, 1}
		switch {
		case slices.Contains(inSample, int32(i/vec.BlockRows)):
			row[0], row[1] = -1, 0
		case i >= n-vec.BlockRows:
			row[1] = 1
		}
		// Blocks stand in the order of rows.
		length := (1 - 0.01*float64(i)/n) / math.Sqrt(row[0]*row[0]+row[1]*row[1]+1)
		for j, v := range row {
			rows[i*k+j] = float32(v * length)
		}
	}
	batch := []ranking.Request{{Query: []float32{1, 0.004, 0}, N: 1000}}
	want := oracle(rows, gain, nil, k, batch[0])
	New(rows, gain, k, 0).Search(batch, nil)
	if !slices.EqualFunc(batch[0].Top, want, equal) {
		t.Errorf("got %v …, want %v …", batch[0].Top[:3], want[:3])
	}
}

// TestBoundHolds: every score lies in the interval that the scan works with, and the bound of a
// row's norm holds.
func TestBoundHolds(t *testing.T) {
	if !vec.QuantisedScans() {
		t.Skip("no kernel for int8 rows in use")
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for _, s := range shapes {
		for _, k := range []int{5, 64, 200} {
			n := 300
			rows, gain := s.rows(rng, n, k), make([]float32, n)
			for i := range gain {
				gain[i] = s.gain(rng, i)
			}
			x := newIndex(rows, gain, k, 0, true)
			if x.quantised == (s.name == overflowing) {
				t.Fatalf("%s: quantised: %v", s.name, x.quantised)
			}
			if !x.quantised {
				continue
			}
			other := x.Times(randomFactors(rng, n))
			for round := range 40 {
				if round == 20 && other.quantised {
					x = other
				}
				q := s.query(rng, rows, k)
				search := &search{ix: x, order: &x.few}
				boosts := randomBoosts(rng, rows, n, k, q)
				for _, maxDigit := range []int{x.maxDigit, vec.SmallDigit} {
					for _, from := range []*copied{&x.bytes, &x.five} {
						if search.query.set(x, q, maxDigit) {
							checkBounds(t, s.name, search, from, ranking.Request{Query: q})
							checkBounds(t, s.name, search, from,
								ranking.Request{Query: q, Boosts: boosts})
						}
					}
				}
			}
		}
	}
}

func checkBounds(t *testing.T, name string, s *search, from *copied, r ranking.Request) {
	t.Helper()
	x := s.ix
	s.req, s.req.N = r, x.n
	s.boosts.sort(s, x.place)
	additions := map[int]float32{}
	for _, b := range r.Boosts {
		additions[int(b.Item)] = b.Score
	}
	s.start(from, false)
	s.raiseLen = x.n + 1 // nothing is scored
	for b := range x.blocks() {
		s.visit(b, nil)
	}
	check.MustSame(t, x.n, s.kept.Len(), "%s: rows kept without a floor", name)
	for i, place := range s.kept.Place {
		row, low, high := int(x.row[place]), s.kept.Low[i], s.kept.High[i]
		base := vec.Dot(x.rows[row*x.k:(row+1)*x.k], r.Query)*x.gain[row] + 0
		score := base + additions[row]
		reach := float64(x.reach[i/vec.BlockRows]) * s.norm
		if score < low || score > high || float64(base) > reach {
			t.Errorf("%s: item %d has the score %g = %g + %g, outside of [%g, %g], reach %g",
				name, row, score, base, additions[row], low, high, reach)
		}
	}
	checkReach(t, name, s, additions)
}

// TestNewFloor: at least rank lower bounds reach it, and few more where they are spread evenly.
func TestNewFloor(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for trial := range 2000 {
		s := &search{floor: float32(math.Inf(-1)), rank: 1 + rng.IntN(50)}
		for range rng.IntN(200) {
			low := float32(rng.IntN(1+rng.IntN(40)) - 10)
			if trial%2 == 0 {
				low = float32(math.Ldexp(rng.NormFloat64(), rng.IntN(60)-30))
			}
			s.kept.Low = append(s.kept.Low, low)
		}
		if trial%3 == 0 {
			s.floor = float32(rng.IntN(10) - 5)
		}
		reach := func(floor float32) (n int) {
			for _, low := range s.kept.Low {
				if low >= floor {
					n++
				}
			}
			return n
		}
		floor, ok := s.newFloor()
		check.MustSame(t, reach(s.floor) >= s.rank, ok,
			"that %d of %d reach the floor %v", s.rank, len(s.kept.Low), s.floor)
		if ok && (reach(floor) < s.rank || floor < s.floor) {
			t.Fatalf("new floor %v after %v: %d reach it, want %d",
				floor, s.floor, reach(floor), s.rank)
		}
	}
}

// TestNoAllocation: a search in steady state allocates nothing.
func TestNoAllocation(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	x := New(gaussian(rng, 2000, 64), slices.Repeat([]float32{1}, 2000), 64, 0)
	skip := ranking.NewSet(2000)
	skip.Add(7)
	batch := make([]ranking.Request, 4)
	for i := range batch {
		batch[i] = ranking.Request{
			Query: gaussian(rng, 1, 64), N: 20, Skip: skip, Top: make([]ranking.Scored, 0, 20),
		}
	}
	batch[3].Among = []int32{5, 6, 7, 5}
	for i := range 300 {
		boost := ranking.Boost{Item: int32(i * 6), Score: float32(i % 10)}
		batch[1].Boosts = append(batch[1].Boosts, boost)
	}
	batch[3].Boosts = batch[1].Boosts
	allocations := testing.AllocsPerRun(200, func() { x.Search(batch, nil) })
	if allocations > 0 && !raceDetector {
		t.Errorf("%v allocations in a search", allocations)
	}
}

func TestShapesPanic(t *testing.T) {
	x := New(make([]float32, 6), make([]float32, 3), 2, 0)
	for name, f := range map[string]func(){
		"rows":  func() { New(make([]float32, 7), make([]float32, 3), 2, 0) },
		"query": func() { x.Search([]ranking.Request{{Query: make([]float32, 3), N: 1}}, nil) },
	} {
		check.Panics(t, "", name, f)
	}
}
