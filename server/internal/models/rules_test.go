package models

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/catalogue"
	"github.com/gsimc/gsimc/server/internal/servertest"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// A model with rules is made once for all who want it, kept for those who come again, and made anew
// when the catalogue has changed, or when the minute has and an age counts.
func TestRule(t *testing.T) {
	h := check.Get(Open(func() (*model.Model, error) { return servertest.NewModel(t, 1), nil },
		time.Now, NewMetrics()))(t)
	defer h.Close()
	items := check.Get(catalogue.Open(t.Context(), memory.New(), time.Now(), catalogue.Bounds{}))(t)
	h.UseCatalogue(items)
	l, now := h.Acquire(), time.Unix(6000, 0)
	defer l.Release()
	rule := func(ctx context.Context, now time.Time, boosts ...catalogue.Boost) (*Ruled, error) {
		return l.Rule(ctx, l.Model, boosts, now, model.EstimatorGS)
	}
	all := catalogue.Boost{Name: "all", Weight: 2}
	fresh := catalogue.Boost{Weight: 1,
		By: catalogue.Curve{Number: "released", Shape: catalogue.Age, Scale: 60}}
	made := make([]*Ruled, 8)
	var wait sync.WaitGroup
	for i := range made {
		wait.Go(func() { made[i], _ = rule(t.Context(), now, all, fresh) })
	}
	wait.Wait()
	for i := range made {
		if made[i] == nil || made[i] != made[0] {
			t.Fatalf("asker %d has %p, not %p", i, made[i], made[0])
		}
	}
	again := func(now time.Time, boosts ...catalogue.Boost) *Ruled {
		return check.Get(rule(t.Context(), now, boosts...))(t)
	}
	if again(now.Add(59*time.Second), all, fresh) != made[0] {
		t.Error("within a minute there is another one")
	}
	if again(now.Add(time.Minute), all, fresh) == made[0] {
		t.Error("a minute later it is the same")
	}
	if again(now, all) != again(now.Add(time.Hour), all) {
		t.Error("without ages an hour counts")
	}
	if again(now, all) == again(now, catalogue.Boost{Name: "ours", Weight: 2}) {
		t.Error("another name does not count")
	}
	before := again(now, all, fresh)
	check.Get(items.Upsert(t.Context(), catalogue.Change{IDs: []string{l.ItemID(0)}, Whole: true,
		Apply: func(_ int, item *store.Item) error {
			item.Numbers = map[string]float64{"released": 6000}
			return nil
		}}))(t)
	after := again(now, all, fresh)
	if unit := l.spread(model.EstimatorGS); after.Added(1) != before.Added(1) ||
		after.Added(0) != float64(float32(3*unit)) || before.Added(0) != float64(float32(2*unit)) {
		t.Errorf("%v and %v are added, before %v and %v", after.Added(0), after.Added(1),
			before.Added(0), before.Added(1))
	}
	for i := range 2 * maxRuled {
		again(now, catalogue.Boost{Weight: float64(i)})
	}
	check.Same(t, maxRuled, len(l.rules.kept), "models that are kept")
	l.rules.end()
	if first := again(now, all); again(now, all) == first || len(l.rules.kept) != 0 {
		t.Error("a lease that no longer serves keeps models")
	}
	l.rules.turn <- struct{}{} // somebody makes another one
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := rule(ended, now, fresh); !errors.Is(err, context.Canceled) {
		t.Errorf("who no longer waits gets %v", err)
	}
	<-l.rules.turn
}
