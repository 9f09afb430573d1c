package evaluate

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"

	"github.com/gsimc/gsimc/internal/num/stat"

	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/model"
)

// Bandit is a simulation of new users. A user begins without history and is shown one list after
// the other. A shown item that the user took according to the data is a hit and becomes the next
// event. Any other item is a miss and tells nothing. No item is shown twice.
//
// It follows the replay method of Li et al., "Unbiased Offline Evaluation of
// Contextual-bandit-based News Article Recommendation Algorithms", WSDM 2011, with one difference.
// The data do not say which items were shown, so an item that they do not have counts as a miss
// instead of being left out. The figures are therefore lower bounds, and they favour policies that
// show the same items as the system that gathered the data.
type Bandit struct {
	Users       int    // largest number of users, evenly spaced; 0: all
	Impressions int    // items shown to each user, in all
	List        int    // items in a list; a policy learns from the hits of a list after it
	Hits        int    // number of hits that is a success
	Seed        uint64 // of the random draws
	Progress    func(done, total int)
}

// DefaultBandit shows 20 lists of 10 and measures the way to 3 hits.
func DefaultBandit() Bandit { return Bandit{Impressions: 200, List: 10, Hits: 3, Seed: 1} }

// Policy is a way to choose lists. Beta is the number of standard deviations by which it explores.
type Policy struct {
	Kind string  `json:"policy"` // Greedy, Thompson or UpperConfidence
	Beta float64 `json:"beta"`
}

// The kinds of policies, as a server has them.
const (
	Greedy          = "greedy"   // popular items until the first hit, then the largest scores
	Thompson        = "thompson" // a draw of the query for each list
	UpperConfidence = "ucb"      // score + Beta standard deviations
)

// Policies returns the policies to compare. The first is the baseline of the others.
func Policies() []Policy {
	return []Policy{
		{Greedy, 0}, {Thompson, 0.3}, {Thompson, 1}, {UpperConfidence, 0.3}, {UpperConfidence, 1},
	}
}

// Mean is a mean over users with its standard error.
type Mean struct {
	Mean   float64 `json:"mean"`
	StdErr float64 `json:"stderr"`
}

// BanditResult holds the figures of one policy.
type BanditResult struct {
	Policy
	Users int  `json:"users"`
	Hits  Mean `json:"hits"` // in all impressions

	// First counts the impressions until the wanted number of hits: all of them for a user who
	// never reached it.
	First    Mean `json:"impressions"`
	Reached  Mean `json:"reached"`           // share of users with the wanted number of hits
	MoreHits Mean `json:"hits_gained"`       // Hits minus those of the first policy, by user
	Earlier  Mean `json:"impressions_saved"` // First of the first policy minus First, by user
}

// Run simulates every history of more than Hits events with each policy. m must know its variance
// (model.Model.HasVariance). The results depend on the seed and not on the number of processors.
func (b Bandit) Run(
	m *model.Model, histories []model.History, policies []Policy,
) ([]BanditResult, error) {
	if !m.HasVariance() {
		return nil, errors.New("the model does not know its uncertainty, so it cannot explore: " +
			"learn dynamics with deviation")
	}
	var users []model.History
	for _, h := range histories {
		if len(h) > b.Hits {
			users = append(users, h)
		}
	}
	if b.Users > 0 && len(users) > b.Users {
		for u := range b.Users {
			users[u] = users[u*len(users)/b.Users]
		}
		users = users[:b.Users]
	}
	if len(users) == 0 {
		return nil, errors.New("no test user has enough events to simulate")
	}
	hits, first := make([][]float64, len(policies)), make([][]float64, len(policies))
	for p := range policies {
		hits[p], first[p] = make([]float64, len(users)), make([]float64, len(users))
	}
	var done atomic.Int64
	total := len(policies) * len(users)
	parallel.TasksWith(total, func() func(int) {
		w := newBanditUser(b, m)
		return func(i int) {
			p, u := i%len(policies), i/len(policies)
			h, f := w.run(policies[p], users[u], rand.New(rand.NewPCG(b.Seed, uint64(u))))
			hits[p][u], first[p][u] = float64(h), float64(f)
			if d := int(done.Add(1)); b.Progress != nil && d%64 == 0 {
				b.Progress(d, total)
			}
		}
	})
	var out []BanditResult
	for p, policy := range policies {
		r := BanditResult{
			Policy: policy, Users: len(users), Hits: meanOf(hits[p]), First: meanOf(first[p]),
		}
		reached := make([]float64, len(users))
		for u := range users {
			if int(hits[p][u]) >= b.Hits {
				reached[u] = 1
			}
		}
		r.Reached = meanOf(reached)
		r.MoreHits, r.Earlier = meanOf(stat.Difference(hits[p], hits[0])),
			meanOf(stat.Difference(first[0], first[p]))
		out = append(out, r)
	}
	return out, nil
}

// banditUser is the working memory of one simulated user.
type banditUser struct {
	Bandit
	m            *model.Model
	query, draw  *model.Query
	p            []float32
	liked, shown *ranking.Set
	list         []ranking.Scored
}

func newBanditUser(b Bandit, m *model.Model) *banditUser {
	k, n := m.Rank(), m.NumItems()
	return &banditUser{
		Bandit: b, m: m, query: m.NewQuery(), draw: m.NewQuery(), p: make([]float32, k),
		liked: ranking.NewSet(n), shown: ranking.NewSet(n),
	}
}

// run shows lists to a user with the history h. Time stands still. It returns the number of hits,
// and the number of items shown until the wanted number of hits was reached.
func (w *banditUser) run(policy Policy, h model.History, rng *rand.Rand) (hits, first int) {
	w.liked.Clear()
	w.shown.Clear()
	for _, e := range h {
		w.liked.Add(e.Item)
	}
	state, first := w.m.NewState(), w.Impressions
	for impressions := 0; impressions < w.Impressions; {
		w.m.QueryTo(w.query, state, model.EstimatorBGS)
		w.m.VarianceTo(w.p, state, 0)
		w.choose(policy, hits > 0, min(w.List, w.Impressions-impressions), rng)
		if len(w.list) == 0 { // nothing is left to show
			break
		}
		for _, s := range w.list {
			impressions++
			w.shown.Add(s.Item)
			if !w.liked.Has(s.Item) {
				continue
			}
			if hits++; hits == w.Hits {
				first = impressions
			}
			w.m.Fold(state, model.Event{Item: s.Item, Weight: 1})
		}
	}
	return hits, first
}

// choose stores the next n items of a policy in w.list.
func (w *banditUser) choose(policy Policy, known bool, n int, rng *rand.Rand) {
	switch {
	case policy.Kind == Thompson:
		w.m.SampleTo(w.draw, w.query, w.p, policy.Beta, rng.Uint64())
		w.list = w.m.TopN(w.list[:0], w.draw, n, w.shown)
	case policy.Kind == UpperConfidence:
		w.list = w.m.TopNUpperConfidence(w.list[:0], w.query, w.p, float32(policy.Beta), n, w.shown)
	case known:
		w.list = w.m.TopN(w.list[:0], w.query, n, w.shown)
	default:
		w.list = w.list[:0]
		for _, i := range w.m.Popular() {
			if len(w.list) < n && !w.shown.Has(i) {
				w.list = append(w.list, ranking.Scored{Item: i})
			}
		}
	}
}

func meanOf(x []float64) Mean {
	mean, stderr := stat.Mean(x)
	return Mean{Mean: mean, StdErr: stderr}
}
