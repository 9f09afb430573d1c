package server

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/models"
	"github.com/gsimc/gsimc/server/internal/state"
	"github.com/gsimc/gsimc/store"
)

// Bounds of one extension.
const (
	extendReads   = 20_000 // histories that are read; items beyond it wait for the next time
	extendHistory = 1_000  // newest different items of a history that count
	maxUpscale    = 4      // how many training users a user of the store may stand for
	settled       = 0.05   // relative change in the number of users below which a row stays as it is
	extendIdle    = 2      // of so many seconds one is spent on reading histories
)

// extender extends the serving model by items that events name and it does not know. One goroutine does it, every
// ExtendEvery and at once after a reload: it places the items whose number of users has changed (model.Evidence), by histories
// that it reads from the store, and lets the extended model serve. The states of users who have such items are then rebuilt when
// they are next asked for, and the events that waited are part of them. It also measures the drift, see measureDrift.
//
// Users are scaled to those of the training, so that a new item's popularity compares with that of the others; but a user of a
// small store does not count for more than maxUpscale. Only events with a weight above 0 count. At the start, and after a
// reload, the whole store is searched for such items, at half speed. After a reload the items that are known by then serve
// before that; the search finds those that only the model before knew.
type extender struct {
	*Server
	newcomers *newcomers
	recent    *recentUsers
	awake     chan struct{}

	// Of the goroutine alone.
	base     *models.Lease             // root of the model that the next fields are about; not leased, only compared
	placed   map[string]placedNewcomer // rows by item
	searched bool                      // the store, for newcomers to base
	fixed    bool                      // base cannot be extended
	warned   bool                      // that an item cannot be placed

	counted bool // the users of the store: it has been searched for one model at least
}

type placedNewcomer struct {
	item  model.NewItem
	users float64 // of the store, when it was placed
	fault bool    // there is no row for it, with so many users
}

// errOtherModel ends the search for a model that does not serve any more.
var errOtherModel = errors.New("server: another model has been loaded")

// newExtender returns nil if models are not to be extended.
func newExtender(s *Server) *extender {
	if s.cfg.ExtendEvery == 0 {
		return nil
	}
	return &extender{Server: s, newcomers: newNewcomers(), recent: newRecentUsers(), awake: make(chan struct{}, 1)}
}

// observed takes note of an event that has become durable.
func (x *extender) observed(m *model.Model, w *state.Written) {
	if x == nil {
		return
	}
	if w.Revision == 1 {
		x.newcomers.arrived()
	}
	if !w.Known || !m.InBase(w.Item) {
		x.noteEvent(m, w.Record.User, w.Record.Event)
	}
}

// wrote takes note of who has written.
func (x *extender) wrote(records []store.Record) {
	if x != nil {
		x.recent.add(records[max(0, len(records)-driftUsers):])
	}
}

func (x *extender) noteEvent(m *model.Model, user string, e store.Event) {
	if i, known := m.ItemIndex(e.Item); (!known || !m.InBase(i)) && x.updater.Weight(&e) > 0 {
		x.newcomers.note(strings.Clone(user), strings.Clone(e.Item)) // they may be pieces of a large message
	}
}

// forget lets go of an erased user. Rows that the user's history was part of are placed anew.
func (x *extender) forget(user string) {
	if x != nil {
		x.newcomers.forget(user)
		x.recent.forget(user)
	}
}

// wake makes the extender look at once. It never waits.
func (x *extender) wake() {
	if x == nil {
		return
	}
	select {
	case x.awake <- struct{}{}:
	default: // it will look anyway
	}
}

