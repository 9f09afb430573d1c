package main

import (
	"context"
	"math/rand/v2"
	"sync"

	"github.com/gsimc/gsimc/bench/internal/loadtest"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model"
)

// inProcess is the work on a Recommend that no server can leave out: the query of a user's state
// and the exact top-N without the items of the history.
type inProcess struct {
	m    *model.Model
	page int
	pool sync.Pool // of *search
	mu   sync.Mutex
	rng  *rand.Rand

	states []*kalman.State
	seen   []*ranking.Set
}

// search is the memory of one call.
type search struct {
	query *model.Query
	list  []ranking.Scored
}

// inProcessUsers is the number of users that calls draw from: those of the most requests.
const inProcessUsers = 256

// newInProcess folds the histories that the users have after loading.
func newInProcess(m *model.Model, t *loadtest.Traffic, events int) *inProcess {
	p := &inProcess{m: m, page: t.Page, rng: rand.New(rand.NewPCG(t.Seed, 0))}
	p.pool.New = func() any { return &search{query: m.NewQuery()} }
	for u := range min(t.Users, inProcessUsers) {
		s, seen := m.NewState(), ranking.NewSet(m.NumItems())
		for _, at := range t.Loaded(u, events) {
			if item, ok := m.ItemIndex(t.Items[at]); ok {
				m.Fold(s, model.Event{Item: item, Weight: 1})
				seen.Add(item)
			}
		}
		p.states, p.seen = append(p.states, s), append(p.seen, seen)
	}
	return p
}

// Call implements loadtest.Caller. The request only counts.
func (p *inProcess) Call(context.Context, loadtest.Request) error {
	p.mu.Lock()
	u := p.rng.IntN(len(p.states))
	p.mu.Unlock()
	s := p.pool.Get().(*search)
	defer p.pool.Put(s)
	p.m.QueryTo(s.query, p.states[u], model.EstimatorBGS)
	s.list = p.m.TopN(s.list[:0], s.query, min(p.page, p.m.NumItems()), p.seen[u])
	return nil
}
