package server

import (
	"context"
	"hash/maphash"
	"math"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/maypok86/otter/v2"

	"github.com/gsimc/gsimc/internal/prefetch"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/store"
)

// states finds the state of a user: from the cache, from the store, or from both. It is safe for concurrent use.
//
// # Erasure
//
// A revision is a count, so an erased user who comes back reaches the revisions of the former life with other content,
// and a comparison of revisions cannot tell the lives apart. Therefore erasures are counted. Users share a fixed number
// of stripes; a stripe has an epoch, which rises when an erasure begins, and the number of erasures under way. A ticket,
// taken before the store is asked, says whether an erasure was under way and later whether one has begun since.
//
//   - A state that is read from the cache counts only if the ticket is still valid afterwards. Otherwise the read is done
//     again without the cache: one Read of the store is of one moment, hence of one life.
//   - An event that was written is folded into a cached state only if the ticket is still valid.
//   - The end of an erasure takes the entry out of the cache. An entry is put in empty and filled afterwards, so whatever
//     was filled in before the erasure took place goes with it.
//
// No lock is held while the store works, except that of a single user's state.
type states struct {
	store   store.Store
	folder  *folder
	metrics *Metrics
	cache   *otter.Cache[string, *cachedState]
	seed    maphash.Seed
	stripes [256]stripe
}

// stripe guards the entries of many users against erasures. It counts those that have begun in the upper bits, which is the
// epoch, and those under way in the lower ones, so that one load tells both.
type stripe struct{ erasures atomic.Uint64 }

const oneErasure = 1 << 16 // of the epoch

// cachedState is a userState in the cache.
type cachedState struct {
	mu    sync.Mutex // guards state
	state userState
	bytes atomic.Int64 // size as the cache knows it; written under mu, read by the cache

	vectors atomic.Pointer[kalman.State] // of state; written under mu, only to be fetched ahead without it
}

// ticket is a promise that no erasure of the user was under way when it was issued.
type ticket struct {
	stripe   *stripe
	erasures uint64
}

func newStates(maxBytes int64, st store.Store, f *folder, m *Metrics) (*states, error) {
	cache, err := otter.New(&otter.Options[string, *cachedState]{
		MaximumWeight: uint64(maxBytes),
		Weigher: func(user string, c *cachedState) uint32 {
			return uint32(min(c.bytes.Load()+int64(len(user)), math.MaxUint32))
		},
		// Evictions happen within the call that makes them necessary: the bound holds, and no goroutine stays behind.
		Executor: func(fn func()) { fn() },
	})
	if err != nil {
		return nil, err
	}
	return &states{store: st, folder: f, metrics: m, cache: cache, seed: maphash.MakeSeed()}, nil
}

// ticket must be taken before the store is asked.
func (s *states) ticket(user string) ticket {
	p := s.stripe(user)
	return ticket{stripe: p, erasures: p.erasures.Load()}
}

func (s *states) stripe(user string) *stripe {
	return &s.stripes[maphash.String(s.seed, user)%uint64(len(s.stripes))]
}

// ok reports whether no erasure was under way when t was issued.
func (t ticket) ok() bool { return t.erasures%oneErasure == 0 }

// valid reports whether moreover no erasure has begun since.
func (t ticket) valid() bool { return t.ok() && t.stripe.erasures.Load() == t.erasures }

// view calls fn with the user's state under m, which reflects every event acknowledged before the call, or with nil for a
// user without history. fn must not keep the state, and must start afresh when it is called again. fn runs with the
// user's state locked.
func (s *states) view(ctx context.Context, m *model.Model, user string, fn func(*userState)) error {
	if t := s.ticket(user); t.ok() {
		err := s.viewCached(ctx, m, t, user, fn)
		if t.valid() {
			return err
		}
	}
	return s.replay(ctx, m, user, nil, fn)
}

// replay is view without the cache. It records the events in t, unless that is nil.
func (s *states) replay(ctx context.Context, m *model.Model, user string, t *tail, fn func(*userState)) error {
	u := &userState{}
	u.reset(m)
	u.tail = t
	s.metrics.stateRequests.load.Inc()
	if err := s.advance(ctx, m, u, user); err != nil {
		return err
	}
	if u.revision == 0 {
		u = nil
	}
	fn(u)
	return nil
}

// viewCached is view by way of the cache. Its answer holds only if t is still valid afterwards.
func (s *states) viewCached(ctx context.Context, m *model.Model, t ticket, user string, fn func(*userState)) error {
	c, cached := s.cache.GetIfPresent(user)
	if !cached {
		revision, err := s.store.Revision(ctx, user)
		if err != nil {
			return err
		}
		if revision == 0 { // leave no trace of an unknown user
			fn(nil)
			return nil
		}
		// The empty entry goes in first: others who want this user wait for its lock instead of replaying too.
		c = s.insert(m, user)
	}
	grown, err := s.viewEntry(ctx, m, c, user, fn)
	if grown {
		s.reweigh(user, c)
	}
	return err
}

