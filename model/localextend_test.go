package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/internal/test/check"
)

// extendedLocal returns the model of newLocal, extended by items that stand between each other and
// known ones in histories.
func extendedLocal(tb testing.TB, n, k, items int) *Model {
	tb.Helper()
	m := newLocal(tb, n, k)
	ids := make([]string, items)
	for i := range ids {
		ids[i] = fmt.Sprintf("new-%02d", i)
	}
	e := check.Get(m.NewEvidence(ids[:items/2], ids[items/2:]))(tb)
	// The second half comes from other evidence, as in a server.
	later := check.Get(m.NewEvidence(ids[items/2:], nil))(tb)
	half := int32(items / 2)
	for i := range items {
		for u := range 3 {
			fresh, start := int32(n+i), int32((10*i+u)%n)
			h := []int32{start, fresh, int32(n + (i+1)%items), -1, (start + 1) % int32(n)}
			e.Add(h)
			for at, j := range h { // the numbers of the other evidence
				if j >= int32(n) {
					h[at] = max(j-half, int32(n)-1)
				}
				if h[at] == int32(n)-1 {
					h[at] = -1
				}
			}
			later.Add(h)
		}
	}
	var placed []NewItem
	for i := range items {
		from, at := e, i
		if i >= items/2 {
			from, at = later, i-items/2
		}
		item, err := from.PlaceNear(at, float64(20+i), nil)
		if i%4 == 3 {
			item, err = from.PlaceNear(at, float64(20+i), alike(i, i+5))
		}
		if i == 2 {
			item, err = m.Borrow(ids[i], 0, alike(11, 12, 40))
		}
		check.Must(tb, err)
		placed = append(placed, item)
	}
	x := check.Get(m.Extend(placed))(tb)
	return x
}

// TestExtendedLocalTerm: new items have local terms as sources and as targets; scores, the best
// items, upper bounds and explanations agree on them.
func TestExtendedLocalTerm(t *testing.T) {
	const known, k = 120, 5
	x := extendedLocal(t, known, k, 8)
	n := x.NumItems()
	rng := rand.New(rand.NewPCG(33, 34))
	q, scores, plain := x.NewQuery(), make([]float32, n), make([]float32, k)
	all, p := make([]int32, n), make([]float32, k)
	for i := range all {
		all[i] = int32(i)
	}
	var kinds [2][2]int // numbers above 0, by whether source and target are new
	for trial := range 80 {
		s, h := x.NewState(), randomHistory(rng, n, rng.IntN(20))
		if len(h) > 0 && trial%2 == 0 {
			h[len(h)-1].Item = int32(known + rng.IntN(n-known))
		}
		cut := rng.IntN(len(h) + 1)
		for _, e := range h[:cut] {
			x.Fold(s, e)
		}
		explanation := x.Explain(s.Clone(), h[cut:], all, EstimatorBGS)
		for _, e := range h[cut:] {
			x.Fold(s, e)
		}
		x.QueryTo(q, s, EstimatorBGS)
		x.ScoresTo(scores, q)
		x.transition.queryTo(plain, s, EstimatorBGS)
		for i, got := range scores {
			want := float64(x.smoothScore(int32(i), plain))
			for at := range h {
				share := localShare(x, h, at, int32(i))
				want += share
				if share > 0 {
					kinds[b2i(!x.InBase(h[at].Item))][b2i(!x.InBase(int32(i)))]++
				}
			}
			if math.Abs(float64(got)-want) > 1e-4 {
				t.Fatalf("score of item %d is %v, want %v", i, got, want)
			}
			if x.Score(int32(i), q) != got {
				t.Fatalf("score of item %d alone differs from %v", i, got)
			}
			checkExplained(t, explanation, i, got)
		}
		skip := ranking.SetOf(n, int32(rng.IntN(n)))
		want := topOracle(scores, 10, skip)
		check.MustSame(t, want, x.TopN(nil, q, 10, skip), "TopN")
		check.MustSame(t, want, x.TopNUpperConfidence(nil, q, p, 1, 10, skip),
			"TopNUpperConfidence without variance")
	}
	for source := range kinds {
		for target, count := range kinds[source] {
			if count == 0 {
				t.Errorf("no local term with new source %d, new target %d", source, target)
			}
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// checkExplained holds the sum of the parts of an explanation against the score.
func checkExplained(t *testing.T, x *Explanation, i int, score float32) {
	t.Helper()
	sum := x.Base[i] + x.Trend[i] + x.Earlier[i]
	size := math.Abs(x.Base[i]) + math.Abs(x.Trend[i]) + math.Abs(x.Earlier[i])
	for _, c := range x.Events[i*x.Length : (i+1)*x.Length] {
		sum += c
		size += math.Abs(c)
	}
	if math.Abs(sum-float64(score)) > 1e-5*max(size, 1e-3) {
		t.Fatalf("the parts of item %d add up to %v, its score is %v", i, sum, score)
	}
}

// Known items have the local terms of the base.
func TestExtensionKeepsLocalTermsOfTheBase(t *testing.T) {
	x := extendedLocal(t, 120, 5, 8)
	base, rng := x.Base(), rand.New(rand.NewPCG(35, 36))
	terms := func(m *Model, h History) map[int32]float32 {
		s, q, known := m.NewState(), m.NewQuery(), map[int32]float32{}
		for _, e := range h {
			m.Fold(s, e)
		}
		m.QueryTo(q, s, EstimatorBGS)
		for _, b := range q.Boosts {
			if m.InBase(b.Item) {
				known[b.Item] = b.Score
			}
		}
		return known
	}
	for range 50 {
		h := randomHistory(rng, base.NumItems(), 12)
		if d := cmp.Diff(terms(base, h), terms(x, h), cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("local terms (-base +extended):\n%s", d)
		}
	}
}

// The version of an extension covers its local terms.
func TestVersionCoversLocalTerms(t *testing.T) {
	x := extendedLocal(t, 60, 4, 4)
	base := x.Base()
	place := func(histories ...[]int32) *Model {
		e := check.Get(base.NewEvidence([]string{"new"}, nil))(t)
		for _, h := range histories {
			e.Add(h)
		}
		item := check.Get(e.Place(0, 2))(t)
		y := check.Get(base.Extend([]NewItem{item}))(t)
		return y
	}
	// The same hyperedges in another order.
	a, b := place([]int32{60, 1, 2}, []int32{60, 3}), place([]int32{1, 2, 60}, []int32{3, 60})
	again := place([]int32{60, 1, 2}, []int32{60, 3})
	if d := cmp.Diff(a.extension.basis, b.extension.basis, cmpopts.EquateApprox(0, 1e-6)); d != "" {
		t.Fatalf("the rows differ:\n%s", d)
	}
	if a.Version() == b.Version() || a.Version() != again.Version() ||
		!strings.HasPrefix(a.Version(), base.Version()+"+") {
		t.Errorf("versions %s, %s and again %s", a.Version(), b.Version(), again.Version())
	}
}

func TestExtendedLocalTermDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool forget at random")
	}
	x := extendedLocal(t, 600, 8, 20)
	s, q, dst := x.NewState(), x.NewQuery(), make([]ranking.Scored, 0, 10)
	at := 0
	if allocs := testing.AllocsPerRun(500, func() {
		at++
		x.Fold(s, Event{Item: int32(590 + at%30), Weight: 1, Time: int64(at)})
		x.QueryTo(q, s, EstimatorBGS)
		dst = x.TopN(dst, q, 10, nil)
	}); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}
