package tune

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/learn/train"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/evaluate"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/spectral"
)

// walks is data with an order to learn: users walk through 60 items on a ring, mostly one step at a
// time.
func walks(t *testing.T) *dataset.Partition {
	t.Helper()
	const items = 60
	rng := rand.New(rand.NewPCG(9, 9))
	p := &dataset.Partition{}
	for i := range items {
		p.Items = append(p.Items, string([]byte{'a' + byte(i/26), 'a' + byte(i%26)}))
	}
	fill := func(h *dataset.Histories, users int) {
		h.Ptr = []int64{0}
		for u := range users {
			h.User = append(h.User, int32(u))
			seen := map[int32]bool{}
			for at, n := int32(rng.IntN(items)), 0; n < 8; at = (at + 1 +
				int32(rng.IntN(10)/9*rng.IntN(items))) % items {
				if !seen[at] {
					seen[at] = true
					h.Item, h.Time = append(h.Item, at), append(h.Time, int64(n))
					n++
				}
			}
			h.Ptr = append(h.Ptr, int64(len(h.Item)))
		}
	}
	fill(&p.Train, 300)
	fill(&p.Validation, 40)
	fill(&p.Test, 40)
	return p
}

func start() Candidate {
	return Candidate{
		Graph: spectral.Hypergraph, DegreeExponent: 1, DegreeRescale: 0.3, Rank: 32,
		Dynamics: model.DynamicsLearned, Bands: "0,0.7", Ridge: 1, Positions: 200,
	}
}

// The scores of the search are those of evaluate on the same events, for both kinds of models.
func TestMeasureAgreesWithEvaluate(t *testing.T) {
	p := walks(t)
	paper := start()
	paper.Dynamics, paper.Filter, paper.Phi, paper.Alpha = model.DynamicsNone, spectral.PowerFilter,
		10, 0.87
	for _, c := range []Candidate{start(), paper} {
		b := newScorer(p, 32, 1, nil)
		b.panel = lastEvents(b.panel)
		got, err := b.measure(c)
		if err != nil {
			t.Fatal(err)
		}
		want := evaluated(t, p, c, false)
		if diff := cmp.Diff(want, got.NDCG); diff != "" || got.NDCG == 0 {
			t.Errorf("%v: NDCG (-evaluate +tune):\n%s", c, diff)
		}
	}
	b := newScorer(p, 32, 1, nil)
	b.panel = lastEvents(b.panel)
	_, without, err := b.withDeviation(start())
	if err != nil || without.NDCG != evaluated(t, p, start(), false) {
		t.Errorf("without deviation: NDCG %v, %v", without.NDCG, err)
	}
}

// lastEvents keeps the last position of each user, as evaluate does, and leaves the local term out:
// a model chooses more of its constants than a trial does.
func lastEvents(p *panel) *panel {
	all := *p
	p.positions, p.ranked = nil, nil
	for i, at := range all.positions {
		if at.at == len(p.histories[at.user])-1 {
			p.positions = append(p.positions, at)
			p.ranked = append(p.ranked, all.ranked[i])
		}
	}
	p.with = p.without
	return p
}

// evaluated is the NDCG@10 that evaluate finds for the validation users.
func evaluated(t *testing.T, p *dataset.Partition, c Candidate, deviation bool) float64 {
	t.Helper()
	base := model.DefaultSpec()
	base.TrainUsers, base.Dynamics.Deviation = int64(p.Train.Len()), deviation
	spec, err := c.Spec(base)
	if err != nil {
		t.Fatal(err)
	}
	basis, err := spectral.Solve(train.Incidence(p), spectral.Options{
		Graph: c.graph(), Rank: c.Rank, Seed: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	q := *p
	q.Test = p.Validation
	in := evaluate.Ingredients{Basis: basis, Spec: spec}
	method := evaluate.LearnedDynamics()
	if !c.learned() {
		method = evaluate.Filtered(evaluate.GS, c.Filter)
	}
	results, err := evaluate.Run(&q, evaluate.Options{
		Methods: []evaluate.Method{method}, Paper: in, Learned: in,
	})
	if err != nil {
		t.Fatal(err)
	}
	return results[0].Metrics[0].NDCG
}

// Where the order of events says everything, learned dynamics must win, and the search is the same
// every time.
func TestSearchFindsTheOrder(t *testing.T) {
	p := walks(t)
	first, err := Search(t.Context(), p, Options{Start: start(), MaxRank: 32, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if !first.Complete || first.Best.Candidate.Dynamics != model.DynamicsLearned ||
		first.Best.NDCG < first.Trials[0].NDCG {
		t.Errorf("complete %v, best %v", first.Complete, first.Best)
	}
	var paper float64 // the best of the paper's models
	for _, trial := range first.Trials {
		if !trial.Candidate.learned() {
			paper = max(paper, trial.NDCG)
		}
	}
	if paper == 0 || first.Best.NDCG <= paper+0.02 {
		t.Errorf("learned dynamics reach NDCG@10 %v, the filters %v", first.Best.NDCG, paper)
	}
	second, err := Search(t.Context(), p, Options{Start: start(), MaxRank: 32, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("two searches differ:\n%s", diff)
	}
}

// A search that is stopped and taken up again comes to the same end without measuring anything
// twice.
func TestSearchGoesOn(t *testing.T) {
	p := walks(t)
	whole, err := Search(t.Context(), p, Options{Start: start(), MaxRank: 32, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	var known []Trial
	measured := func(limit int) (*Result, error) {
		n := 0
		return Search(t.Context(), p, Options{
			Start: start(), MaxRank: 32, Seed: 1, Known: slices.Clone(known),
			Stop:  func() bool { return n == limit },
			Tried: func(t, _ Trial) { n++; known = append(known, t) },
		})
	}
	part, err := measured(7)
	if err != nil || part.Complete || len(part.Trials) != 7 {
		t.Fatalf("%d trials, complete %v, %v", len(part.Trials), part.Complete, err)
	}
	rest, err := measured(-1)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole, rest); diff != "" || len(known) != len(whole.Trials) {
		t.Errorf("%d trials measured of %d:\n%s", len(known), len(whole.Trials), diff)
	}
}

func TestSearchErrors(t *testing.T) {
	p := walks(t)
	if _, err := Search(t.Context(), p, Options{Start: start(), MaxRank: 32, Stop: func() bool {
		return true
	}}); err == nil {
		t.Error("no time: no error")
	}
	few := *p
	few.Validation.Ptr, few.Validation.User = p.Validation.Ptr[:4], p.Validation.User[:3]
	if _, err := Search(t.Context(), &few, Options{Start: start(), MaxRank: 32}); err == nil {
		t.Error("3 validation users: no error")
	}
	bad := start()
	bad.Bands = "2"
	if _, err := Search(t.Context(), p, Options{Start: bad, MaxRank: 32}); err == nil ||
		errors.Is(err, errStopped) {
		t.Errorf("bad bands: %v", err)
	}
}
