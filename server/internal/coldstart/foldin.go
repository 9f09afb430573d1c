package coldstart

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/background"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/ledger"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/samples"
	"github.com/gsimc/gsimc/server/internal/models"
	"github.com/gsimc/gsimc/store"
)

// Bounds of one extension.
const (
	maxReads   = 20_000 // histories that are read; what is beyond it waits for the next time
	maxPlaced  = 1_000  // items that are folded in, as items that nobody has wait meanwhile
	maxHistory = 1_000  // newest different items of a history that count
	// A row stays as it is while the number of the item's users changes by less than settledChange
	// of itself, and the expected one by less than settledDegree, or as it is rounded.
	settledChange = 0.05
	settledDegree = 0.1
)

// update lets items borrow rows, counts the users who have changed, folds in the items that have,
// and lets the results serve. What nobody has does not wait for histories. The events that have
// come since an item did are counted before the item is placed by them.
func (x *Extender) update(ctx context.Context, l *models.Lease, a *ledger.Account) error {
	began := time.Now()
	failed := a.Unserved // rows may be missing that could not be folded in
	if err := x.borrow(ctx, l, a); err != nil {
		return err
	}
	if a.Unserved && (!failed || !a.Counted) {
		ready := time.Now()
		if err := x.publish(ctx, l, a, began); err != nil {
			return err
		}
		x.near.Rest(time.Since(ready))
	}
	if !a.Counted { // it is not known how popular items are
		return nil
	}
	if err := x.countChanged(ctx, l, a); err != nil {
		return err
	}
	if err := x.doubt(ctx, l.Base(), a); err != nil {
		return err
	}
	began = time.Now()
	more, err := x.renewRows(ctx, l.Base(), a)
	if err != nil {
		return err
	}
	if a.Unserved {
		err = x.publish(ctx, l, a, began)
		a.More = more
	}
	return err
}

// publish lets the rows of the account serve.
func (x *Extender) publish(
	ctx context.Context, l *models.Lease, a *ledger.Account, began time.Time,
) error {
	err := x.ledger.Publish(ctx, l, x.placed(a, x.stage.Extended(l)), began)
	a.Unserved = err != nil
	return err
}

// renewRows folds in the items that have changed. more reports whether further items have no row.
func (x *Extender) renewRows(
	ctx context.Context, base *model.Model, a *ledger.Account,
) (more bool, err error) {
	a.Samples.Trim()
	now := a.Samples.Census()
	x.Metrics.Pending.Set(float64(len(now.Counts)))
	pace := paceOf(a, base, now)
	batch, changed, more := x.choose(a, base, now, pace)
	a.Unserved, a.More = a.Unserved || changed, false
	if len(batch) == 0 {
		return false, nil
	}
	return more, x.foldIn(ctx, base, a, batch, now, pace)
}

// choose returns the items to fold in, those without a row first. changed reports whether anything
// has changed at all, more whether further items have no row, or one of another process. Rows of
// items that now have too few users are dropped.
func (x *Extender) choose(
	a *ledger.Account, base *model.Model, now samples.Census, pace *pace,
) (batch []string, changed, more bool) {
	// a held item whose users have gone gets no row by them
	changed = slices.ContainsFunc(x.held, func(id string) bool { return now.Counts[id] == 0 })
	for id := range a.Rows {
		if now.Counts[id] < x.least(id) && (x.near.Ready() || now.Counts[id] < 1) {
			delete(a.Rows, id)
			changed = true
		}
	}
	for id, users := range now.Counts {
		if _, known := base.ItemIndex(id); known { // noted in the moment of a reload
			continue
		}
		old, hasRow := a.Rows[id]
		near := x.near.Near(id)
		settled := hasRow && !now.Stale[id] &&
			math.Abs(users-old.Users) <= settledChange*old.Users &&
			(x.keeps(&old, pace) || pace.settles(&old, users, near) && settles(&old, near))
		if users >= x.least(id) && !settled {
			batch = append(batch, id)
		}
	}
	slices.SortFunc(batch, func(i, j string) int {
		return cmp.Or(cmp.Compare(a.Rows[i].Users, a.Rows[j].Users),
			cmp.Compare(now.Counts[j], now.Counts[i]), cmp.Compare(i, j))
	})
	reads := 0
	for i, id := range batch {
		reads += int(min(now.Counts[id], samples.Size))
		if reads > maxReads && i > 0 || i == maxPlaced {
			row, hasRow := a.Rows[id]
			return batch[:i], true, !hasRow || row.Other
		}
	}
	return batch, changed || len(batch) > 0, false
}

