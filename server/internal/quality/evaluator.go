package quality

import (
	"time"

	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/catalogue"
	"github.com/gsimc/gsimc/server/internal/state"
)

// evaluator ranks by one model.
type evaluator struct {
	metrics *modelMetrics
	model   *model.Model
	items   *catalogue.View // in the rows of the model; nil: no catalogue
	state   *state.User

	query  *model.Query
	scores []float32
	seen   *ranking.Set
	barred catalogue.Selection
}

// begin makes the state that of an empty history under m, of whose items it shows some.
func (e *evaluator) begin(m *model.Model, items *catalogue.View) {
	e.model, e.items = m, items
	if e.state == nil {
		e.state = &state.User{}
	}
	e.state.Reset(m)
	if e.query == nil || len(e.query.Spectrum) != m.Rank() || len(e.scores) != m.NumItems() {
		e.query, e.scores = m.NewQuery(), make([]float32, m.NumItems())
		e.seen = ranking.NewSet(m.NumItems())
	}
}

// skip makes seen the items that a list at a time does not have.
func (e *evaluator) skip(now time.Time) {
	e.seen.Clear()
	for _, s := range e.state.Seen {
		e.seen.Add(s.Item)
	}
	if e.items == nil {
		return
	}
	if e.items.Select(&e.barred, &catalogue.Filter{}, now, true); e.barred.Skip != nil {
		e.seen.AddAll(e.barred.Skip)
	}
}

// rank returns the rank of the item by m, which is the model with or without its trends. It follows
// skip.
func (e *evaluator) rank(m *model.Model, item string, est model.Estimator) int {
	rank := m.NumItems() + 1
	if target, known := m.ItemIndex(item); known {
		if e.state.Usable() {
			m.QueryTo(e.query, e.state.Kalman, est)
			m.ScoresTo(e.scores, e.query)
			rank = ranking.Of(e.scores, target, e.seen)
		} else {
			rank = rankByPopularity(m, target, e.seen)
		}
	}
	return rank
}

// rankByPopularity returns the rank of the target, from 1, in the list of popular items.
func rankByPopularity(m *model.Model, target int32, skip *ranking.Set) int {
	rank := 1
	for _, i := range m.Popular() {
		if i == target {
			break
		}
		if !skip.Has(i) {
			rank++
		}
	}
	return rank
}
