package local

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/kalman"
)

// randomHistories draws users with up to 30 events over n items.
func randomHistories(rng *rand.Rand, n, users int) []kalman.History {
	all := make([]kalman.History, users)
	for u := range all {
		for range rng.IntN(30) {
			all[u] = append(all[u], kalman.Event{Item: int32(rng.IntN(n)), Weight: 1})
		}
	}
	return all
}

func degreesOf(n int, histories []kalman.History) []int64 {
	degrees := make([]int64, n)
	for _, h := range histories {
		seen := map[int32]bool{}
		for _, e := range h {
			if !seen[e.Item] {
				seen[e.Item] = true
				degrees[e.Item]++
			}
		}
	}
	return degrees
}

// oracleF is F of the package comment, dense and by its definition.
func oracleF(n int, histories []kalman.History) []float64 {
	f := make([]float64, n*n)
	for _, h := range histories {
		for a := range h {
			for b := a + 1; b < len(h) && b-a <= MaxGap; b++ {
				f[int(h[a].Item)*n+int(h[b].Item)] += math.Pow(gapFade, float64(b-a-1))
			}
		}
	}
	return f
}

// oracleT is T of the package comment, dense, without the limit of neighbours.
func oracleT(n int, f []float64, degrees []int64, s *Spec) []float64 {
	t := make([]float64, n*n)
	for i := range n {
		for j := range n {
			if i != j {
				t[i*n+j] = s.Weight * max(f[i*n+j]+s.Backward*f[j*n+i]-s.Discount, 0) *
					math.Pow(float64(degrees[i]+3), -s.SourceExponent) *
					math.Pow(float64(degrees[j]+3), -s.TargetExponent)
			}
		}
	}
	return t
}

func TestGraphAgainstItsDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{1, 2, 7, 40, 400} { // in the last one rows have few items
		histories := randomHistories(rng, n, 50)
		degrees := degreesOf(n, histories)
		s := Default()
		s.Weight, s.Backward, s.Neighbours = 0.7, 0.3, n
		counts := Count(n, degrees, slices.Values(histories), n)
		g := counts.Graph(&s)
		got := make([]float64, n*n)
		for i := range int32(n) {
			items, values := g.Row(i)
			for k, j := range items {
				got[int(i)*n+int(j)] = float64(values[k])
			}
		}
		want := oracleT(n, oracleF(n, histories), degrees, &s)
		check.SameBy(t, cmpopts.EquateApprox(1e-5, 0), want, got, "n = %d: T", n)
	}
}

// A row that is cut keeps the largest values.
func TestGraphKeepsTheStrongest(t *testing.T) {
	const n, m = 30, 4
	rng := rand.New(rand.NewPCG(1, 2))
	histories := randomHistories(rng, n, 200)
	degrees := degreesOf(n, histories)
	s := Default()
	s.Weight, s.Neighbours = 1, m
	counts := Count(n, degrees, slices.Values(histories), n)
	g := counts.Graph(&s)
	want := oracleT(n, oracleF(n, histories), degrees, &s)
	for i := range int32(n) {
		items, values := g.Row(i)
		if len(items) != m || !slices.IsSorted(items) {
			t.Fatalf("row %d has the items %v, want %d, ascending", i, items, m)
		}
		for j := range int32(n) {
			out := want[int(i)*n+int(j)]
			if !slices.Contains(items, j) && out > float64(slices.Min(values))*(1+1e-5) {
				t.Errorf("row %d leaves out item %d with %v, and keeps %v", i, j, out, values)
			}
		}
	}
}

func TestBoostsAgainstTheirDefinition(t *testing.T) {
	const n = 25
	rng := rand.New(rand.NewPCG(1, 3))
	histories := randomHistories(rng, n, 60)
	s := Default()
	s.Weight, s.Events = 1, 4
	g := Count(n, degreesOf(n, histories), slices.Values(histories), n).Graph(&s)
	sum := NewSum(n)
	for range 200 {
		recent := make([]kalman.Recent, rng.IntN(s.Events+1))
		want := make([]float64, n)
		for at := range recent {
			e := kalman.Recent{Item: int32(rng.IntN(n + 2)), Weight: float32(rng.NormFloat64())}
			recent[at] = e
			if int(e.Item) >= n { // an item that the graph does not know
				continue
			}
			items, values := g.Row(e.Item)
			for k, j := range items {
				want[j] += math.Pow(s.Fade, float64(len(recent)-1-at)) * float64(e.Weight) *
					float64(values[k])
			}
		}
		got := make([]float64, n)
		for _, b := range g.BoostsTo(nil, recent, sum) {
			if got[b.Item] != 0 {
				t.Fatalf("item %d comes twice", b.Item)
			}
			got[b.Item] = float64(b.Score)
		}
		if d := cmp.Diff(want, got, cmpopts.EquateApprox(1e-4, 1e-6)); d != "" {
			t.Fatalf("b differs (-want +got):\n%s", d)
		}
	}
}

