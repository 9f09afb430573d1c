package state

import (
	"context"
	"fmt"
	"hash/maphash"
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
	seed    maphash.Seed
	stripes [256]stripe
}

// entry is a User in the cache.
type entry struct {
	mu    sync.Mutex // guards state
	state User
	bytes atomic.Int64 // size as the cache knows it; written under mu, read by the cache

	// of state; written under mu, only to be prefetched without it
	vectors atomic.Pointer[kalman.State]
}

// NewCache returns an empty cache of at most maxBytes, bookkeeping included.
func NewCache(maxBytes int64, d Deps) (*Cache, error) {
	cache, err := otter.New(&otter.Options[string, *entry]{
		MaximumWeight: uint64(maxBytes),
		Weigher: func(user string, e *entry) uint32 {
			return uint32(min(e.bytes.Load()+int64(len(user)), math.MaxUint32))
		},
		// Evictions happen within the call that makes them necessary: the bound holds, and no
		// goroutine stays behind.
		Executor: func(fn func()) { fn() },
	})
	if err != nil {
		return nil, err
	}
	return &Cache{
		store: d.Store, updater: d.Updater, metrics: d.Metrics, cache: cache,
		seed: maphash.MakeSeed(),
	}, nil
}

// Len returns the number of cached states.
func (c *Cache) Len() int { return c.cache.EstimatedSize() }

// Bytes returns the memory of the cached states.
func (c *Cache) Bytes() uint64 { return c.cache.WeightedSize() }

// View calls fn with the user's state under m, or with nil for a user without history. The state
// reflects every event acknowledged before the call. fn must not keep the state, and must start
// afresh when it is called again. fn runs with the user's state locked.
func (c *Cache) View(ctx context.Context, m *model.Model, user string, fn func(*User)) error {
	if t := c.Ticket(user); t.ok() {
		err := c.viewCached(ctx, m, t, user, fn)
		if t.valid() {
			return err
		}
	}
	return c.replay(ctx, m, user, nil, fn)
}

// replay is View without the cache. It records the events in t, unless that is nil.
func (c *Cache) replay(
	ctx context.Context, m *model.Model, user string, t *Tail, fn func(*User),
) error {
	u := New(m, t)
	c.metrics.load.Inc()
	if err := c.advance(ctx, m, u, user); err != nil {
		return err
	}
	if u.Revision == 0 {
		u = nil
	}
	fn(u)
	return nil
}

// viewCached is View by way of the cache. Its answer holds only if t is still valid afterwards.
func (c *Cache) viewCached(
	ctx context.Context, m *model.Model, t Ticket, user string, fn func(*User),
) error {
	e, cached := c.cache.GetIfPresent(user)
	if !cached {
		revision, err := c.store.Revision(ctx, user)
		if err != nil {
			return err
		}
		if revision == 0 { // leave no trace of an unknown user
			fn(nil)
			return nil
		}
		// The empty entry goes in first: other readers of this user wait for its lock instead of
		// replaying too.
		e = c.insert(m, user)
	}
	grown, err := c.viewEntry(ctx, m, e, user, fn)
	if grown {
		c.reweigh(user, e)
	}
	return err
}

// viewEntry brings the entry up to date and calls fn. grown reports whether the cache has to learn
// of its new size.
func (c *Cache) viewEntry(
	ctx context.Context, m *model.Model, e *entry, user string, fn func(*User),
) (grown bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	defer func() { grown = e.measure() }()

	revision, err := c.store.Revision(ctx, user)
	if err != nil {
		return false, err
	}
	u := &e.state
	switch {
	case !u.adopt(m) || u.Revision > revision:
		u.Reset(m)
		c.metrics.rebuild.Inc()
	case u.Revision == revision:
		c.metrics.hit.Inc()
	case u.Revision == 0:
		c.metrics.load.Inc()
	default:
		c.metrics.advance.Inc()
	}
	if u.Revision < revision {
		if err := c.advance(ctx, m, u, user); err != nil {
			return false, err
		}
	}
	if u.Revision == 0 {
		u = nil
	}
	fn(u)
	return false, nil
}

// advance folds in the events that the store has beyond u. On an error u is the state of a shorter
// history, or broken.
func (c *Cache) advance(ctx context.Context, m *model.Model, u *User, user string) error {
	return c.store.Read(ctx, user, u.Revision, func(revision uint64, e store.Event) error {
		if revision != u.Revision+1 {
			return ErrHistoryGap
		}
		c.updater.Fold(m, u, e)
		return nil
	})
}

// insert returns the cached entry of the user, which it makes, empty, if there is none.
func (c *Cache) insert(m *model.Model, user string) *entry {
	e := &entry{}
	e.state.Reset(m)
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
