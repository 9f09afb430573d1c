package topn

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/vec"
	"github.com/gsimc/gsimc/ranking"
)

// randomBoosts adds to a few items, to many or to all, and to two that do not exist: nothing at
// all, a bit more or less than the scores differ by, far more than that, whole numbers that make
// ties, or what lifts all of them to about the same score.
func randomBoosts(rng *rand.Rand, rows []float32, n, k int, q []float32) []ranking.Boost {
	count := []int{0, 1, min(n, 20), min(n, 300), n}[rng.IntN(5)]
	spread := 0.0
	scores := make([]float32, n)
	for i := range scores {
		scores[i] = vec.Dot(rows[i*k:(i+1)*k], q)
		if v := math.Abs(float64(scores[i])); v < math.MaxFloat32 {
			spread = max(spread, v)
		}
	}
	kind, size := rng.IntN(5), math.Ldexp(spread, rng.IntN(8)-5)
	if rng.IntN(4) == 0 {
		size = math.Ldexp(size, 16+rng.IntN(12)) // so large that scores lose digits
	}
	boosts := []ranking.Boost{{Item: -1, Score: 1e6}, {Item: int32(n), Score: 1e6}}
	for _, i := range rng.Perm(n)[:count] {
		v := 0.0
		switch kind {
		case 1:
			v = size * rng.ExpFloat64()
		case 2:
			v = size * rng.NormFloat64()
		case 3:
			v = float64(rng.IntN(4) - 1)
		case 4:
			v = size - float64(scores[i])
		}
		if rng.IntN(400) == 0 {
			v = math.Ldexp(rng.NormFloat64(), rng.IntN(250)-130)
		}
		v = min(max(v, -math.MaxFloat32), math.MaxFloat32)
		boosts = append(boosts, ranking.Boost{Item: int32(i), Score: finite(float32(v))})
	}
	rng.Shuffle(len(boosts), func(i, j int) { boosts[i], boosts[j] = boosts[j], boosts[i] })
	return boosts
}

// finite replaces a NaN, from scores that overflow, by 1.
func finite(v float32) float32 {
	if v != v {
		return 1
	}
	return v
}

// TestBoosts goes through the sizes at which a search changes its ways: one block, the smallest
// matrix with a sample, and matrices whose rows are so different in length that the scan ends
// early.
func TestBoosts(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 13))
	const smallest = 4 * fewestBlocks * vec.BlockRows // with a sample
	falling := shape{"falling", func(rng *rand.Rand, n, k int) []float32 {
		power := -rng.Float64()
		v := gaussian(rng, n, k)
		for i := range v {
			v[i] *= float32(math.Pow(float64(1+i/k), power))
		}
		return v
	}, one, gaussianQuery}
	trials := 6
	if testing.Short() {
		trials = 2
	}
	for _, n := range []int{
		1, vec.BlockRows - 1, vec.BlockRows, vec.BlockRows + 1, 4 * vec.BlockRows,
		smallest - vec.BlockRows, smallest - vec.BlockRows + 1, smallest, smallest + 1,
		3 * smallest,
	} {
		for _, k := range []int{2, 7, 40} {
			for range trials {
				s := falling
				if rng.IntN(3) == 0 {
					s = shapes[rng.IntN(len(shapes))]
				}
				rows, gain := s.rows(rng, n, k), make([]float32, n)
				for i := range gain {
					gain[i] = s.gain(rng, i)
				}
				for _, five := range []bool{false, true} {
					checkSearches(t, rng, s, rows, gain, k, five)
				}
			}
		}
	}
}

// TestBoostsOfAnotherIndex: an index whose items begin elsewhere takes its own.
func TestBoostsOfAnotherIndex(t *testing.T) {
	rows, gain := []float32{1, 2, 3}, []float32{1, 1, 1}
	for _, among := range [][]int32{nil, {9, 10, 12}} {
		batch := []ranking.Request{{
			Query: []float32{1}, N: 3, Among: among,
			Boosts: []ranking.Boost{
				{Item: 0, Score: 9}, {Item: 10, Score: 1.5}, {Item: 13, Score: 9},
			},
		}}
		New(rows, gain, 1, 10).Search(batch)
		want := []ranking.Scored{{Item: 12, Score: 3}, {Item: 10, Score: 2.5}, {Item: 11, Score: 2}}
		if among != nil {
			want = want[:2]
		}
		if !slices.Equal(batch[0].Top, want) {
			t.Errorf("among %v: got %v, want %v", among, batch[0].Top, want)
		}
	}
}

