package server

import (
	"slices"
	"time"
	"unsafe"

	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/store"
)

// userState is the fold of the first revision events of one history by one model: the Kalman state, and beside it what
// the API says of a history. It is not safe for concurrent use.
type userState struct {
	model    string // version of the model that folded, extension included
	base     string // version of that model without extension
	beyond   bool   // there are events on items that the base does not know
	revision uint64 // events folded, those without weight and on unknown items included
	kalman   *kalman.State
	seen     seenList
	pending  uint64    // events on items that the model does not know
	first    time.Time // oldest event time
	last     time.Time // newest event time
	tail     *tail     // the events themselves, if they are wanted
	broken   bool      // a fold did not come to its end (it panicked): the state is worth nothing
}

// folder folds events into states: the one code path for new events, replay and inline histories.
type folder struct {
	weights map[string]float64
}

// reset makes u the state of an empty history under m.
func (u *userState) reset(m *model.Model) {
	*u = userState{model: m.Version(), base: m.Base().Version(), kalman: m.NewState(), seen: u.seen[:0]}
}

// adopt makes u a state of m if it is one but for the name: extensions of one model give the same states to users who have
// no event on an item that any of them adds. It reports whether u is a state of m now.
func (u *userState) adopt(m *model.Model) bool {
	switch {
	case u.broken:
		return false
	case u.model == m.Version():
		return true
	case u.beyond || u.base != m.Base().Version():
		return false
	}
	u.model = m.Version()
	return true
}

// usable reports whether an event with weight, on an item of the model, is part of the state.
func (u *userState) usable() bool { return u.kalman.Events > 0 }

// fold adds the next event of the history to u, which must be a state of m.
func (f *folder) fold(m *model.Model, u *userState, e store.Event) {
	item, known := m.ItemIndex(e.Item)
	f.foldItem(m, u, &e, item, known)
}

// foldItem is fold for an event whose item has been looked up.
func (f *folder) foldItem(m *model.Model, u *userState, e *store.Event, item int32, known bool) {
	u.broken = true
	if u.revision == 0 || e.Time.Before(u.first) {
		u.first = e.Time
	}
	if u.revision == 0 || e.Time.After(u.last) {
		u.last = e.Time
	}
	u.revision++
	u.beyond = u.beyond || !known || !m.InBase(item)
	if known {
		u.seen.add(seenItem{item: item, kind: kindOf(e.Type), time: e.Time.Unix()})
		if w := f.weight(e); w != 0 {
			event := model.Event{Item: item, Weight: w, Time: e.Time.Unix()}
			m.Fold(u.kalman, event)
			u.tail.add(m, u.revision, event)
		}
	} else {
		u.pending++
	}
	u.broken = false
}

// weight is the weight of the event type times the value of the event, within the bounds that a model takes.
func (f *folder) weight(e *store.Event) float32 {
	w, configured := f.weights[e.Type]
	if !configured {
		w = 1
	}
	return float32(min(max(w*e.Value, -model.MaxWeight), model.MaxWeight))
}

// stateOverhead is a generous guess at what a cached state costs besides its slices: the structs, the entry of the hash
// table, the bookkeeping of the cache.
const stateOverhead = 512

// size is the memory of u in bytes.
func (u *userState) size() int64 {
	return stateOverhead + int64(u.kalman.Bytes()) + int64(cap(u.seen))*int64(unsafe.Sizeof(seenItem{}))
}

// seenItem says that a user had an event of a type on an item, the newest of them at time (seconds).
type seenItem struct {
	item int32
	kind eventKind
	time int64
}

// seenList holds the seen items of one user, in no order. A pair of item and kind may stand in it several times; the
// doubles are merged whenever the list would have to grow, so its memory stays within four times that of the pairs.
type seenList []seenItem

func (l *seenList) add(s seenItem) {
	if len(*l) == cap(*l) {
		l.merge()
		if 2*len(*l) > cap(*l) {
			*l = slices.Grow(*l, max(len(*l), 8))
		}
	}
	*l = append(*l, s)
}

// merge leaves the newest entry of each pair of item and kind.
func (l *seenList) merge() {
	slices.SortFunc(*l, func(a, b seenItem) int {
		switch {
		case a.item != b.item:
			return int(a.item) - int(b.item)
		case a.kind != b.kind && a.kind < b.kind:
			return -1
		case a.kind != b.kind:
			return 1
		case a.time > b.time: // newest first: Compact keeps the first
			return -1
		case a.time < b.time:
			return 1
		}
		return 0
	})
	*l = slices.CompactFunc(*l, func(a, b seenItem) bool { return a.item == b.item && a.kind == b.kind })
}
