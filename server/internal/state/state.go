package state

import (
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/store"
)

// A User is the fold of the history of one Version by one model. It holds the Kalman
// state and the facts about a history that the API reports. Fields are read-only outside this
// package, except Tail. A User is not safe for concurrent use.
type User struct {
	// Version is that of the history, including events without weight and those on unknown items.
	// The state of an inline history has no mark.
	store.Version
	Kalman  *kalman.State
	Seen    SeenList
	Pending uint64    // events on items that the model does not know
	First   time.Time // oldest event time
	Last    time.Time // newest event time
	Tail    *Tail     // if not nil, records the events themselves

	table  *table // of weights; nil: there is no event yet
	model  string // StateVersion of the model that folded
	base   string // version of that model without extension
	beyond bool   // there are events on items that the base does not know
	broken bool   // a fold panicked half-way: the state is invalid
}

// New returns the state of an empty history under m, which records its events in t unless that is
// nil.
func New(m *model.Model, t *Tail) *User {
	u := &User{}
	u.Reset(m)
	u.Tail = t
	return u
}

// Reset makes u the state of an empty history under m, without a tail. It uses the memory of what u
// was.
func (u *User) Reset(m *model.Model) {
	if u.Kalman == nil || !m.Renew(u.Kalman) {
		u.Kalman = m.NewState()
	}
	*u = User{model: m.StateVersion(), base: m.Base().Version(), Kalman: u.Kalman, Seen: u.Seen[:0]}
}

// Clone returns a copy without tail that shares no memory with u.
func (u *User) Clone() *User {
	c := *u
	c.Kalman, c.Seen, c.Tail = u.Kalman.Clone(), slices.Clone(u.Seen), nil
	return &c
}

// Usable reports whether an event with weight, on an item of the model, is part of the state.
func (u *User) Usable() bool { return u.Kalman.Events > 0 }

// adopt makes u a state of m if only the name of the model differs: extensions of one model give
// the same states to users without events on an added item. It reports whether u is a state of m
// by these weights now.
func (u *User) adopt(m *model.Model, weights *table) bool {
	switch {
	case u.broken || u.table != nil && u.table != weights:
		return false
	case u.model == m.StateVersion():
		return true
	case u.beyond || u.base != m.Base().Version():
		return false
	}
	u.model = m.StateVersion()
	return true
}

// stateOverhead is a generous guess at the memory of a cached state beside its slices: the structs,
// the entry of the hash table, the bookkeeping of the cache.
const stateOverhead = 512

// size returns the memory of u in bytes.
func (u *User) size() int64 {
	return stateOverhead + int64(u.Kalman.Bytes()) + int64(cap(u.Seen))*int64(
		unsafe.Sizeof(SeenItem{}))
}

// An Updater folds events into states. New events, replays and inline histories all go through it,
// so that they agree to the last bit.
//
// The weights of event types may change. A state is a fold by one table of weights, that of the
// time of its first event; a state by an older table than that of now is not used any more.
type Updater struct{ table atomic.Pointer[table] }

// table is one table of weights. Tables are told apart by their addresses.
type table struct{ weights event.Weights }

// NewUpdater returns an updater with the weights of event types.
func NewUpdater(weights event.Weights) *Updater {
	f := &Updater{}
	f.SetWeights(weights)
	return f
}

// SetWeights gives the event types other weights, for old events too.
func (f *Updater) SetWeights(weights event.Weights) { f.table.Store(&table{weights}) }

// Weights returns the weights of the event types. They are not to be changed.
func (f *Updater) Weights() event.Weights { return f.table.Load().weights }

// Weight returns the weight with which the event counts in a state from now on.
func (f *Updater) Weight(e *store.Event) float32 { return f.Weights().Of(e.Type, e.Value) }

// Fold adds the next event of the history to u, which must be a state of m.
func (f *Updater) Fold(m *model.Model, u *User, e store.Event) {
	item, known := m.ItemIndex(e.Item)
	f.foldItem(m, u, &e, item, known)
}

// foldItem is Fold for an event whose item has been looked up.
func (f *Updater) foldItem(m *model.Model, u *User, e *store.Event, item int32, known bool) {
	u.broken = true
	if u.table == nil {
		u.table = f.table.Load()
	}
	if u.Revision == 0 || e.Time.Before(u.First) {
		u.First = e.Time
	}
	if u.Revision == 0 || e.Time.After(u.Last) {
		u.Last = e.Time
	}
	u.Revision++
	u.beyond = u.beyond || !known || !m.InBase(item)
	if known {
		u.Seen.add(SeenItem{Item: item, Kind: KindOf(e.Type), Time: e.Time.Unix()})
		if w := u.table.weights.Of(e.Type, e.Value); w != 0 && m.Personal() {
			event := model.Event{Item: item, Weight: w, Time: e.Time.Unix()}
			m.Fold(u.Kalman, event)
			u.Tail.add(m, u.Revision, event, u.Kalman)
		}
	} else {
		u.Pending++
	}
	u.broken = false
}