// run extends until ctx ends.
func (x *extender) run(ctx context.Context) {
	if x == nil {
		return
	}
	tick := time.NewTicker(x.cfg.ExtendEvery)
	defer tick.Stop()
	for {
		if err := x.extend(ctx); err != nil && ctx.Err() == nil {
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
func (x *extender) failed(ctx context.Context, what string, err error) {
	x.metrics.extension.failures.Inc()
	x.log.LogAttrs(ctx, slog.LevelWarn, what, slog.String("error", err.Error()))
}

// extend measures the drift, lets the model serve with the new items as they are now, and searches the store if that is still
// to be done.
func (x *extender) extend(ctx context.Context) (err error) {
	defer x.recovered(ctx, "extending the model", &err)
	l := x.models.Acquire()
	if l == nil {
		return nil
	}
	defer l.Release()
	if l.Root() != x.base {
		x.begin(ctx, l)
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
			x.wake() // the search can wait until all that are known have a row
			return nil
		}
	}
	return x.search(ctx, l)
}

// begin starts anew with another model. Of the newcomers to the one before stay those that are new to this one as well.
func (x *extender) begin(ctx context.Context, l *models.Lease) {
	base := l.Base()
	x.base, x.placed, x.searched, x.warned = l.Root(), map[string]placedNewcomer{}, false, false
	x.metrics.extension.items.Set(0)
	x.newcomers.keep(func(item string) bool { _, known := base.ItemIndex(item); return !known })
	x.recent.renew() // the drift is another one
	_, err := base.NewEvidence(0)
	if x.fixed = err != nil; x.fixed {
		x.failed(ctx, "the model stays without new items", err)
	}
}

// search notes all newcomers of the store; those that are noted already stay. It ends early when another model is loaded.
func (x *extender) search(ctx context.Context, l *models.Lease) error {
	base := l.Base()
	pace := pacer{began: time.Now()}
	var users, before int64
	err := x.store.Users(ctx, func(user string, _ uint64) error {
		if !x.models.Serves(l) {
			return errOtherModel
		}
		if users == 0 { // the users are those of this moment, so nobody who arrives later is among them
			before = x.newcomers.total()
		}
		users++
		err := x.store.Read(ctx, user, 0, func(_ uint64, e store.Event) error {
			x.noteEvent(base, user, e)
			return nil
		})
		if err != nil && !errors.Is(err, store.ErrCorrupt) { // the histories of others are worth reading
			return err
		}
		x.newcomers.trim()
		return pace.pause(ctx)
	})
	if err != nil && !errors.Is(err, errOtherModel) {
		return err
	}
	if err == nil {
		x.newcomers.recount(users, before)
		x.searched, x.counted = true, true
	}
	x.wake() // to place what was found, or to look at the other model
	return nil
}

// update places the items that have changed and lets the result serve. more reports that there was not the time for all items
// without a row.
func (x *extender) update(ctx context.Context, l *models.Lease) (more bool, err error) {
	began := time.Now()
	x.newcomers.trim()
	now := x.newcomers.census()
	x.metrics.extension.pending.Set(float64(len(now.counts)))
	batch, changed, more := x.choose(l.Base(), now)
	if !changed {
		return false, nil
	}
	if err := x.place(ctx, l.Base(), batch, now); err != nil {
		return false, err
	}
	return more, x.install(ctx, l, began)
}

// choose returns the items to be placed, those without a row first, whether anything has changed at all, and whether there are
// more without a row. Rows of items that have too few users now are let go.
func (x *extender) choose(base *model.Model, now census) (batch []string, changed, more bool) {
	for id := range x.placed {
		if now.counts[id] < model.MinNewUsers {
			delete(x.placed, id)
			changed = true
		}
	}
	for id, users := range now.counts {
		if _, known := base.ItemIndex(id); known { // noted in the moment of a reload
			continue
		}
		old, placed := x.placed[id]
		if users >= model.MinNewUsers && (!placed || now.stale[id] || math.Abs(users-old.users) > settled*old.users) {
			batch = append(batch, id)
		}
	}
	slices.SortFunc(batch, func(a, b string) int {
		return cmp.Or(cmp.Compare(x.placed[a].users, x.placed[b].users), cmp.Compare(now.counts[b], now.counts[a]), cmp.Compare(a, b))
	})
	reads := 0
	for i, id := range batch {
		if reads += int(min(now.counts[id], newcomerSample)); reads > extendReads && i > 0 {
			_, placed := x.placed[id]
			return batch[:i], true, !placed
		}
	}
	return batch, changed || len(batch) > 0, false
}

// place makes rows for the items of the batch from the histories of their sampled users. An item whose row would be no good is
// tried again when it has other users.
func (x *extender) place(ctx context.Context, base *model.Model, batch []string, now census) error {
	evidence, err := base.NewEvidence(len(batch))
	if err != nil {
		return err
	}
	number := make(map[string]int32, len(batch))
	samples := make([][]string, len(batch))
	for i, id := range batch {
		number[id] = int32(base.NumItems() + i)
		samples[i] = x.newcomers.sampleOf(id)
		delete(x.placed, id) // should this fail, no row is left of users who have gone
	}
	have, err := x.gather(ctx, base, evidence, number, samples)
	if err != nil {
		return err
	}
	scale := min(float64(base.NumTrainUsers())/float64(max(now.users, 1)), maxUpscale)
	for i, id := range batch {
		for _, user := range samples[i] {
			if !have[i][user] { // erased meanwhile, or the event is beyond what counts of the history
				x.newcomers.drop(user, id)
			}
		}
		if len(have[i]) < model.MinNewUsers {
			continue
		}
		item, err := evidence.Place(i, id, now.counts[id]*scale)
		if err != nil && !x.warned {
			x.warned = true
			x.failed(ctx, "a new item stays without a row; no other one of this model will be reported", err)
		}
		x.placed[id] = placedNewcomer{item: item, users: now.counts[id], fault: err != nil}
	}
	return nil
}

// gather adds the histories of all sampled users to the evidence, and returns for each sample the users whose histories have
// the item. The users come in order, so that sums have the same bits every time.
func (x *extender) gather(ctx context.Context, base *model.Model, evidence *model.Evidence, number map[string]int32, samples [][]string) ([]map[string]bool, error) {
	users := slices.Concat(samples...)
	slices.Sort(users)
	have := make([]map[string]bool, len(samples))
	for i := range have {
		have[i] = map[string]bool{}
	}
	pace := pacer{began: time.Now()}
	for _, user := range slices.Compact(users) {
		history, err := x.history(ctx, base, number, user)
		if err != nil {
			return nil, err
		}
		for _, i := range history {
			if at := int(i) - base.NumItems(); at >= 0 {
				have[at][user] = true
			}
		}
		evidence.Add(history)
		if err := pace.pause(ctx); err != nil {
			return nil, err
		}
	}
	return have, nil
}

// history returns the newest items of a user, each once, in the order of time: indices of base, numbers of new items, −1 for
// other items.
func (x *extender) history(ctx context.Context, base *model.Model, number map[string]int32, user string) ([]int32, error) {
	var history []int32
	seen := map[string]bool{}
	err := x.store.Read(ctx, user, 0, func(_ uint64, e store.Event) error {
		if seen[e.Item] || !(x.updater.Weight(&e) > 0) {
			return nil
		}
		index, known := base.ItemIndex(e.Item)
		if !known {
			if index, known = number[e.Item]; !known {
				index = -1
			}
		}
		seen[e.Item] = true
		history = append(history, index)
		return nil
	})
	if errors.Is(err, store.ErrCorrupt) {
		err = nil // what could be read counts
	}
	return history[max(0, len(history)-extendHistory):], err
}

// install lets the extended model serve.
func (x *extender) install(ctx context.Context, l *models.Lease, began time.Time) error {
	items := make([]model.NewItem, 0, len(x.placed))
	for _, p := range x.placed {
		if !p.fault {
			items = append(items, p.item)
		}
	}
	extended, err := l.Extend(items)
	if err != nil {
		return err
	}
	if !x.models.Extend(l, extended) {
		x.wake() // another model has been loaded
		return nil
	}
	took := time.Since(began)
	x.metrics.extension.items.Set(float64(len(items)))
	x.metrics.extension.seconds.Observe(took.Seconds())
	x.log.LogAttrs(ctx, slog.LevelInfo, "model extended by new items", slog.String("version", extended.Version()),
		slog.Int("items", len(items)), durationMS(took))
	return nil
}

// pacer keeps background work to a share of the time.
type pacer struct{ began time.Time }

// paceSlice is how long work goes on without a pause.
const paceSlice = 5 * time.Millisecond

// pause sleeps when it is time to.
func (p *pacer) pause(ctx context.Context) error {
	worked := time.Since(p.began)
	if worked < paceSlice {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After((extendIdle - 1) * worked):
	}
	p.began = time.Now()
	return nil
}

// extensionMetrics are the series of extensions.
type extensionMetrics struct {
	items, pending prometheus.Gauge
	drift          prometheus.Gauge
	seconds        prometheus.Histogram
	failures       prometheus.Counter
}

func newExtensionMetrics() extensionMetrics {
	return extensionMetrics{
		items: prometheus.NewGauge(prometheus.GaugeOpts{Name: "gsimc_extended_items",
			Help: "Items that the serving model was extended by: events named them, and it was not trained on them."}),
		pending: prometheus.NewGauge(prometheus.GaugeOpts{Name: "gsimc_new_items",
			Help: "Items that events named and the loaded model was not trained on, those that it was extended by included."}),
		drift: newDriftGauge(),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "gsimc_extension_seconds", Buckets: prometheus.ExponentialBuckets(.01, 4, 8),
			Help: "Time of extending the serving model, the reading of histories included."}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{Name: "gsimc_extension_failures_total", Help: "Extensions that failed."}),
	}
}

func (m *extensionMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.items, m.pending, m.drift, m.seconds, m.failures}
}
