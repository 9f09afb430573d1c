// Package quality measures how well models foresee the behaviour of users: for a sampled share of
// the events it finds the rank that the item had just before, among the items that the user had not
// seen, as Recommend would have listed them. Each event is measured by the model that answers its
// user, one of several arms, and by a shadow model, if there is one.
//
// An event counts if its weight is above 0, its item is new to the user, and the catalogue shows it
// at the time that it is measured; the list has no repeats, and nothing that the catalogue does not
// show. For a user without usable history, above all before a first event, the list is that of
// popular items, as in Recommend. An item that a model does not know comes after all that it knows.
// So every model is measured on the same events.
//
// The state before an event is a replay of the history up to that event, not a copy of the cached
// state: the store knows exactly which events came before, and the acknowledgement waits only for a
// draw and a queue. A replay costs less than the scan that follows. One goroutine measures, for at
// most the share dutyCycle of its time. Events that find the queue full are dropped and counted.
package quality

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/background"
	"github.com/gsimc/gsimc/server/internal/catalogue"
	"github.com/gsimc/gsimc/server/internal/models"
	"github.com/gsimc/gsimc/server/internal/state"
	"github.com/gsimc/gsimc/store"
)

// Deps are the parts of the server that a [Meter] uses.
type Deps struct {
	Store store.Store
	// Models are those of the arms; the first is that of main.
	Models []*models.Holder
	// Arms are the names of the arms, and ArmOf is the arm of a user.
	Arms  []string
	ArmOf func(user string) int
	// Measured, if not nil, is told each rank that an arm gave with a model of a version.
	Measured  func(arm int, version string, rank int)
	Updater   *state.Updater
	Estimator model.Estimator
	Catalogue *catalogue.Catalogue // nil: all items are shown
	Now       func() time.Time
	Metrics   *Metrics
	Guard     background.Guard
}

// A Meter measures sampled events. A nil Meter does nothing.
type Meter struct {
	Deps
	share  float64
	queue  chan sample
	shadow *model.Model // nil: none

	arms     []*armEvaluator
	ofShadow *evaluator // nil: none
}

// armEvaluator ranks by the model of an arm.
type armEvaluator struct {
	evaluator

	version string // of the model's file; the recalls count the events since it was loaded
}

// sample is an event to be measured.
type sample struct {
	user    string
	version store.Version // of the history with the event
	item    string
}

const (
	queueSize = 1024
	dutyCycle = 0.02 // share of the time spent on measuring
)

// New returns a meter that samples this share of the events, from 0 to 1, or nil if that is 0.
// shadow may be nil; the meter closes it.
func New(share float64, shadow *model.Model, d Deps) *Meter {
	if share == 0 {
		return nil
	}
	q := &Meter{Deps: d, share: share, shadow: shadow, queue: make(chan sample, queueSize)}
	for i, name := range d.Arms {
		of := d.Metrics.serving
		if i > 0 {
			of = d.Metrics.of(name)
		}
		q.arms = append(q.arms, &armEvaluator{evaluator: evaluator{metrics: of}})
	}
	if shadow != nil {
		q.ofShadow = &evaluator{metrics: d.Metrics.shadow}
		if d.Catalogue != nil {
			q.ofShadow.items = d.Catalogue.View(shadow.NumItems(), shadow.ItemIndex)
		}
	}
	return q
}

// Offer draws whether the last event of the user's history of a version is measured, and queues it.
// It never waits.
func (q *Meter) Offer(user string, v store.Version, e *store.Event) {
	if q == nil || background.Draw(user, v.Revision) >= q.share {
		return
	}
	// The strings may be pieces of a large message.
	s := sample{strings.Clone(user), v, strings.Clone(e.Item)}
	select {
	case q.queue <- s:
	default:
		q.Metrics.dropped.queue.Inc()
	}
}

// Close gives the shadow model back, once Run has returned.
func (q *Meter) Close() {
	if q != nil && q.shadow != nil {
		if q.ofShadow.items != nil {
			q.ofShadow.items.Close()
		}
		_ = q.shadow.Close() // a file that was only read
	}
}

// Run measures until ctx ends.
func (q *Meter) Run(ctx context.Context) {
	if q == nil {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-q.queue:
			began := time.Now()
			err := q.Guard(ctx, "live quality", func() error { return q.measure(ctx, s) })
			if err != nil && ctx.Err() == nil {
				q.Metrics.dropped.failed.Inc()
			}
			if background.Rest(ctx, time.Since(began), dutyCycle) != nil {
				return
			}
		}
	}
}

var (
	errReached = errors.New("server: the event to be measured is reached")
	errRepeat  = errors.New("server: the item was seen before")
	// the user was erased, and came back
	errOtherLife = errors.New("server: the history is another one")
)

// measure ranks the item of the sample by the models that measure its user, and counts the ranks.
func (q *Meter) measure(ctx context.Context, s sample) error {
	if q.Catalogue != nil && !q.Catalogue.Shows(s.item, q.Now()) {
		return nil
	}
	arm := q.ArmOf(s.user)
	of := q.arms[arm]
	l := q.Models[arm].Acquire()
	defer l.Release()
	of.begin(l.Model, l.Items)
	by := []*evaluator{&of.evaluator}
	if q.shadow != nil {
		q.ofShadow.begin(q.shadow, q.ofShadow.items)
		by = append(by, q.ofShadow)
	}
	event, err := q.replay(ctx, s, by)
	switch {
	case errors.Is(err, errRepeat):
		return nil
	// the user was erased, and perhaps came back
	case err == nil || errors.Is(err, errOtherLife):
		q.Metrics.dropped.erased.Inc()
		return nil
	case !errors.Is(err, errReached):
		return err
	case !(q.Updater.Weight(&event) > 0):
		return nil
	}
	for _, e := range by {
		e.skip(q.Now())
	}
	q.count(arm, l.Base(), s.item)
	return nil
}

// count ranks the item by the model of an arm, made of base, and by the shadow model.
func (q *Meter) count(arm int, base *model.Model, item string) {
	of := q.arms[arm]
	if version := base.Version(); version != of.version {
		of.version = version
		of.metrics.restart()
		if arm == 0 {
			q.Metrics.shadow.restart()
			q.Metrics.withoutTrends.restart()
		}
	}
	rank := of.rank(of.model, item, q.Estimator)
	if spec := base.Spec().Trend; arm == 0 && !spec.None() {
		plain := rank
		if m := of.model.WithoutTrends(); m != of.model {
			plain = of.rank(m, item, q.Estimator)
		}
		q.Metrics.withoutTrends.observe(plain)
	}
	of.metrics.observe(rank)
	if q.shadow != nil {
		q.ofShadow.metrics.observe(q.ofShadow.rank(q.shadow, item, q.Estimator))
	}
	if q.Measured != nil {
		q.Measured(arm, of.version, rank)
	}
}

// replay folds the history of the sample's user up to the event, which it returns with errReached.
// It returns errRepeat if the item stands in the history, and nil if the history does not come to
// the event.
func (q *Meter) replay(
	ctx context.Context, s sample, by []*evaluator,
) (event store.Event, err error) {
	fold := func(v store.Version, e store.Event) error {
		switch {
		case v == s.version:
			event = e
			return errReached
		case v.Revision == s.version.Revision:
			return errOtherLife
		case e.Item == s.item:
			return errRepeat
		}
		for _, v := range by {
			q.Updater.Fold(v.model, v.state, e)
		}
		return nil
	}
	_, _, err = q.Store.Since(ctx, s.user, store.Version{}, fold)
	return event, err
}