// TestBoostsDoNotMisleadTheSample: all boosted rows stand in one block of the sample, where they
// look as if there were many more of them. The floor that is taken from the sample must not be
// above the N-th score, or the search has to begin anew.
func TestBoostsDoNotMisleadTheSample(t *testing.T) {
	if !vec.QuantisedScans() {
		t.Skip("no kernel for int8 rows in use")
	}
	const n, k, top = 128 * vec.BlockRows, 16, 100
	rng := rand.New(rand.NewPCG(14, 15))
	x := New(gaussian(rng, n, k), slices.Repeat([]float32{1}, n), k, 0)
	var boosts []ranking.Boost
	for i := range top - 1 {
		place := int(x.order[0])*vec.BlockRows + i
		boosts = append(boosts, ranking.Boost{Item: x.row[place], Score: 1000})
	}
	for range 20 {
		r := ranking.Request{Query: gaussian(rng, 1, k), N: top, Boosts: boosts}
		s := &search{ix: x, req: r}
		if !s.begin(1) {
			t.Fatal("no scan")
		}
		x.pass([]*search{s}, true)
		if !s.settle() {
			t.Error("the search has to begin anew")
		}
	}
}

// TestExtremeBoosts: items that are put at the top or the bottom of a list by additions far beyond
// the scores do not keep the floor from finding its way among the others.
func TestExtremeBoosts(t *testing.T) {
	if !vec.QuantisedScans() {
		t.Skip("no kernel for int8 rows in use")
	}
	const n, k, top = 128 * vec.BlockRows, 16, 20
	rng := rand.New(rand.NewPCG(20, 21))
	x := New(gaussian(rng, n, k), slices.Repeat([]float32{1}, n), k, 0)
	for _, size := range []float32{1e3, 1e9, 1e30} {
		var boosts []ranking.Boost
		for i := range int32(10) { // in the block that is read first
			item := x.row[x.order[0]*vec.BlockRows+i]
			boosts = append(boosts, ranking.Boost{Item: item, Score: size * float32(i%3-1)})
		}
		r := ranking.Request{Query: gaussian(rng, 1, k), N: top, Boosts: boosts}
		s := &search{ix: x, req: r}
		if !s.begin(1) {
			t.Fatal("no scan")
		}
		x.pass([]*search{s}, true)
		if kept := s.kept.Len(); s.abandoned || kept > 2*raiseAt*top {
			t.Errorf("additions of %g: abandoned: %v, %d candidates", size, s.abandoned, kept)
		}
	}
}

// TestShortRows: the scan finds boosted rows where all others are too short: a few in a block,
// bounded by the length of the block's longest row, and many, whose block is read.
func TestShortRows(t *testing.T) {
	const n, k = 64 * vec.BlockRows, 8
	rng := rand.New(rand.NewPCG(16, 17))
	rows := gaussian(rng, n, k)
	for i := range rows {
		if i/k >= n/4 {
			rows[i] *= 1e-3
		}
	}
	x := New(rows, slices.Repeat([]float32{1}, n), k, 0)
	for _, count := range []int{1, 10, 10 * 48, 100 * 48} {
		var boosts []ranking.Boost
		for _, i := range rng.Perm(n - n/4)[:count] {
			item := int32(n/4 + i)
			boosts = append(boosts, ranking.Boost{Item: item, Score: 10 + rng.Float32()})
		}
		for range 10 {
			batch := []ranking.Request{{Query: gaussian(rng, 1, k), N: 30, Boosts: boosts}}
			want := oracle(rows, x.gain, k, batch[0])
			x.Search(batch)
			if !slices.EqualFunc(batch[0].Top, want, equal) {
				t.Fatalf("%d boosted: got %v …, want %v …", count, batch[0].Top[:3], want[:3])
			}
		}
	}
}

// checkReach checks the bounds that boosted rows have if their block is not read.
func checkReach(t *testing.T, name string, s *search, additions map[int]float32) {
	t.Helper()
	x := s.ix
	s.start(s.from, x.n)
	s.raiseLen = x.n + 1
	for b := range x.blocks() {
		s.visitBoosted(b)
	}
	if want := len(s.boosts.rows); s.kept.Len() < want {
		t.Fatalf("%s: %d of %d boosted rows kept without a floor", name, s.kept.Len(), want)
	}
	for i, place := range s.kept.Place {
		row, low, high := int(x.row[place]), s.kept.Low[i], s.kept.High[i]
		score := vec.Dot(x.rows[row*x.k:(row+1)*x.k], s.req.Query)*x.gain[row] + 0
		score += additions[row]
		if score < low || score > high {
			t.Errorf("%s: item %d has the score %g, outside of [%g, %g]",
				name, row, score, low, high)
		}
	}
}
