package evaluate_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/learn/evaluate"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/spectral"
)

// banditModel learns a catalogue of two halves: every user likes items of one of them.
func banditModel(t *testing.T, deviation bool) (*model.Model, []model.History) {
	t.Helper()
	const items, users = 40, 120
	rng := rand.New(rand.NewPCG(1, 2))
	inc := &spectral.Incidence{NumItems: items, Ptr: []int64{0}}
	var histories []model.History
	for u := range users {
		var h model.History
		for _, i := range rng.Perm(items / 2)[:8] {
			at := int32(i + u%2*items/2)
			inc.Item = append(inc.Item, at)
			h = append(h, model.Event{Item: at, Weight: 1, Time: int64(len(h))})
		}
		inc.Ptr = append(inc.Ptr, int64(len(inc.Item)))
		histories = append(histories, h)
	}
	basis, err := spectral.Solve(inc, spectral.Options{
		Graph: spectral.Graph{Kind: spectral.Hypergraph, DegreeExponent: 1}, Rank: 8, Seed: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, items)
	for i := range names {
		names[i] = string(rune('A' + i))
	}
	spec := model.DefaultSpec()
	spec.TrainUsers = users
	spec.Dynamics = model.DynamicsSpec{
		Kind: model.DynamicsLearned, Bands: []kalman.Band{{Rho: 0.9}}, Ridge: 0.1,
		Deviation: deviation,
	}
	m, err := model.New(spec, basis, names, model.Histories{
		Train: slices.Values(histories[:80]), Validation: histories[80:100],
	})
	if err != nil {
		t.Fatal(err)
	}
	return m, histories[100:]
}

// TestBandit: once a list has shown which half a user likes, the hits come; a policy compared with
// itself gains nothing; the numbers are those of the seed.
func TestBandit(t *testing.T) {
	m, histories := banditModel(t, true)
	b := evaluate.Bandit{Impressions: 25, List: 5, Hits: 3, Seed: 1}
	policies := append(evaluate.Policies(), evaluate.Policy{Kind: evaluate.Greedy})
	results, err := b.Run(m, histories, policies)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		// By chance 25 of 40 items have 5 of the 8; knowing the half, all.
		if r.Users != len(histories) || r.Hits.Mean < 6 || r.Hits.Mean > 8 {
			t.Errorf("%v: %v hits in %d users, want above 6 and at most 8", r.Policy, r.Hits,
				r.Users)
		}
		if r.Reached.Mean < 0.9 || r.First.Mean < float64(b.Hits) ||
			r.First.Mean > float64(b.Impressions) {
			t.Errorf("%v: %d hits after %v items by %v of the users", r.Policy, b.Hits, r.First,
				r.Reached)
		}
		if d := r.Hits.Mean - results[0].Hits.Mean - r.MoreHits.Mean; math.Abs(d) > 1e-9 {
			t.Errorf("%v: %v hits, %v gained on %v", r.Policy, r.Hits, r.MoreHits, results[0].Hits)
		}
	}
	if last := results[len(results)-1]; last.MoreHits != (evaluate.Mean{}) ||
		last.Earlier != (evaluate.Mean{}) {
		t.Errorf("greedy gains %v and %v on itself", last.MoreHits, last.Earlier)
	}
	again, err := b.Run(m, histories, policies)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(results, again); d != "" {
		t.Errorf("another run with the same seed (-first +second):\n%s", d)
	}
	b.Impressions, b.Users = 1000, 7 // more than there are items
	if results, err = b.Run(m, histories, policies); err != nil || results[0].Users != 7 ||
		results[0].Hits.Mean != 8 {
		t.Errorf("all items shown to 7 users: %+v, %v; want 8 hits each", results[0], err)
	}
}

func TestBanditRefuses(t *testing.T) {
	m, histories := banditModel(t, false)
	if _, err := evaluate.DefaultBandit().Run(m, histories, evaluate.Policies()); err == nil {
		t.Error("no error for a model without variance")
	}
	m, _ = banditModel(t, true)
	if _, err := evaluate.DefaultBandit().Run(m, nil, evaluate.Policies()); err == nil {
		t.Error("no error without users")
	}
}
