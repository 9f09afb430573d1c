package coldstart

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/background"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/borrow"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/ledger"
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
	Now     func() time.Time // by which events without a time got theirs

	// Notices is set if several servers share the store: one of them extends for all.
	Notices *Notices
	// Catalogue has the documents of items, some of which nobody has yet; nil: there are none.
	Catalogue borrow.Catalogue
	// First is set for one of the extenders of a server.
	First bool
	// File keeps what serves for the next start, if the store is not shared; empty: none does.
	File string
}

// An Extender extends the serving model by new items. A nil Extender does nothing.
type Extender struct {
	Deps
	stage  *ledger.Stage
	ledger Ledger
	every  time.Duration
	poll   time.Duration // between looks that are not due; 0: there are none
	recent *recentUsers
	awake  chan struct{}
	near   *borrow.Rows // of items that nobody has

	// reweighed is set by other weights of events. They may be the ones before again at the next
	// look.
	reweighed atomic.Bool

	// Used by the goroutine of Run alone.

	// base is the loaded model that the next fields describe. It is not leased, only compared.
	base      *models.Lease
	described bool // the look is due for what the catalogue says alone
	fixed     bool // base cannot be extended
	warned    bool // it has been logged that an item cannot be folded in

	held []string // items whose borrowed rows do not serve, as rows by their users come next
}

// New returns an extender that looks for new items at this interval, or nil if that is 0.
func New(every time.Duration, d Deps) *Extender {
	if every == 0 {
		return nil
	}
	x := &Extender{
		Deps: d, every: every, recent: newRecentUsers(), awake: make(chan struct{}, 1),
		stage: &ledger.Stage{Models: d.Models, Metrics: d.Metrics, Log: d.Log},
	}
	x.near = borrow.New(d.Catalogue, every,
		func(err error) { x.refused(context.Background(), err) })
	if every > ledger.LongestPoll && (d.Notices != nil || d.Catalogue != nil) {
		x.poll = ledger.LongestPoll
	}
	if d.Notices == nil {
		x.ledger = ledger.NewMemory(x.stage, d.File)
		return x
	}
	x.ledger = ledger.NewShared(d.Notices, d.First, d.Updater, x.stage)
	return x
}

// Observed takes note of an event that has become durable; m is the model that took it in.
func (x *Extender) Observed(m *model.Model, w *state.Written) {
	if x == nil {
		return
	}
	if w.Revision == 1 {
		x.ledger.Arrived()
	}
	x.ledger.Changed(w.Record.User, w.Told())
	if !w.Known || !m.InBase(w.Item) {
		x.noteEvent(m, w.Record.User, w.Record.Event)
	}
}

// Wrote takes note of the users of events that have become durable.
func (x *Extender) Wrote(events []state.Written) {
	if x != nil {
		x.recent.add(events[max(0, len(events)-driftUsers):])
	}
}

