package state

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/maypok86/otter/v2"

	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/store"
)

// ErrHistoryGap is a history whose revisions do not follow each other. It is a [store.ErrCorrupt].
var ErrHistoryGap = fmt.Errorf("server: history has a gap: %w", store.ErrCorrupt)

// Deps are the parts of the server that a [Cache] uses.
type Deps struct {
	Store   store.Store
	Updater *Updater
	Metrics *Metrics
}

// A Cache finds the states of users, and keeps them in a bounded number of bytes. It is safe for
// concurrent use.
type Cache struct {
	store   store.Store
	updater *Updater
	metrics *Metrics
	cache   *otter.Cache[string, *entry]
	readers sync.Pool // of *reader
	spare   sync.Pool // of *kalman.State: of users who were evicted
}

// entry is a User in the cache.
type entry struct {
	mu    sync.Mutex // guards state
	state User
	bytes atomic.Int64 // size as the cache knows it; written under mu, read by the cache

	// of state; written under mu, only to be prefetched without it
	vectors atomic.Pointer[kalman.State]

	told atomic.Uint64 // see [Written.Told]
}

// NewCache returns an empty cache of at most maxBytes, bookkeeping included.
func NewCache(maxBytes int64, d Deps) (*Cache, error) {
	c := &Cache{store: d.Store, updater: d.Updater, metrics: d.Metrics}
	var err error
	c.cache, err = otter.New(&otter.Options[string, *entry]{
		MaximumWeight: uint64(maxBytes),
		Weigher: func(user string, e *entry) uint32 {
			return uint32(min(e.bytes.Load()+int64(len(user)), math.MaxUint32))
		},
		// Evictions happen within the call that makes them necessary: the bound holds, and no
		// goroutine stays behind.
		Executor: func(fn func()) { fn() },
		OnDeletion: func(e otter.DeletionEvent[string, *entry]) {
			if e.WasEvicted() {
				c.strip(e.Value)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// strip takes the vectors from an evicted entry, for another user. A reader who found the entry
// before the eviction finds no state of any model in it, and reads the history again. An entry that
// is in use, perhaps by the caller, keeps its vectors.
func (c *Cache) strip(e *entry) {
	if !e.mu.TryLock() {
		return
	}
	defer e.mu.Unlock()
	if e.state.Kalman != nil {
		c.spare.Put(e.state.Kalman)
	}
	e.state = User{}
	e.vectors.Store(nil)
}

// newEntry returns an entry of an empty history.
func (c *Cache) newEntry(m *model.Model) *entry {
	e := &entry{}
	e.state.Kalman, _ = c.spare.Get().(*kalman.State)
	e.state.Reset(m)
	return e
}

// Len returns the number of cached states.
func (c *Cache) Len() int { return c.cache.EstimatedSize() }

// Bytes returns the memory of the cached states.
func (c *Cache) Bytes() uint64 { return c.cache.WeightedSize() }

// View calls fn once with the user's state under m, or with nil for a user without history. The
// state reflects every event acknowledged before the call. fn must not keep the state. fn runs with
// the user's state locked.
func (c *Cache) View(ctx context.Context, m *model.Model, user string, fn func(*User)) error {
	r := c.reader(m, user)
	defer c.release(r)
	r.entry, _ = c.cache.GetIfPresent(user)
	if r.entry == nil {
		if err := c.load(ctx, r, fn); !errors.Is(err, errPresent) {
			return err
		}
	}
	return c.show(ctx, r, fn)
}

// Erase removes the user's history from the store, and its state from the cache. It returns the
// number of events there were. An erasure that has begun runs to its end even if the caller no
// longer waits, so that the state leaves the cache after the history has left the store.
func (c *Cache) Erase(ctx context.Context, user string) (uint64, error) {
	defer c.cache.Invalidate(user)
	return c.store.Erase(context.WithoutCancel(ctx), user)
}

// Rewrite replaces histories, as [store.Store.Rewrite], and removes their states from the cache. It
// runs to its end even if the caller leaves, as Erase does: others are told what has changed.
func (c *Cache) Rewrite(
	ctx context.Context, users []string, fn func([][]store.Event) [][]store.Event,
) ([]store.Version, error) {
	defer func() {
		for _, user := range users {
			c.cache.Invalidate(user)
		}
	}()
	return c.store.Rewrite(context.WithoutCancel(ctx), users, fn)
}

// errPresent ends the reading of a history whose user has come into the cache meanwhile.
var errPresent = errors.New("the state is in the cache")

// load is View of a user who is not in the cache. The first event puts an entry there, locked, so
// that other readers of this user wait for it instead of replaying too, and an unknown user leaves
// no trace. If the user has come into the cache meanwhile, load returns errPresent, and r has that
// entry.
func (c *Cache) load(ctx context.Context, r *reader, fn func(*User)) error {
	r.absent = true
	defer func() {
		if r.made {
			c.unlock(r.user, r.entry)
		}
	}()
	if err := r.advance(ctx); err != nil {
		return err
	}
	if r.state != nil {
		c.metrics.load.Inc()
	}
	fn(r.state)
	return nil
}

// show brings the entry of r up to date and calls fn.
func (c *Cache) show(ctx context.Context, r *reader, fn func(*User)) error {
	r.entry.mu.Lock()
	defer c.unlock(r.user, r.entry)
	u := &r.entry.state
	evicted, adopted := u.Kalman == nil, u.adopt(r.model, c.updater.table.Load())
	if !adopted {
		u.Reset(r.model)
	}
	before := u.Version
	r.state = u
	if err := r.advance(ctx); err != nil {
		return err
	}
	switch {
	case evicted:
		c.metrics.load.Inc()
	case !adopted || !r.same:
		c.metrics.rebuild.Inc()
	case before.Revision == 0:
		c.metrics.load.Inc()
	case u.Version == before:
		c.metrics.hit.Inc()
	default:
		c.metrics.advance.Inc()
	}
	if u.Revision == 0 {
		u = nil
	}
	fn(u)
	return nil
}

// unlock unlocks an entry whose state may have changed.
func (c *Cache) unlock(user string, e *entry) {
	grown := e.measure()
	e.mu.Unlock()
	if grown {
		c.reweigh(user, e)
	}
}

// A reader folds what a history has since the version of a state into the state. Readers are
// pooled: the closure passed to Since would otherwise be allocated per call.
type reader struct {
	cache  *Cache
	model  *model.Model
	user   string
	entry  *entry // nil: there is none so far
	state  *User  // what is folded into; nil: the entry is made with the first event
	absent bool   // the user was not in the cache
	made   bool   // the entry is new, and locked
	same   bool   // the history began with the version of the state
	take   func(store.Version, store.Event) error
}

func (c *Cache) reader(m *model.Model, user string) *reader {
	r, ok := c.readers.Get().(*reader)
	if !ok {
		r = &reader{cache: c}
		r.take = r.fold
	}
	r.model, r.user = m, user
	return r
}

func (c *Cache) release(r *reader) {
	*r = reader{cache: c, take: r.take}
	c.readers.Put(r)
}

// advance makes the state that of the whole history. After an error it is the state of a beginning
// of the history, or broken. There is still none for a user without history.
func (r *reader) advance(ctx context.Context) error {
	var known store.Version
	if r.state != nil {
		known = r.state.Version
	}
	head, same, err := r.cache.store.Since(ctx, r.user, known, r.take)
	if err != nil {
		return err
	}
	r.same = same
	var got store.Version
	if r.state != nil {
		if !same && head.Revision == 0 { // erased
			r.state.Reset(r.model)
		}
		got = r.state.Version
	}
	if got != head {
		return ErrHistoryGap
	}
	return nil
}

// fold folds the next event into the state. The first event of a history comes to a state of
// something else if that is not a beginning of the history.
func (r *reader) fold(v store.Version, e store.Event) error {
	if r.state == nil && r.absent {
		if present := r.enter(); !r.made {
			r.entry, r.absent = present, false
			return errPresent
		}
	}
	u := r.state
	if v.Revision == 1 && u.Revision > 0 {
		u.Reset(r.model)
	}
	if v.Revision != u.Revision+1 {
		return ErrHistoryGap
	}
	r.cache.updater.Fold(r.model, u, e)
	u.Mark = v.Mark
	return nil
}

// enter puts a new entry into the cache, locked, unless the user has come there meanwhile, and
// returns that which is there.
func (r *reader) enter() *entry {
	e := r.cache.newEntry(r.model)
	e.mu.Lock()
	present := r.cache.put(r.user, e)
	if present == e {
		r.entry, r.state, r.made = e, &e.state, true
	}
	return present
}

// put puts an entry into the cache, unless the user has one, and returns that which is there.
func (c *Cache) put(user string, e *entry) *entry {
	e.measure()
	// user may be a piece of a large message
	present, _ := c.cache.SetIfAbsent(strings.Clone(user), e)
	return present
}

// measure notes the size of the state and reports whether it is larger than before. The caller
// holds e.mu.
func (e *entry) measure() bool {
	if e.vectors.Load() != e.state.Kalman {
		e.vectors.Store(e.state.Kalman)
	}
	size := e.state.size()
	return e.bytes.Swap(size) < size
}

// reweigh tells the cache that the entry has grown, if it is still the cached one.
func (c *Cache) reweigh(user string, e *entry) {
	c.cache.ComputeIfPresent(user, func(old *entry) (*entry, otter.ComputeOp) {
		if old != e {
			return old, otter.CancelOp
		}
		return e, otter.WriteOp
	})
}
