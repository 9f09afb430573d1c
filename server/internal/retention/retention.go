// Package retention takes events out of the histories of users once they are too old.
//
// A pass looks at all histories and rewrites those with events above their age, as RetractEvents
// does: afterwards everything is as if these events had never been sent, and who had no others is
// erased. An event is as old as its own time says, wherever the history has it.
//
// Passes begin a day apart. Of several servers that share a store one makes the pass: it holds a
// lease meanwhile, and leaves a note of when it was at the end.
package retention

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	mathrand "math/rand/v2"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/server/internal/background"
	"github.com/gsimc/gsimc/server/internal/follow"
	"github.com/gsimc/gsimc/server/internal/metric"
	"github.com/gsimc/gsimc/server/internal/state"
	"github.com/gsimc/gsimc/store"
)

// Every is the time from the beginning of a pass to the next one.
const Every = 24 * time.Hour

// Wake is the usual interval at which a server looks whether a pass is due. A pass that failed is
// made again then.
const Wake = 10 * time.Minute

const (
	// dutyCycle is the share of one processor that a pass takes.
	dutyCycle = 0.1
	// shardUsers is about the number of users of a shard, the part of a pass whose ids are in
	// memory: an iteration of the store that lasted would keep the bytes of erased users.
	shardUsers = 500_000
)

// Deps are what a sweeper needs.
type Deps struct {
	Ages   event.Ages
	Store  store.Store
	States *state.Cache
	Follow follow.Follower // is told of histories that change
	// Longest is the number of events above which a history is not rewritten, since it is in memory
	// meanwhile.
	Longest uint64
	Wake    time.Duration
	Guard   background.Guard
	Now     func() time.Time
	Metrics *Metrics
	Log     *slog.Logger
}

// Sweeper makes passes. A nil one makes none.
type Sweeper struct {
	Deps
	turns turns
}

// New returns a sweeper; nil if events may become any age.
func New(d Deps) *Sweeper {
	if !d.Ages.Limit() {
		return nil
	}
	d.Metrics.last.Set(seconds(d.Now()))
	shared, _ := d.Store.(store.Shared)
	return &Sweeper{Deps: d, turns: turns{shared: shared, holder: rand.Text()}}
}

// Run makes passes until ctx ends.
func (s *Sweeper) Run(ctx context.Context) {
	if s == nil {
		return
	}
	s.Log.LogAttrs(ctx, slog.LevelInfo, "events leave the store by their age",
		slog.String("retain", s.Ages.String()))
	for tick := time.Tick(s.Wake); ; {
		err := s.Guard(ctx, "retention", func() error { return s.once(ctx) })
		if err != nil && ctx.Err() == nil {
			s.Log.LogAttrs(ctx, slog.LevelWarn, "old events could not be taken out of the store",
				slog.String("error", err.Error()))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
	}
}

// once makes a pass if it is due and no other server makes it.
func (s *Sweeper) once(ctx context.Context) error {
	now := s.Now()
	made := false
	last, err := s.turns.take(ctx, now, func(ctx context.Context) error {
		p := pass{Sweeper: s, now: now, pacer: background.NewPacer(dutyCycle)}
		if err := p.all(ctx); err != nil {
			s.Log.LogAttrs(ctx, slog.LevelInfo, "a pass over old events was not finished",
				slog.Int("users", p.users), slog.Int("events", p.events))
			return err
		}
		made = true
		s.Metrics.due.Set(float64(p.left))
		s.Metrics.last.Set(seconds(now))
		s.Log.LogAttrs(ctx, slog.LevelInfo, "old events are out of the store",
			slog.Int("users", p.users), slog.Int("events", p.events), slog.Int("left", p.left))
		return nil
	})
	if !made && !last.IsZero() && !last.Equal(s.turns.last) { // the last pass was another server's
		s.Metrics.due.Set(0)
		s.Metrics.last.Set(seconds(last))
	}
	if errors.Is(err, errTaken) {
		return nil
	}
	return err
}

// pass is one look at all histories.
type pass struct {
	*Sweeper
	now   time.Time
	pacer *background.Pacer

	users, events int // rewritten histories, and what was taken out of them
	left          int // see Metrics.due
}

// all goes through the shards, from any of them on: a server that is often started anew comes to
// each.
func (p *pass) all(ctx context.Context) error {
	users := 0
	err := p.Store.Each(ctx, 0, 1, func(string, store.Version) error { users++; return nil })
	if skipped, ok := errors.AsType[*store.SkippedError](err); ok {
		p.left += int(skipped.Users) + skipped.Ranges
	} else if err != nil {
		return err
	}
	shards := 1 + users/shardUsers
	first := mathrand.IntN(shards)
	for i := range shards {
		if err := p.shard(ctx, (first+i)%shards, shards); err != nil {
			return err
		}
	}
	return nil
}

// shard looks at the histories of a shard.
func (p *pass) shard(ctx context.Context, shard, of int) error {
	var users []string
	err := p.Store.Each(ctx, shard, of, func(user string, _ store.Version) error {
		users = append(users, user)
		return nil
	})
	if err != nil && !errors.Is(err, store.ErrCorrupt) { // which is counted already
		return err
	}
	for _, user := range users {
		if err := p.user(ctx, user); err != nil {
			return err
		}
		if err := p.pacer.Pause(ctx); err != nil {
			return err
		}
	}
	return nil
}

// user takes the old events out of a history.
func (p *pass) user(ctx context.Context, user string) error {
	old := 0
	head, _, err := p.Store.Since(ctx, user, store.Version{},
		func(_ store.Version, e store.Event) error {
			if p.old(e) {
				old++
			}
			return nil
		})
	damaged := errors.Is(err, store.ErrCorrupt)
	switch {
	case damaged || err == nil && old > 0 && head.Revision > p.Longest:
		p.left += max(old, 1)
		return nil
	case err != nil || old == 0:
		return err
	}
	_, err = follow.Rewrite(ctx, p.States, p.Follow, []string{user},
		func(h [][]store.Event) [][]store.Event {
			kept := slices.DeleteFunc(slices.Clone(h[0]), p.old)
			if old = len(h[0]) - len(kept); old == 0 {
				return [][]store.Event{nil}
			}
			return [][]store.Event{kept}
		})
	if errors.Is(err, store.ErrCorrupt) {
		p.left += old
		return nil
	}
	if err == nil && old > 0 {
		p.users++
		p.events += old
		p.Metrics.events.Add(float64(old))
	}
	return err
}

func (p *pass) old(e store.Event) bool { return p.Ages.Passed(e.Type, e.Time, p.now) }

// Metrics are the series of the passes.
type Metrics struct {
	metric.Set
	events    prometheus.Counter
	due, last prometheus.Gauge
}

// NewMetrics makes the series.
func NewMetrics() *Metrics {
	m := &Metrics{}
	m.events = m.Counter("gsimc_retention_events_total",
		"Events that were taken out of the store since they were older than --retain.")
	m.due = m.Gauge("gsimc_retention_due_events",
		"Events that are older than --retain and that the last pass of this server left, of "+
			"histories too long to be rewritten; a damaged history, or damaged part of a file, "+
			"counts as one at least.")
	m.last = m.Gauge("gsimc_retention_pass_timestamp_seconds",
		"When the last complete pass over all histories began, or the server before the first; "+
			"0 without --retain.")
	return m
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1e3 }
