package quality

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/server/internal/servertest"
	"github.com/gsimc/gsimc/store"
)

// More events than the queue holds are offered, with nobody to measure them: the rest is dropped
// and counted.
func TestOfferNeverWaits(t *testing.T) {
	q := New(1, nil, Deps{Metrics: NewMetrics()})
	for i := range queueSize + 10 {
		q.Offer("u", store.Version{Revision: uint64(i + 1), Mark: 1},
			&store.Event{ID: fmt.Sprint(i), Item: servertest.Item(i % servertest.Items)})
	}
	check.Same(t, queueSize, len(q.queue), "the queue holds events")
	registry := prometheus.NewRegistry()
	registry.MustRegister(q.Metrics.Collectors()...)
	families := check.Get(registry.Gather())(t)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			dropped := f.GetName() == "gsimc_online_dropped_total" &&
				m.GetLabel()[0].GetValue() == "queue"
			if dropped && m.GetCounter().GetValue() != 10 {
				t.Errorf("%v events are counted as dropped, want 10", m.GetCounter().GetValue())
			}
		}
	}
}

// Without a share there is no meter, and it can be used all the same.
func TestNoMeter(t *testing.T) {
	q := New(0, nil, Deps{})
	if q != nil {
		t.Fatal("a meter of a share of 0")
	}
	q.Offer("u", store.Version{Revision: 1, Mark: 1}, &store.Event{})
	q.Run(t.Context())
	q.Close()
}