func (x *Extender) noteEvent(m *model.Model, user string, e store.Event) {
	if x.isNew(m, &e) {
		// they may be pieces of a large message
		x.ledger.Note(strings.Clone(user), strings.Clone(e.Item))
	}
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
	if x.ledger.Forget(user) {
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
	x.ledger.Arrived()
	x.ledger.Changed(user, nil)
	x.recent.add([]state.Written{{Record: &store.Record{User: user}}})
	for _, e := range history {
		x.noteEvent(m, user, e)
	}
}

// Reweighed takes note of other weights of events. Whoever places the items makes their rows again,
// and searches the store for histories that are evidence by these weights only.
func (x *Extender) Reweighed() {
	if x != nil {
		x.reweighed.Store(true)
		x.Wake()
	}
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

// Restore lets what was kept of new items and trends serve, so that the first calls meet it. It is
// called before Run.
func (x *Extender) Restore(ctx context.Context) {
	if x == nil {
		return
	}
	l := x.Models.Acquire()
	if l == nil {
		return
	}
	defer l.Release()
	x.begin(ctx, l)
	if x.fixed {
		return
	}
	err := x.Guard(ctx, "restoring new items", func() error {
		_, err := x.ledger.Take(ctx, l, false)
		return err
	})
	if err = x.ledger.Done(err); err != nil { // Run tries again
		x.stage.Failed(ctx, "new items and trends do not serve from the start on", err)
	}
}

// Run extends until ctx ends.
func (x *Extender) Run(ctx context.Context) {
	if x == nil {
		return
	}
	var running sync.WaitGroup
	running.Go(func() { x.ledger.Run(ctx) })
	defer running.Wait()
	defer x.near.Begin(nil)
	tick := time.NewTicker(x.every)
	defer tick.Stop()
	var poll <-chan time.Time // never
	if x.poll > 0 {
		poll = time.Tick(x.poll)
	}
	for due, on := true, true; on; due, on = x.wait(ctx, tick.C, poll) {
		err := x.Guard(ctx, "extending the model", func() error { return x.look(ctx, due) })
		if err = x.ledger.Done(err); err != nil && ctx.Err() == nil {
			x.stage.Failed(ctx, "the model could not be extended by new items", err)
		}
	}
	last := context.WithoutCancel(ctx)
	_ = x.Guard(last, "keeping new items", func() error { x.end(last); return nil })
}

// end keeps what is left to be kept.
func (x *Extender) end(ctx context.Context) {
	l := x.Models.Acquire()
	if l == nil {
		return
	}
	defer l.Release()
	if l.Root() == x.base && !x.fixed {
		x.ledger.End(ctx, l)
	}
}

// wait waits for the next look. on is false if ctx ends.
func (x *Extender) wait(ctx context.Context, tick, poll <-chan time.Time) (due, on bool) {
	for {
		select {
		case <-ctx.Done():
			return false, false
		case <-poll:
			x.described = x.near.Due()
			if x.described || x.Notices != nil {
				return x.described, true
			}
		case <-tick:
			x.described = false
			return true, true
		case <-x.awake:
			x.described = false
			return true, true
		}
	}
}

// look does what is to be done for the model that serves: all of it if it is due, else what cannot
// wait.
func (x *Extender) look(ctx context.Context, due bool) error {
	l := x.Models.Acquire()
	if l == nil {
		return nil
	}
	defer l.Release()
	if l.Root() != x.base {
		x.begin(ctx, l)
	}
	var a *ledger.Account
	var err error
	if !x.fixed {
		a, err = x.ledger.Take(ctx, l, due)
	}
	if err == nil && a != nil {
		err = x.extend(ctx, l, a, x.reweighed.Swap(false))
	}
	var drift error
	if due && !x.described { // nobody waits for it, and it reads histories
		drift = x.measureDrift(ctx, l.Model)
	}
	if errors.Is(err, ledger.ErrOtherModel) {
		x.Wake()
		err = nil
	}
	return errors.Join(drift, err)
}

// begin starts anew with another model.
func (x *Extender) begin(ctx context.Context, l *models.Lease) {
	base := l.Base()
	x.base, x.warned, x.held = l.Root(), false, nil
	x.Metrics.Items.Set(0)
	x.recent.renew() // the drift from another training must be measured
	if x.fixed = !base.Personal(); !x.fixed {
		_, err := base.NewEvidence(nil, nil)
		if x.fixed = err != nil; x.fixed {
			x.stage.Failed(ctx, "the model stays without new items", err)
		}
	}
	x.ledger.Begin(base, x.fixed)
	if x.fixed {
		base = nil
	}
	x.near.Begin(base)
}

// extend lets the model serve with the new items as they are now, and searches the store if that is
// still to be done.
func (x *Extender) extend(
	ctx context.Context, l *models.Lease, a *ledger.Account, reweighed bool,
) error {
	if weights := hashOf(x.Updater.Weights()); reweighed || weights != a.Weights {
		a.Weights, a.Searched, a.Tallied = weights, false, false
		a.Samples.Renew()
		a.Unsettle()
	}
	if err := x.inherit(ctx, l, a); err != nil {
		return err
	}
	if err := x.update(ctx, l, a); err != nil {
		return err
	}
	if a.Span == 0 && a.Tallied && !a.Tally.Behind() { // the first trends wait for no row
		if err := x.renewTrends(ctx, l, a); err != nil {
			return err
		}
	}
	if a.Counted && a.More {
		if !a.Tallied || !a.Searched || x.near != nil {
			x.Wake() // the search can wait until all known items have a row
		}
		return x.ledger.Persist(ctx, l)
	}
	if !a.Tallied || !a.Searched {
		if err := x.search(ctx, l, a); err != nil {
			return err
		}
	}
	if err := x.renewTrends(ctx, l, a); err != nil {
		return err
	}
	return x.ledger.Persist(ctx, l)
}

// hashOf is a hash of the weights of events.
func hashOf(weights map[string]float64) uint64 {
	hash := fnv.New64a()
	for _, kind := range slices.Sorted(maps.Keys(weights)) {
		_, _ = hash.Write(append([]byte(kind), 0)) // never fails
		_, _ = hash.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(weights[kind])))
	}
	return hash.Sum64()
}
