package evaluate

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Where fashions change, a model that nobody trains again gets worse from cut to cut. Trends hold.
func TestFrozenModelsLoseWithAge(t *testing.T) {
	d := fashion(true)
	var cuts []Cut
	var old *Aged
	for later := 3; later >= 0; later-- {
		x, results := cutOf(t, d, TimeSplit{Share: 0.125, Later: later}, old)
		if old == nil {
			old = x.Fitted
		}
		cuts = append(cuts, x.Cut(results))
	}
	by := map[string][]float64{}
	all := Pool(cuts)
	for _, p := range all {
		for _, m := range p.ByCut {
			by[p.Name] = append(by[p.Name], m.NDCG)
		}
		checkPooled(t, cuts, &p)
	}
	if len(all) != 4 || by[Frozen][0] != by[Dynamics][0] ||
		by[FrozenTrending][0] != by[Trending][0] {
		t.Fatalf("the NDCG@10 are %v, want four methods and no age at the first cut", by)
	}
	kept := func(frozen, young string, cut int) float64 { return by[frozen][cut] / by[young][cut] }
	if first, last := kept(Frozen, Dynamics, 1), kept(Frozen, Dynamics, 3); first > 0.8 ||
		last > 0.6 || last > first || kept(FrozenTrending, Trending, 3) < 0.85 {
		t.Errorf("the NDCG@10 are %v", by)
	}
	if by, stderr, ok := Change(cuts[1:], Frozen, FrozenTrending); !ok || by < 4*stderr {
		t.Errorf("trends change the frozen model by %v ± %v", by, stderr)
	}
	if _, _, ok := Change(cuts, Frozen, Popularity); ok {
		t.Error("popularity was not measured, and has a change")
	}
}

// checkPooled computes the figures of all cuts in another way.
func checkPooled(t *testing.T, cuts []Cut, p *Pooled) {
	t.Helper()
	var gained, targets, warm, squares, cutMean float64
	for i := range cuts {
		r := cuts[i].result(p.Name)
		for at, rank := range r.Ranks {
			_, gain := gains(10, rank)
			gained += gain
			targets++
			if at < cuts[i].warm {
				warm += gain
			}
		}
		cutMean += p.ByCut[i].NDCG / float64(len(cuts))
	}
	for _, m := range p.ByCut {
		squares += (m.NDCG - cutMean) * (m.NDCG - cutMean) / float64(len(cuts)-1)
	}
	had := 0
	for i := range cuts {
		had += cuts[i].warm
	}
	for what, pair := range map[string][2]float64{
		"NDCG":    {p.Metrics[0].NDCG, gained / targets},
		"warm":    {p.Warm.NDCG, warm / float64(had)},
		"cold":    {p.Cold.NDCG, (gained - warm) / (targets - float64(had))},
		"spread":  {p.Spread, math.Sqrt(squares)},
		"targets": {float64(len(p.Ranks)), targets},
	} {
		if math.Abs(pair[0]-pair[1]) > 1e-9 {
			t.Errorf("%s: %s is %v, want %v", p.Name, what, pair[0], pair[1])
		}
	}
}

// A frozen model ranks as it does at its own cut, and misses what it does not know.
func TestFrozenModelsRankAsTheyDid(t *testing.T) {
	d := fashion(true)
	x, results := cutOf(t, d, TimeSplit{Share: 0.1}, nil)
	x.Old = x.Fitted
	for i, r := range x.runOld() {
		if diff := cmp.Diff(results[i].Ranks, r.Ranks); diff != "" || x.Unseen != 0 {
			t.Errorf("%s, %d targets unknown (-young +old):\n%s", r.Name, x.Unseen, diff)
		}
	}
	lost := int32(len(x.Old.place) - 1)
	for _, i := range x.Final.Test.Item[:1] {
		lost = i // the item of a history, and a target of others
	}
	y := *x
	old := *x.Old
	old.place = slices.Clone(old.place)
	old.place[slices.Index(x.final.place, lost)] = -1
	y.Old = &old
	again := y.runOld()
	missed, known := 0, 0
	for u := range x.Final.Test.Len() {
		_, target := split(&x.Final.Test, u)
		if target == lost {
			missed++
		}
		if (again[0].Ranks[u] == math.MaxInt32) != (target == lost) {
			t.Fatalf("target %d of item %d has rank %d", u, target, again[0].Ranks[u])
		}
		if again[0].Ranks[u] == results[0].Ranks[u] {
			known++
		}
	}
	for _, target := range x.targets.cold {
		if target == lost {
			missed++
		}
	}
	if missed == 0 || known < x.Final.Test.Len()/4 || y.Unseen != missed {
		t.Errorf("%d of %d targets missed, of %d unknown; %d as before", missed, x.Targets,
			y.Unseen, known)
	}
}
