// Package popularity serves the popular items of the store as long as there is no model.
//
// An event of weight w at time t counts w·2^((t − t_0)/h) for its item, with the half-life h and
// the time t_0 of the newest event; events without a weight above 0 do not count. Counts stand in
// ratios only, so time alone changes none of them. A millionth of the number of events comes on
// top, so that those of years ago, which one of today leaves nothing of, have an order still.
//
// The counts are made anew from the store, whenever something has been written. So they are right
// after erasures, retractions and restarts, and a user who is gone counts for nothing. One
// goroutine counts, for at most the share dutyCycle of its time: a store that has no model yet is
// small, or soon has one.
package popularity

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/background"
	"github.com/gsimc/gsimc/server/internal/models"
	"github.com/gsimc/gsimc/server/internal/state"
	"github.com/gsimc/gsimc/store"
)

const (
	dutyCycle = 0.1
	shortest  = 50 * time.Millisecond // between two counts
	// sharedEvery is the longest rest where other servers write to the store.
	sharedEvery = 2 * time.Second
	// unit is a count of one, for counts are whole numbers in a model.
	unit = 1 << 20
	// mostItems bounds the memory of a model, as clients choose the items of events. Up to
	// twice as many are counted.
	mostItems = 1 << 18
	// farthest is the number of half-lives after the reference that counts stay in the range of a
	// float64. The reference moves beyond it, which takes a look at all counts.
	farthest = 500
)

// Deps are the parts of the server that a [Counter] uses.
type Deps struct {
	Store    store.Store
	Models   *models.Holder // set before Run
	Updater  *state.Updater // weighs events
	HalfLife time.Duration
	Log      *slog.Logger
	Guard    background.Guard
}

// A Counter makes models of popularity.
type Counter struct {
	Deps
	awake chan struct{}
}

// New returns a counter.
func New(d Deps) *Counter { return &Counter{Deps: d, awake: make(chan struct{}, 1)} }

// Wake makes the counter look at the store, if the model that serves is one of its own. It never
// waits.
func (c *Counter) Wake() {
	select {
	case c.awake <- struct{}{}:
	default: // it will look anyway
	}
}

// Run keeps the model up to date until ctx ends.
func (c *Counter) Run(ctx context.Context) {
	var others <-chan time.Time // never, where no other server writes
	if _, shared := c.Store.(store.Shared); shared {
		tick := time.NewTicker(sharedEvery)
		defer tick.Stop()
		others = tick.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.awake:
		case <-others:
		}
		began := time.Now()
		err := c.Guard(ctx, "counting popular items", func() error { return c.refresh(ctx) })
		if err != nil && ctx.Err() == nil {
			c.Log.LogAttrs(ctx, slog.LevelWarn, "popular items could not be counted",
				slog.String("error", err.Error()))
		}
		if background.Rest(ctx, max(time.Since(began), shortest/10), dutyCycle) != nil {
			return
		}
	}
}

// refresh lets a model of what is in the store now serve in the place of an older one.
func (c *Counter) refresh(ctx context.Context) error {
	l := c.Models.Acquire()
	if l == nil {
		return nil
	}
	defer l.Release()
	if l.Personal() {
		return nil
	}
	m, err := c.Model(ctx)
	if err != nil {
		return err
	}
	if m.Version() == l.Version() || !c.Models.Replace(l, m) {
		return m.Close()
	}
	return nil
}

// Model counts the events of the store. Damaged histories count as far as they can be read.
func (c *Counter) Model(ctx context.Context) (*model.Model, error) {
	k := counts{halfLife: c.HalfLife, most: mostItems, of: map[string]*count{}}
	err := c.Store.Each(ctx, 0, 1, func(user string, _ store.Version) error {
		_, _, err := c.Store.Since(ctx, user, store.Version{},
			func(_ store.Version, e store.Event) error {
				k.add(&e, float64(c.Updater.Weight(&e)))
				return nil
			})
		if errors.Is(err, store.ErrCorrupt) {
			return nil
		}
		return err
	})
	if _, damaged := errors.AsType[*store.SkippedError](err); err != nil && !damaged {
		return nil, err
	}
	return k.model()
}

// counts are those of items, in units of the weight that an event has at the time of reference.
type counts struct {
	halfLife          time.Duration
	most              int // items of the model
	reference, newest time.Time
	of                map[string]*count
}

// count is that of an item.
type count struct {
	faded  float64
	events int64
}

func (k *counts) add(e *store.Event, weight float64) {
	if !(weight > 0) {
		return
	}
	if len(k.of) == 0 {
		k.reference, k.newest = e.Time, e.Time
	}
	if e.Time.After(k.newest) {
		k.newest = e.Time
	}
	after := k.halfLives(e.Time)
	if after > farthest {
		for _, c := range k.of {
			c.faded *= math.Exp2(-after)
		}
		k.reference, after = e.Time, 0
	}
	c := k.of[e.Item]
	if c == nil {
		if len(k.of) >= 2*k.most {
			k.prune()
		}
		c = &count{}
		k.of[strings.Clone(e.Item)] = c
	}
	c.faded += weight * math.Exp2(after)
	c.events++
}

// halfLives is the number of them from the reference to a time.
func (k *counts) halfLives(t time.Time) float64 {
	return t.Sub(k.reference).Seconds() / k.halfLife.Seconds()
}

// now is what a weight of one at the reference is at the time of the newest event.
func (k *counts) now() float64 { return math.Exp2(-k.halfLives(k.newest)) }

// degree is the count of a model, in units.
func (c *count) degree(now float64) int64 {
	return int64(math.Round(c.faded*now*unit)) + c.events
}

// prune leaves the items with the largest counts, as many as a model may have.
func (k *counts) prune() {
	if len(k.of) <= k.most {
		return
	}
	now := k.now()
	ids := slices.SortedFunc(maps.Keys(k.of), func(a, b string) int {
		return cmp.Or(cmp.Compare(k.of[b].degree(now), k.of[a].degree(now)), cmp.Compare(a, b))
	})
	for _, id := range ids[k.most:] {
		delete(k.of, id)
	}
}

func (k *counts) model() (*model.Model, error) {
	k.prune()
	ids := slices.Sorted(maps.Keys(k.of))
	degrees, total := make([]int64, len(ids)), int64(0)
	now := k.now()
	for i, id := range ids {
		degrees[i] = k.of[id].degree(now)
		total += degrees[i]
	}
	return model.NewPopular(ids, degrees, total)
}