// viewEntry brings the entry up to date and calls fn. grown: the cache has to learn of its new size.
func (s *states) viewEntry(ctx context.Context, m *model.Model, c *cachedState, user string, fn func(*userState)) (grown bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() { grown = c.measure() }()

	revision, err := s.store.Revision(ctx, user)
	if err != nil {
		return false, err
	}
	u := &c.state
	switch {
	case !u.adopt(m) || u.revision > revision:
		u.reset(m)
		s.metrics.stateRequests.rebuild.Inc()
	case u.revision == revision:
		s.metrics.stateRequests.hit.Inc()
	case u.revision == 0:
		s.metrics.stateRequests.load.Inc()
	default:
		s.metrics.stateRequests.advance.Inc()
	}
	if u.revision < revision {
		if err := s.advance(ctx, m, u, user); err != nil {
			return false, err
		}
	}
	if u.revision == 0 {
		u = nil
	}
	fn(u)
	return false, nil
}

// advance folds in what the store has beyond u. On an error u is the state of a shorter history, or broken.
func (s *states) advance(ctx context.Context, m *model.Model, u *userState, user string) error {
	return s.store.Read(ctx, user, u.revision, func(revision uint64, e store.Event) error {
		if revision != u.revision+1 {
			return errHistoryGap
		}
		s.folder.fold(m, u, e)
		return nil
	})
}

// written is an event that has just become durable, on its way into the cached state of its user.
type written struct {
	record   *store.Record
	revision uint64
	item     int32 // index, if the model knows it
	known    bool
	ticket   ticket // taken before the write
	entry    *cachedState
}

// find looks the entry of the user up, which need not be there, and begins to load it.
func (s *states) find(w *written) {
	w.entry, _ = s.cache.GetIfPresent(w.record.User)
	prefetch.Value(w.entry)
}

// The load… functions take the loading one step further each, to what the step before has shown the way to: the state, and
// its vectors with those of the item.

func (w *written) loadState() {
	if w.entry != nil {
		prefetch.Value(w.entry.vectors.Load())
	}
}

func (w *written) loadVectors(m *model.Model) {
	if w.entry == nil {
		return
	}
	if v := w.entry.vectors.Load(); v != nil {
		v.Fetch()
	}
	if w.known {
		m.Fetch(w.item)
	}
}

// observed folds an event into the cached state, which find has looked up. If the entry is not exactly one event behind, it
// is left to the next read; if there is none, one is made only for a first event, which needs no replay. So writing costs
// O(k) whatever the length of the history.
func (s *states) observed(m *model.Model, w *written) {
	user := w.record.User
	if w.entry == nil {
		entry, cached := s.cache.GetIfPresent(user) // an event before this one may have made it
		if !cached {
			if w.revision != 1 || !w.ticket.valid() {
				return
			}
			entry = s.insert(m, user)
		}
		w.entry = entry
	}
	if s.foldNext(m, w) {
		s.reweigh(user, w.entry)
	}
}

func (s *states) foldNext(m *model.Model, w *written) (grown bool) {
	c := w.entry
	c.mu.Lock()
	defer c.mu.Unlock()
	u := &c.state
	if !u.adopt(m) || u.revision != w.revision-1 || !w.ticket.valid() {
		return false
	}
	s.folder.foldItem(m, u, &w.record.Event, w.item, w.known)
	return c.measure()
}

// erase removes the user's history and whatever is cached of it, and returns the number of events there were. An erasure
// that has begun is seen to its end, even if the caller no longer waits: one that takes place after the stripe has been
// told otherwise could leave a state of the former life in the cache.
func (s *states) erase(ctx context.Context, user string) (uint64, error) {
	p := s.stripe(user)
	p.erasures.Add(oneErasure + 1)
	defer func() {
		s.cache.Invalidate(user)
		p.erasures.Add(^uint64(0)) // one less under way
	}()
	return s.store.Erase(context.WithoutCancel(ctx), user)
}

// insert returns the cached entry of the user, which it makes, empty, if there is none.
func (s *states) insert(m *model.Model, user string) *cachedState {
	c := &cachedState{}
	c.state.reset(m)
	c.measure()
	present, _ := s.cache.SetIfAbsent(strings.Clone(user), c) // user may be a piece of a large message
	return present
}

// measure notes the size of the state and reports whether it is larger than before. The caller holds c.mu.
func (c *cachedState) measure() bool {
	if c.vectors.Load() != c.state.kalman {
		c.vectors.Store(c.state.kalman)
	}
	size := c.state.size()
	return c.bytes.Swap(size) < size
}

// reweigh tells the cache that the entry has grown, if it is still the cached one.
func (s *states) reweigh(user string, c *cachedState) {
	s.cache.ComputeIfPresent(user, func(old *cachedState) (*cachedState, otter.ComputeOp) {
		if old != c {
			return old, otter.CancelOp
		}
		return c, otter.WriteOp
	})
}
