package credit

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// A guard counts what may not get worse for users with another model, whatever they take: how long
// the calls of an arm last, and how many fail.
type guard struct {
	calls, failed, nanoseconds atomic.Int64

	ok, bad, seconds prometheus.Counter
}

// newGuards returns a guard for each arm.
func newGuards(d Deps) []*guard {
	guards := make([]*guard, len(d.Arms))
	for i, arm := range d.Arms {
		guards[i] = &guard{ok: d.Metrics.calls.WithLabelValues(arm, "ok"),
			bad:     d.Metrics.calls.WithLabelValues(arm, "failed"),
			seconds: d.Metrics.seconds.WithLabelValues(arm)}
	}
	return guards
}

// Answered counts a call of Recommend for a user that an arm has answered, or failed to answer
// though the request was good.
func (b *Book) Answered(arm int, took time.Duration, failed bool) {
	if b.tally == nil {
		return
	}
	g := b.tally.guards[arm]
	g.calls.Add(1)
	g.nanoseconds.Add(int64(took))
	g.seconds.Add(took.Seconds())
	if failed {
		g.failed.Add(1)
		g.bad.Inc()
		return
	}
	g.ok.Inc()
}
