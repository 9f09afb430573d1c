package topn

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/num/vec"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
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

// randomAdditions are those of [randomBoosts] to all items; nil in one case of two.
func randomAdditions(rng *rand.Rand, rows []float32, n, k int, q []float32) []float32 {
	if rng.IntN(2) == 0 {
		return nil
	}
	added := make([]float32, n)
	for _, b := range randomBoosts(rng, rows, n, k, q) {
		if b.Item >= 0 && int(b.Item) < n {
			added[b.Item] = b.Score
		}
	}
	return added
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
	if soak.Brief() {
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
		New(rows, gain, 1, 10).Search(batch, nil)
		want := []ranking.Scored{{Item: 12, Score: 3}, {Item: 10, Score: 2.5}, {Item: 11, Score: 2}}
		if among != nil {
			want = want[:2]
		}
		check.Same(t, want, batch[0].Top, "among %v", among)
	}
}

// TestBoostsDoNotMisleadTheSample: all boosted rows stand in blocks of the sample, where they look
// as if there were many more of them. The floor that is taken from the sample must not be above the
// N-th score, or the search has to begin anew. In one case the number of items asked for is such
// that there are no seeds.
func TestBoostsDoNotMisleadTheSample(t *testing.T) {
	if !vec.QuantisedScans() {
		t.Skip("no kernel for int8 rows in use")
	}
	const n, k = 128 * vec.BlockRows, 16
	rng := rand.New(rand.NewPCG(14, 15))
	x := New(gaussian(rng, n, k), slices.Repeat([]float32{1}, n), k, 0)
	for _, c := range []struct{ top, boosted, seeds int }{{100, 99, 99}, {1100, 1000, 0}} {
		var boosts []ranking.Boost
		for i := range c.boosted {
			place := int(x.few.blocks[i/vec.BlockRows])*vec.BlockRows + i%vec.BlockRows
			boosts = append(boosts, ranking.Boost{Item: x.row[place], Score: 1000})
		}
		for range 20 {
			r := ranking.Request{Query: gaussian(rng, 1, k), N: c.top, Boosts: boosts}
			s := &search{ix: x, order: &x.few, req: r}
			if s.begin(1) || s.abandoned {
				t.Fatal("no scan")
			}
			check.MustSame(t, c.seeds, s.seeds, "seeds of %d boosted rows", c.boosted)
			x.pass(&x.few, []*search{s}, true)
			if !s.settle() {
				t.Errorf("%d of %d boosted: the search has to begin anew", c.boosted, c.top)
			}
		}
	}
}

// TestSeeds: seeds are the rows with the largest additions. Fewer blocks are read if they take the
// first places, and no more if they turn out to be in the way of others.
func TestSeeds(t *testing.T) {
	if !vec.QuantisedScans() {
		t.Skip("no kernel for int8 rows in use")
	}
	const n, k, top = 256 * vec.BlockRows, 64, 10
	rng := rand.New(rand.NewPCG(22, 23))
	rows := gaussian(rng, n, k)
	for i := range rows {
		rows[i] *= float32(math.Pow(float64(1+i/k), -0.4))
	}
	x := New(rows, slices.Repeat([]float32{1}, n), k, 0)
	scanned := func(r ranking.Request) *search {
		s := &search{ix: x, order: &x.few, req: r}
		if s.begin(1) || s.abandoned {
			t.Fatal("no scan")
		}
		x.pass(&x.few, []*search{s}, true)
		if !s.settle() {
			t.Fatal("the search has to begin anew")
		}
		return s
	}
	plain, large, small, negative := 0, 0, 0, 0
	for range 20 {
		r := ranking.Request{Query: gaussian(rng, 1, k), N: top}
		plain += scanned(r).scanned
		boosted := func(size func() float64) *search {
			r.Boosts = nil
			for _, i := range rng.Perm(n)[:500] {
				boost := ranking.Boost{Item: int32(i), Score: float32(size())}
				r.Boosts = append(r.Boosts, boost)
			}
			return scanned(r)
		}
		s := boosted(func() float64 { return 10 * rng.ExpFloat64() })
		large += s.scanned
		checkSeeds(t, s)
		s = boosted(func() float64 { return 0.5 + 0.1*rng.Float64() })
		small += s.scanned
		checkSeeds(t, s)
		negative += boosted(func() float64 { return -10 * rng.ExpFloat64() }).scanned
	}
	if large > plain/2 || small > plain+plain/8 || negative > plain+plain/8 {
		t.Errorf("%d rows read without additions, %d with large, %d with small, %d with negative",
			plain, large, small, negative)
	}
}

