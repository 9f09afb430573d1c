package models

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/catalogue"
)

const (
	// maxRuled is the number of models with rules that a lease keeps. One takes 12 bytes an item.
	maxRuled = 8
	// ruleSpan is how long the ages of items stand still.
	ruleSpan = time.Minute
)

// rules keeps the models with rules that a lease was asked for last.
type rules struct {
	// turn is held by the call that makes a model with rules. One call makes one at a time: calls
	// with the same boosts wait for its model, and boosts that never come again leave processors to
	// lists without any.
	turn chan struct{}

	mu    sync.Mutex
	kept  []*Ruled // the one that was used last is the first
	ended bool     // the lease no longer serves: nothing is kept
}

// Ruled is the model of a lease with the rules that some boosts are.
type Ruled struct {
	*model.Model

	of      *model.Model // without the rules
	items   *catalogue.View
	added   []float32         // by all boosts, to each item
	boosts  []catalogue.Boost // with weights in units of scores
	unit    float64           // of weights, in scores
	now     time.Time         // of their ages
	key     []byte            // of the boosts and of that time
	changes uint64            // of the catalogue
}

// Rule returns the model m of the lease, with its trends or without, with what boosts add to scores
// at a time. The weights of boosts are in spreads of the model, see [Lease.spread]. The error is
// that of ctx.
func (l *Lease) Rule(
	ctx context.Context, m *model.Model, boosts []catalogue.Boost, now time.Time,
	est model.Estimator,
) (*Ruled, error) {
	now = now.Truncate(ruleSpan)
	key, changes := ruleKey(boosts, now), l.Items.Changes()
	if r := l.rules.find(m, key, changes); r != nil {
		return r, nil
	}
	select {
	case l.rules.turn <- struct{}{}:
		defer func() { <-l.rules.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if r := l.rules.find(m, key, changes); r != nil { // made meanwhile
		return r, nil
	}
	r := &Ruled{of: m, items: l.Items, boosts: slices.Clone(boosts), now: now, key: key,
		changes: l.Items.Changes(), unit: l.spread(est)}
	for at := range r.boosts {
		r.boosts[at].Weight *= r.unit
	}
	added, err := l.added(ctx, r)
	if err != nil {
		return nil, err
	}
	if r.added, r.Model = added, m; m.Personal() {
		r.Model = m.WithRules(added)
	}
	l.rules.keep(r)
	return r, nil
}

// ruleKey is equal for equal boosts, if they add the same at their times.
func ruleKey(boosts []catalogue.Boost, now time.Time) (key []byte) {
	for at := range boosts {
		if key = boosts[at].AppendKey(key); boosts[at].By.Shape == catalogue.Age {
			key = binary.AppendVarint(key, now.Unix())
		}
	}
	return key
}

// added is what the boosts of r add to each item. Requires the turn.
func (l *Lease) added(ctx context.Context, r *Ruled) ([]float32, error) {
	sums := make([]float64, l.NumItems())
	for at := range r.boosts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r.items.AddTo(sums, &r.boosts[at], r.now)
	}
	added := make([]float32, len(sums))
	for i, sum := range sums {
		added[i] = float32(sum)
	}
	return added, nil
}

// Names are those of the boosts.
func (r *Ruled) Names() (names []string) {
	for _, b := range r.boosts {
		names = append(names, b.Name)
	}
	return names
}

// Added is what all boosts add to an item.
func (r *Ruled) Added(item int32) float64 { return float64(r.added[item]) }

// Spreads is [Ruled.Added] in units of weights.
func (r *Ruled) Spreads(item int32) float64 { return r.Added(item) / r.unit }

// Gains returns what each boost adds to each of some items, boost by boost, by the catalogue of
// now.
func (r *Ruled) Gains(items []int32) (gains [][]float64) {
	for at := range r.boosts {
		gains = append(gains, r.items.GainsOf(items, &r.boosts[at], r.now))
	}
	return gains
}

// find returns the model with the rules of a key, of a time at or after some changes, or nil.
func (r *rules) find(of *model.Model, key []byte, changes uint64) *Ruled {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := slices.IndexFunc(r.kept, func(k *Ruled) bool {
		return k.of == of && k.changes >= changes && slices.Equal(k.key, key)
	})
	if at < 0 {
		return nil
	}
	found := r.kept[at]
	r.kept = slices.Insert(slices.Delete(r.kept, at, at+1), 0, found)
	return found
}

// keep keeps a model with rules, and none of before the last change of the catalogue.
func (r *rules) keep(made *Ruled) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	kept := slices.DeleteFunc(r.kept, func(k *Ruled) bool { return k.changes < made.changes })
	kept = slices.Insert(kept, 0, made)
	r.kept = slices.Delete(kept, min(maxRuled, len(kept)), len(kept))
}

// end forgets what is kept. Lists that are still under way make their own.
func (r *rules) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept, r.ended = nil, true
}

// SpreadPlace is the place on a list whose score is a spread below the first.
const SpreadPlace = 100

const spreadHistories = 16

// spread is the unit of weights, since scores have none: by how much the first score of a list is
// above the hundredth, in the median over the 16 most popular items of the loaded model, which has
// neither trends nor rules, as histories of one event each. It is 1 if there is no such distance,
// or the model has no scores.
func (l *Lease) spread(est model.Estimator) float64 {
	root := l.Root()
	root.measured.Do(func() { root.unit = spreadOf(root.Model, est) })
	return root.unit
}

func spreadOf(m *model.Model, est model.Estimator) float64 {
	if !m.Personal() {
		return 1
	}
	var batch []ranking.Request
	for _, item := range m.Popular()[:min(m.NumItems(), spreadHistories)] {
		q, skip := m.NewQuery(), ranking.NewSet(m.NumItems())
		m.QueryTo(q, m.StateOf(model.History{{Item: item, Weight: 1}}), est)
		skip.Add(item)
		batch = append(batch, ranking.Request{Query: q.Spectrum, Boosts: q.Boosts, Skip: skip,
			N: SpreadPlace})
	}
	m.TopNBatch(batch)
	var spreads []float64
	for _, r := range batch {
		if last := len(r.Top) - 1; last > 0 {
			spreads = append(spreads, float64(r.Top[0].Score)-float64(r.Top[last].Score))
		}
	}
	slices.Sort(spreads)
	if middle := len(spreads) / 2; len(spreads) > 0 && spreads[middle] > 0 {
		return spreads[middle]
	}
	return 1
}