// planted is data in which item i is followed by item i+1 modulo n, and positions whose scores know
// nothing of it.
func planted(rng *rand.Rand, n int, follow bool) (*Successions, []Position) {
	next := func(i int32) int32 {
		if follow {
			return (i + 1) % int32(n)
		}
		return int32(rng.IntN(n))
	}
	var histories []kalman.History
	for range 400 {
		var h kalman.History
		i := int32(rng.IntN(n))
		for range 6 {
			h = append(h, kalman.Event{Item: i, Weight: 1})
			i = next(i)
		}
		histories = append(histories, h)
	}
	counts := Count(n, degreesOf(n, histories), slices.Values(histories), 10)
	var positions []Position
	for range 300 {
		i := int32(rng.IntN(n))
		recent := []kalman.Recent{{Item: i, Weight: 1}}
		scores := make([]float32, n)
		for j := range scores {
			scores[j] = rng.Float32()
		}
		positions = append(positions, positionOf(counts, recent, scores, next(i)))
	}
	return counts, positions
}

func positionOf(
	c *Successions, recent []kalman.Recent, scores []float32, target int32,
) Position {
	p := Position{Recent: recent, Target: ranking.Scored{Item: target, Score: scores[target]}}
	var top ranking.TopN
	top.Reset(nil, TopLength)
	top.Offer(0, scores, nil)
	p.Top = top.Sorted()
	for _, j := range c.Near(nil, recent) {
		p.Near = append(p.Near, ranking.Scored{Item: j, Score: scores[j]})
	}
	return p
}

func TestChoose(t *testing.T) {
	const n = 300
	rng := rand.New(rand.NewPCG(1, 4))
	counts, positions := planted(rng, n, true)
	c := Choose(counts, positions, Default(), nil)
	if c.Spec.None() || c.Value < 0.9 || c.Without > 0.1 {
		t.Errorf("of a chain: %+v, want a local term that finds nearly all", c)
	}
	counts, positions = planted(rng, n, false)
	if c := Choose(counts, positions, Default(), nil); c.Value > c.Without+0.02 {
		t.Errorf("of noise: %+v, want no gain", c)
	}
	counts, positions = planted(rng, n, true)
	few := positions[:FewestPositions-1]
	if c := Choose(counts, few, Default(), nil); !c.Spec.None() {
		t.Errorf("with few positions: %+v, want no local term", c)
	}
	for i := range positions { // the weight that fits is out of range
		positions[i].Recent[0].Weight = 1e-9
	}
	if c := Choose(counts, positions, Default(), nil); !c.Spec.None() || c.Spec.Validate() != nil {
		t.Errorf("with events of next to no weight: %+v, want no local term", c)
	}
}

// TestRank: the items of a ranking are all from some score on, the target's if few are above it,
// and else TopLength or a little more. Few values make ties: of those at that score it has the
// first.
func TestRank(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 6))
	var p Position
	for range 400 {
		scores := make([]float32, 1+rng.IntN(1000))
		values := []int{1, 2, 9, 1 << 20}[rng.IntN(4)]
		for i := range scores {
			if scores[i] = float32(rng.IntN(values)); i > 0 && rng.IntN(8) == 0 {
				scores[i] = float32(math.Inf(-1)) // of the history
			}
		}
		target := ranking.Scored{Score: scores[0]}
		p.Near = []ranking.Scored{{Item: int32(len(scores) - 1)}}
		p.Rank(scores)
		check.Same(t, target, p.Target, "the target")
		check.Same(t, scores[p.Near[0].Item], p.Near[0].Score, "the score of an item that is near")
		least := p.Top[0].Score
		var got []int
		for _, s := range p.Top {
			check.Same(t, scores[s.Item], s.Score, "the score of item %d", s.Item)
			least, got = min(least, s.Score), append(got, int(s.Item))
		}
		slices.Sort(got)
		var want []int
		reach, ties := 0, 0
		for i, score := range scores {
			if score < least {
				continue
			}
			if reach++; score > least || ties < TopLength || slices.Contains(got, i) {
				want = append(want, i)
			}
			if score == least {
				ties++
			}
		}
		check.Same(t, want, got, "items from %v on", least)
		check.Same(t, slices.Max(scores), p.Top[0].Score, "the score of the first item")
		if least < target.Score || least > target.Score && reach < TopLength {
			t.Errorf("%d items from %v on for a target at %v", reach, least, target.Score)
		}
		if len(p.Top) > 2*TopLength {
			t.Errorf("%d items of %d from %v on, want few", len(p.Top), reach, least)
		}
	}
}