// foldIn makes rows for the items of the batch from the histories of their sampled users. An item
// that gets no usable row is tried again when it has other users.
func (x *Extender) foldIn(
	ctx context.Context, base *model.Model, a *ledger.Account, batch []string, now samples.Census,
	pace *pace,
) error {
	sampled := make([][]string, len(batch))
	for i, id := range batch {
		sampled[i] = a.Samples.SampleOf(id)
		delete(a.Rows, id) // should this fail, no row is left of users who have gone
	}
	others := slices.Sorted(maps.Keys(a.Rows))
	evidence, err := base.NewEvidence(batch, others)
	if err != nil {
		return err
	}
	number := make(map[string]int32, len(batch)+len(others))
	for i, id := range slices.Concat(batch, others) {
		number[id] = int32(base.NumItems() + i)
	}
	have, err := x.gather(ctx, base, evidence, number, sampled)
	if err != nil {
		return err
	}
	rest := x.paced(ctx, base)
	for i, id := range batch {
		if err := rest(); err != nil {
			return err
		}
		trace := uint64(0)
		for _, user := range sampled[i] {
			of, has := have[i].users[user]
			// the user was erased meanwhile, or the event is older than the newest maxHistory items
			if !has {
				a.Samples.Drop(user, id)
			}
			trace += of
		}
		if float64(len(have[i].users)) < x.least(id) {
			continue
		}
		users, since, near := now.Counts[id], have[i].since, x.near.Near(id)
		item, err := evidence.PlaceNear(i, pace.expected(users, since, near), near)
		if err != nil {
			x.refused(ctx, err)
		}
		a.Rows[id] = ledger.Row{Item: item, Users: users, Since: since, Near: near,
			Trace: trace, Fault: err != nil}
	}
	return nil
}

// doubt looks through the rows of a process before. A row is made again if the sampled users are
// others than those whose histories were evidence for it, or have other histories: the samples know
// only whom this process has seen go. If that takes long, it goes on with the next look, which
// comes at once.
func (x *Extender) doubt(ctx context.Context, base *model.Model, a *ledger.Account) error {
	rest, began := x.paced(ctx, base), time.Now()
	for id, row := range a.Rows {
		if !row.Doubt {
			continue
		}
		if time.Since(began) > x.every || x.near.Due() {
			x.Wake()
			return nil
		}
		trace := uint64(0)
		for _, user := range a.Samples.Users(id) {
			head, _, err := x.Store.Since(ctx, user, store.Version{}, nil)
			if err != nil && !errors.Is(err, store.ErrCorrupt) {
				return err
			}
			trace += traceOf(user, head)
			if err := rest(); err != nil {
				return err
			}
		}
		if row.Doubt = false; trace != row.Trace {
			row.Since = ledger.Unknown
		}
		a.Rows[id] = row
	}
	return nil
}

// traceOf is a hash of a user's id and of the mark of the history, which later events leave as it
// is.
func traceOf(user string, head store.Version) uint64 {
	hash := fnv.New64a()
	_, _ = hash.Write(binary.LittleEndian.AppendUint64([]byte(user), head.Mark)) // never fails
	return hash.Sum64()
}

// takers are the users of a sample whose histories have the item, and when the first took it.
type takers struct {
	users map[string]uint64 // with the traces of the histories
	since int64
}

