package quality

import (
	"github.com/gsimc/gsimc/server/internal/state"
	"github.com/gsimc/gsimc/store"
)

// Observed offers each of the events that have become durable, see [Meter.Offer].
func (q *Meter) Observed(events []state.Written) {
	if q == nil {
		return
	}
	for i := range events {
		w := &events[i]
		q.Offer(w.Record.User, w.Version, &w.Record.Event)
	}
}

// Forgot does nothing: a sample whose history has gone is dropped when its turn comes.
func (q *Meter) Forgot(string) {}

// Rewrote does nothing, see [Meter.Forgot].
func (q *Meter) Rewrote(string, bool, []store.Event) {}

// Reweighed does nothing: events are weighed when they are measured.
func (q *Meter) Reweighed() {}