// checkSeeds checks that the largest additions have seeds, and that there are enough of them.
func checkSeeds(t *testing.T, s *search) {
	t.Helper()
	seeds, least := 0, float32(math.Inf(1))
	for _, row := range s.boosts.rows {
		if row.seed {
			seeds++
			least = min(least, row.addition)
		}
	}
	for _, row := range s.boosts.rows {
		if row.addition >= least != row.seed {
			t.Fatalf("an addition of %g, the least of seeds is %g", row.addition, least)
		}
	}
	if seeds < s.req.N || seeds > seedsPerPlace*s.req.N {
		t.Errorf("%d seeds for %d places", seeds, s.req.N)
	}
}

// TestSeedsGiveWay: seeds that the rows of a sample have left behind do not hold the floor down.
func TestSeedsGiveWay(t *testing.T) {
	const seeds, others = 20, 100
	s := &search{ix: &Index{n: 256 * vec.BlockRows}, order: &order{sample: 16}, sampling: true}
	s.from, s.floor, s.req.N = &s.ix.bytes, float32(math.Inf(-1)), 10
	for i := range seeds + others {
		score := float32(i)
		s.kept.Append(int32(i), score, score)
	}
	s.seeds, s.exact = seeds, seeds
	s.setRank()
	s.raise()
	want := s.sampleRank(s.req.N)
	if got := vec.CountAtLeast(s.kept.Low, s.floor); s.seeds != 0 || got != want {
		t.Errorf("%d seeds, %d candidates reach the floor, want 0 and %d", s.seeds, got, want)
	}
}

// TestLeast: at most n additions reach the number, and not much fewer unless they are equal.
func TestLeast(t *testing.T) {
	rng := rand.New(rand.NewPCG(24, 25))
	for trial := range 3000 {
		var b boosts
		for range rng.IntN(300) {
			v := rng.NormFloat64()
			switch trial % 4 {
			case 1:
				v = float64(rng.IntN(8) - 4)
			case 2:
				v = math.Ldexp(v, rng.IntN(240)-120)
			case 3:
				v = math.MaxFloat32
			}
			b.rows = append(b.rows, boosted{addition: float32(v)})
		}
		n, from := rng.IntN(60), float32(math.Ldexp(1, rng.IntN(40)-30))
		least, reach, more := b.least(n, from), 0, 0
		for _, row := range b.rows {
			if row.addition >= least {
				reach++
			}
			if row.addition >= math.Nextafter32(least, 0) {
				more++
			}
		}
		enough := least == from || reach >= n-n/8 || more > n
		if least < from || reach > n || !enough {
			t.Fatalf("%d of %d additions reach %g (more than %g), want at most %d",
				reach, len(b.rows), least, from, n)
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
			item := x.row[x.few.blocks[0]*vec.BlockRows+i]
			boosts = append(boosts, ranking.Boost{Item: item, Score: size * float32(i%3-1)})
		}
		r := ranking.Request{Query: gaussian(rng, 1, k), N: top, Boosts: boosts}
		s := &search{ix: x, order: &x.few, req: r}
		if s.begin(1) || s.abandoned {
			t.Fatal("no scan")
		}
		x.pass(&x.few, []*search{s}, true)
		if kept := s.kept.Len(); s.abandoned || kept > 8*top {
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
			want := oracle(rows, x.gain, nil, k, batch[0])
			x.Search(batch, nil)
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
	s.start(s.from, false)
	s.raiseLen = x.n + 1
	for b := range x.blocks() {
		s.visitBoosted(b)
	}
	if want := len(s.boosts.rows); s.kept.Len() < want {
		t.Fatalf("%s: %d of %d boosted rows kept without a floor", name, s.kept.Len(), want)
	}
	for i, place := range s.kept.Place {
		row, low, high := int(x.row[place]), s.kept.Low[i], s.kept.High[i]
		score := s.boostedScore(place, additions)
		if score < low || score > high {
			t.Errorf("%s: item %d has the score %g, outside of [%g, %g]", name, row, score, low,
				high)
		}
	}
	checkRest(t, name, s, additions)
}

// checkRest checks that no boosted row with a score at the floor or above is left out, for any
// floor, if no row reaches it without an addition.
func checkRest(t *testing.T, name string, s *search, additions map[int]float32) {
	t.Helper()
	x := s.ix
	for first := range x.blocks() {
		rows := s.boosts.of(first, x.blocks())
		for _, at := range rows[:min(len(rows), 10)] {
			s.start(s.from, false)
			s.raiseLen = x.n + 1
			s.floor = s.boostedScore(at.place, additions)
			s.visitRest(first)
			for _, row := range rows {
				score := s.boostedScore(row.place, additions)
				if score >= s.floor && !slices.Contains(s.kept.Place, row.place) {
					t.Fatalf("%s: a row of score %g is left out at the floor %g",
						name, score, s.floor)
				}
			}
		}
	}
}

// boostedScore is the score of the row at a place.
func (s *search) boostedScore(place int32, additions map[int]float32) float32 {
	x, row := s.ix, int(s.ix.row[place])
	score := vec.Dot(x.rows[row*x.k:(row+1)*x.k], s.req.Query)*x.gain[row] + 0
	return score + additions[row]
}