// gather adds the histories of all sampled users to the evidence. It returns the takers of each
// sample. number maps the ids of new items to their indices in the evidence, those of the samples
// first. The users come in order, so that sums have the same bits every time.
func (x *Extender) gather(
	ctx context.Context, base *model.Model, evidence *model.Evidence, number map[string]int32,
	sampled [][]string,
) ([]takers, error) {
	users := slices.Concat(sampled...)
	slices.Sort(users)
	have := make([]takers, len(sampled))
	for i := range have {
		have[i] = takers{map[string]uint64{}, math.MaxInt64}
	}
	rest := x.paced(ctx, base)
	for _, user := range slices.Compact(users) {
		history, times, trace, err := x.history(ctx, base, number, user)
		if err != nil {
			return nil, err
		}
		for event, i := range history {
			if at := int(i) - base.NumItems(); at >= 0 && at < len(have) {
				have[at].users[user] = trace
				have[at].since = min(have[at].since, times[event])
			}
		}
		evidence.Add(history)
		if err := rest(); err != nil {
			return nil, err
		}
	}
	return have, nil
}

// paced returns what long work for a base calls all the time, so that it takes a share of the time
// and the ledger knows of it. Its error ends the work.
func (x *Extender) paced(ctx context.Context, base *model.Model) func() error {
	pace := background.NewPacer(ledger.DutyCycle)
	busy := func() error { return x.ledger.Busy(ctx, base) }
	return func() error {
		if err := pace.Except(busy); err != nil {
			return err
		}
		return pace.Pause(ctx)
	}
}

// history returns the newest items of a user, each once, in the order of time: indices of base,
// numbers of new items, −1 for other items; the times of these events, and the history's trace.
func (x *Extender) history(
	ctx context.Context, base *model.Model, number map[string]int32, user string,
) (history []int32, times []int64, trace uint64, err error) {
	seen := map[string]bool{}
	note := func(_ store.Version, e store.Event) error {
		if seen[e.Item] || !(x.Updater.Weight(&e) > 0) {
			return nil
		}
		index, known := base.ItemIndex(e.Item)
		if !known {
			if index, known = number[e.Item]; !known {
				index = -1
			}
		}
		seen[e.Item] = true
		history, times = append(history, index), append(times, e.Time.Unix())
		return nil
	}
	head, _, err := x.Store.Since(ctx, user, store.Version{}, note)
	if errors.Is(err, store.ErrCorrupt) {
		err = nil // the events that could be read count
	}
	from := max(0, len(history)-maxHistory)
	return history[from:], times[from:], traceOf(user, head), err
}

// placed are the items that have got a row: those with the most users first, and then those that
// borrow it. A borrowed row serves until the histories of its item's first users have been read. It
// does not begin to serve if the item is known to have users: their rows come next. Such items are
// held, but for those that served with the model before: they are not to leave the lists.
func (x *Extender) placed(a *ledger.Account, serving *model.Model) []model.NewItem {
	items := make([]model.NewItem, 0, len(a.Rows))
	ids := slices.SortedFunc(maps.Keys(a.Rows), func(x, y string) int { // items are large
		return cmp.Or(cmp.Compare(a.Rows[y].Item.Users, a.Rows[x].Item.Users), cmp.Compare(x, y))
	})
	for _, id := range ids {
		if row := a.Rows[id]; !row.Fault {
			items = append(items, row.Item)
		}
	}
	holds := func(id string) bool {
		_, serves := serving.ItemIndex(id)
		return !serves && a.Counted && !a.Served[id] && a.Samples.Has(id)
	}
	x.held = nil
	skips := func(id string) bool {
		if row, has := a.Rows[id]; has {
			return !row.Fault
		}
		if holds(id) {
			x.held = append(x.held, id)
			return true
		}
		return false
	}
	if x.near.Ready() {
		return slices.AppendSeq(items, x.near.Items(skips))
	}
	for _, item := range a.Borrowed {
		if !skips(item.ID) {
			items = append(items, item)
		}
	}
	return items
}
