package coldstart

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/samples"
	"github.com/gsimc/gsimc/server/internal/models"
	"github.com/gsimc/gsimc/server/internal/tenure"
	"github.com/gsimc/gsimc/store"
)

// longestPoll is the longest time between two looks at the store for a newer extension.
const longestPoll = 250 * time.Millisecond

// sharing is the part of an [Extender] for a store that several servers share.
type sharing struct {
	Store   store.Shared
	notices *Notices
	first   bool // of the extenders of the server
	keeper  *tenure.Keeper
	x       *Extender

	// Used by the goroutine of Run alone.
	base      string          // version of the loaded model
	loaded    string          // name of the document that serves; empty: none
	items     []model.NewItem // of it
	refused   string          // name of a document that was refused
	owned     *owned          // nil: another server has the lease
	written   string          // the head as it was last written
	signs     uint64          // signs of life so far, no two of which are equal
	looked    time.Time       // last time of busy
	nextDrift time.Time
	tooLarge  bool // it has been logged that not all items fit into a note
	failing   bool
}

func newSharing(x *Extender, st store.Shared, n *Notices, first bool) *sharing {
	return &sharing{Store: st, notices: n, first: first, x: x,
		keeper: tenure.New(st, rand.Text(), x.Log)}
}

// run extends until ctx ends.
func (s *sharing) run(ctx context.Context) {
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		s.keeper.Run(ctx)
	}()
	defer func() { <-kept }()
	tick := time.NewTicker(min(max(s.x.every, time.Millisecond), longestPoll))
	defer tick.Stop()
	for now := true; ; {
		err := s.x.Guard(ctx, "extending the model", func() error { return s.look(ctx, now) })
		s.report(ctx, err)
		now = false
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-s.x.awake:
			now = true
		}
	}
}

// report counts and logs the first of several failures in a row.
func (s *sharing) report(ctx context.Context, err error) {
	if errors.Is(err, store.ErrLeaseLost) {
		if s.owned != nil {
			s.keeper.Lost(s.owned.term)
		}
		s.disown()
		err = nil
	}
	if err != nil && !s.failing && ctx.Err() == nil {
		s.x.failed(ctx, "the model could not be extended by new items", err)
	}
	s.failing = err != nil
	s.x.Metrics.setOwner(s.owned != nil)
}

// look lets the newest extension serve, and does the work of the owner if this server is it. now is
// set if the work should not wait for its time.
func (s *sharing) look(ctx context.Context, now bool) error {
	l := s.x.Models.Acquire()
	if l == nil {
		return nil
	}
	defer l.Release()
	if l.Root() != s.x.base {
		s.begin(ctx, l)
	}
	if now || !time.Now().Before(s.nextDrift) {
		s.nextDrift = time.Now().Add(s.x.every)
		if err := s.x.measureDrift(ctx, l.Model); err != nil {
			return err
		}
	}
	if s.x.fixed {
		return nil
	}
	if err := s.follow(ctx, l); err != nil {
		return err
	}
	term, held := s.keeper.Held(leaseName(s.base))
	if !held {
		if s.owned != nil {
			s.disown()
		}
		return nil
	}
	if s.owned == nil || s.owned.term != term {
		if err := s.take(ctx, l, term); err != nil {
			return err
		}
	}
	return s.own(ctx, l, now)
}

// disown forgets what only an owner knows: another server is told of erased users from now on.
func (s *sharing) disown() {
	s.owned, s.x.items, s.x.rows = nil, samples.New(), nil
	s.x.Metrics.pending.Set(0)
}

// begin starts anew with another model.
func (s *sharing) begin(ctx context.Context, l *models.Lease) {
	s.x.begin(ctx, l)
	s.base, s.loaded, s.items, s.refused, s.written = "", "", nil, "", ""
	s.owned, s.x.items = nil, samples.New()
	if s.x.fixed {
		s.keeper.Want("")
		return
	}
	s.base = l.Base().Version()
	s.keeper.Want(leaseName(s.base))
}
