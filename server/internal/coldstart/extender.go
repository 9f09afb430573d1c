package coldstart

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/background"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/samples"
	"github.com/gsimc/gsimc/server/internal/models"
	"github.com/gsimc/gsimc/server/internal/state"
	"github.com/gsimc/gsimc/store"
)

// Deps are the parts of the server that an [Extender] uses.
type Deps struct {
	Store   store.Store
	Models  *models.Holder
	Updater *state.Updater // weighs events
	Metrics *Metrics
	Log     *slog.Logger
	Guard   background.Guard

	// Notices is set if several servers share the store: one of them extends for all.
	Notices *Notices
	// First is set for one of the extenders of a server.
	First bool
}

// An Extender extends the serving model by new items. A nil Extender does nothing.
type Extender struct {
	Deps
	every  time.Duration
	items  *samples.Items
	recent *recentUsers
	shared *sharing // nil: no other server has the store
	awake  chan struct{}
	again  atomic.Bool // the store is to be searched again

	// Used by the goroutine of Run alone.

	// base is the loaded model that the next fields describe. It is not leased, only compared.
	base     *models.Lease
	rows     map[string]itemRow // of the items that were folded in, by id
	unserved bool               // rows have changed since an extension was made of them
	searched bool               // the store has been searched for items that are new to base
	fixed    bool               // base cannot be extended
	warned   bool               // it has been logged that an item cannot be folded in

	counted bool // the users of the store: a search has come to its end
}

// itemRow is the outcome of folding in an item.
type itemRow struct {
	item  model.NewItem
	users float64 // of the store, when the item was folded in
	fault bool    // these users give no row
}

// New returns an extender that looks for new items at this interval, or nil if that is 0.
func New(every time.Duration, d Deps) *Extender {
	if every == 0 {
		return nil
	}
	x := &Extender{
		Deps: d, every: every, items: samples.New(), recent: newRecentUsers(),
		awake: make(chan struct{}, 1),
	}
	if d.Notices != nil {
		x.shared = newSharing(x, d.Notices.Store, d.Notices, d.First)
	}
	return x
}

// Observed takes note of an event that has become durable; m is the model that took it in.
func (x *Extender) Observed(m *model.Model, w *state.Written) {
	if x == nil {
		return
	}
	if w.Revision == 1 {
		x.arrived()
	}
	if !w.Known || !m.InBase(w.Item) {
		x.noteEvent(m, w.Record.User, w.Record.Event)
	}
}

// Wrote takes note of the users of the records, which have become durable.
func (x *Extender) Wrote(records []store.Record) {
	if x != nil {
		x.recent.add(records[max(0, len(records)-driftUsers):])
	}
}

func (x *Extender) arrived() {
	switch {
	case x.shared == nil:
		x.items.Add(1)
	case x.shared.first:
		x.shared.notices.arrived()
	}
}

func (x *Extender) noteEvent(m *model.Model, user string, e store.Event) {
	if !x.isNew(m, &e) {
		return
	}
	// they may be pieces of a large message
	user, item := strings.Clone(user), strings.Clone(e.Item)
	if x.shared != nil {
		x.shared.notices.note(user, item)
		return
	}
	x.items.Note(user, item)
}

// isNew reports whether an event is evidence for an item that is new to the base of m.
func (x *Extender) isNew(m *model.Model, e *store.Event) bool {
	i, known := m.ItemIndex(e.Item)
	return (!known || !m.InBase(i)) && x.Updater.Weight(e) > 0
}

// Forget lets go of an erased user. Items that the user's history was evidence for are folded in
// anew.
func (x *Extender) Forget(user string) {
	if x == nil {
		return
	}
	x.recent.forget(user)
	if x.shared != nil {
		x.shared.notices.forget(user, x.shared.first)
		return
	}
	if x.items.Forget(user) {
		x.Wake()
	}
}

// Rewrote takes note of a user whose history is another one now; had tells whether there was one
// before. m is the serving model.
func (x *Extender) Rewrote(m *model.Model, user string, had bool, history []store.Event) {
	if x == nil {
		return
	}
	if had {
		x.Forget(user)
	}
	if len(history) == 0 {
		return
	}
	x.arrived()
	x.recent.add([]store.Record{{User: user}})
	for _, e := range history {
		x.noteEvent(m, user, e)
	}
}

// Reweighed takes note of other weights of events. The rows of new items are made again, and the
// store is searched for histories that are evidence by these weights only.
func (x *Extender) Reweighed() {
	if x == nil {
		return
	}
	if x.shared == nil { // otherwise the owner compares the weights
		x.items.Renew()
		x.again.Store(true)
	}
	x.Wake()
}

// Wake makes the extender look at once. It never waits.
func (x *Extender) Wake() {
	if x == nil {
		return
	}
	select {
	case x.awake <- struct{}{}:
	default: // it will look anyway
	}
}

// Run extends until ctx ends.
func (x *Extender) Run(ctx context.Context) {
	if x == nil {
		return
	}
	if x.shared != nil {
		x.shared.run(ctx)
		return
	}
	tick := time.NewTicker(x.every)
	defer tick.Stop()
	for {
		err := x.Guard(ctx, "extending the model", func() error { return x.extend(ctx) })
		if err != nil && ctx.Err() == nil {
			x.failed(ctx, "the model could not be extended by new items", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-x.awake:
		}
	}
}

// failed counts and logs a failure.
func (x *Extender) failed(ctx context.Context, what string, err error) {
	x.Metrics.failures.Inc()
	x.Log.LogAttrs(ctx, slog.LevelWarn, what, slog.String("error", err.Error()))
}

// extend measures the drift, lets the model serve with the new items as they are now, and searches
// the store if that is still to be done.
func (x *Extender) extend(ctx context.Context) error {
	l := x.Models.Acquire()
	if l == nil {
		return nil
	}
	defer l.Release()
	if l.Root() != x.base {
		x.begin(ctx, l)
	}
	if x.again.Swap(false) {
		x.searched = false
	}
	if err := x.measureDrift(ctx, l.Model); err != nil {
		return err
	}
	if x.fixed {
		return nil
	}
	if x.counted {
		more, err := x.update(ctx, l)
		if err != nil || x.searched {
			return err
		}
		if more {
			x.Wake() // the search can wait until all known items have a row
			return nil
		}
	}
	return x.search(ctx, l)
}

// begin starts anew with another model. Items that are new to both models stay.
func (x *Extender) begin(ctx context.Context, l *models.Lease) {
	base := l.Base()
	x.base, x.rows, x.searched, x.warned = l.Root(), map[string]itemRow{}, false, false
	x.unserved = false
	x.Metrics.items.Set(0)
	x.items.Keep(func(item string) bool { _, known := base.ItemIndex(item); return !known })
	x.recent.renew() // the drift from another training must be measured
	if x.fixed = !base.Personal(); x.fixed {
		return
	}
	_, err := base.NewEvidence(nil, nil)
	if x.fixed = err != nil; x.fixed {
		x.failed(ctx, "the model stays without new items", err)
	}
}