// TestPlaces compares the places of a target with those in the whole list. Every second ranking has
// ties, and is made by Rank.
func TestPlaces(t *testing.T) {
	const n = 400
	rng := rand.New(rand.NewPCG(1, 5))
	histories := randomHistories(rng, n, 3000)
	counts := Count(n, degreesOf(n, histories), slices.Values(histories), 20)
	s := Default()
	s.Weight, s.Neighbours = 1, 20
	g := counts.Graph(&s)
	sum := NewSum(n)
	for round := range 300 {
		scores, term := make([]float32, n), make([]float32, n)
		for j := range scores {
			if scores[j] = rng.Float32(); round%2 == 1 {
				scores[j] = float32(int(1.3 * scores[j]))
			}
		}
		recent := []kalman.Recent{
			{Item: int32(rng.IntN(n)), Weight: 1}, {Item: int32(rng.IntN(n)), Weight: 1},
		}
		target := int32(rng.IntN(n))
		p := positionOf(counts, recent, scores, target)
		weights := []float64{0, 0.3, 1, 2.7}
		if round%2 == 1 {
			p.Rank(scores)
			weights[0] = 0.1 // a term counts between ties
		}
		for _, b := range g.BoostsTo(nil, recent, sum) {
			term[b.Item] = b.Score
		}
		places := make([]int, len(weights)+1)
		p.places(places, term, weights)
		for w, weight := range weights {
			sums := make([]float64, n)
			for j := range sums {
				sums[j] = float64(scores[j]) + weight*float64(term[j])
			}
			want := ranking.Of(sums, target, ranking.NewSet(n))
			if got := places[w]; got != want && min(got, want) <= longList {
				t.Fatalf("weight %v: place %d, want %d", weight, got, want)
			}
		}
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		edit func(*Spec)
		want string
	}{
		{func(*Spec) {}, ""},
		{func(s *Spec) { *s = Spec{} }, ""},
		{func(s *Spec) { s.Weight = -1 }, "Weight: -1"},
		{func(s *Spec) { s.Backward = 2 }, "Backward: 2"},
		{func(s *Spec) { s.SourceExponent = math.NaN() }, "SourceExponent: NaN"},
		{func(s *Spec) { s.TargetExponent = 3 }, "TargetExponent: 3"},
		{func(s *Spec) { s.Fade = 1.5 }, "Fade: 1.5"},
		{func(s *Spec) { s.Discount = -0.1 }, "Discount: -0.1"},
		{func(s *Spec) { s.Neighbours = MaxNeighbours + 1 }, "Neighbours: 1001"},
		{func(s *Spec) { s.Events = 0 }, "Events: 0"},
		{func(s *Spec) { s.Weight, s.Neighbours = 0, -1 }, "Neighbours: -1"},
		{func(s *Spec) { s.Weight, s.Events = 0, -1 }, "Events: -1"},
	} {
		s := Default()
		s.Weight = 1
		c.edit(&s)
		err := s.Validate()
		check.Says(t, err, c.want, "%+v", s)
	}
}

func TestNewGraphRefuses(t *testing.T) {
	s := Default()
	nan := float32(math.NaN())
	for _, c := range []struct {
		name  string
		ptr   []int64
		item  []int32
		value []float32
		want  string
	}{
		{"good", []int64{0, 1, 2}, []int32{1, 0}, []float32{1, 2}, ""},
		{"short values", []int64{0, 1, 2}, []int32{1, 0}, []float32{1}, "add up"},
		{"last row", []int64{0, 1, 3}, []int32{1, 0}, []float32{1, 2}, "add up"},
		{"first row", []int64{1, 1, 2}, []int32{1, 0}, []float32{1, 2}, "add up"},
		{"backwards", []int64{0, 2, 1, 2}, []int32{1, 0}, []float32{1, 2}, "row 0"},
		{"beyond", []int64{0, 5, 2}, []int32{1, 0}, []float32{1, 2}, "row 0 of"},
		{"negative", []int64{0, 1, 2}, []int32{-1, 0}, []float32{1, 2}, "item -1"},
		{"unknown", []int64{0, 1, 2}, []int32{2, 0}, []float32{1, 2}, "item 2"},
		{"twice", []int64{0, 2, 2}, []int32{1, 1}, []float32{1, 2}, "ascending"},
		{"nan", []int64{0, 1, 2}, []int32{1, 0}, []float32{1, nan}, "want 0 to"},
		{"negative value", []int64{0, 1, 2}, []int32{1, 0}, []float32{1, -2}, "want 0 to"},
	} {
		check.Says(t, check.Err(NewGraph(&s, c.ptr, c.item, c.value)), c.want, "%s", c.name)
	}
}
