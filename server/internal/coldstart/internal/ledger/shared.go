package ledger

import (
	"context"
	"crypto/rand"
	"errors"
	"sync/atomic"
	"time"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/models"
	"github.com/gsimc/gsimc/server/internal/state"
	"github.com/gsimc/gsimc/server/internal/tenure"
	"github.com/gsimc/gsimc/store"
)

// LongestPoll is the longest time between two looks at the store for a newer extension.
const LongestPoll = 250 * time.Millisecond

// Shared is the ledger of one of several servers of a store. All post what they notice, and let
// the extensions serve that they find in the store. The holder of the lease of a base has the
// account of it.
type Shared struct {
	store   store.Shared
	notices *Notices
	first   bool // of the extenders of the server
	updater *state.Updater
	stage   *Stage
	keeper  *tenure.Keeper

	// Used by the goroutine that places items alone.
	base     string          // version of the loaded model; empty: it cannot be extended
	loaded   string          // name of the document that serves; empty: none
	items    []model.NewItem // of it
	refused  string          // name of a document that was refused
	trends   string          // name of the trends that serve, or were refused; empty: none
	owned    *owned          // nil: another server has the lease
	written  string          // the head as it was last written
	signs    uint64          // signs of life so far, no two of which are equal
	looked   time.Time       // last time of Busy
	resting  time.Time       // Busy merges nothing until then
	tooLarge bool            // it has been logged that not all items fit into a note
	failing  bool
}

// NewShared returns the ledger of one of several extenders of a server; first is set for one of
// them.
func NewShared(n *Notices, first bool, u *state.Updater, st *Stage) *Shared {
	return &Shared{store: n.Store, notices: n, first: first, updater: u, stage: st,
		keeper: tenure.New(n.Store, rand.Text(), st.Log)}
}

// Arrived tells the owners of a new user of the store, once for all extenders of the server.
func (s *Shared) Arrived() {
	if s.first {
		s.notices.items.Add(1)
	}
}

// Changed tells the owners that a user has another history, once for all extenders of the server.
func (s *Shared) Changed(user string, told *atomic.Uint64) {
	if s.first {
		add(s.notices.changed, user, told)
	}
}

// Note tells the owners that a user has an item.
func (s *Shared) Note(user, item string) { s.notices.items.Note(user, item) }

// Forget tells the owners of an erased user, at once.
func (s *Shared) Forget(user string) (due bool) {
	s.notices.forget(user, s.first)
	return false
}

// Run keeps the lease of the base.
func (s *Shared) Run(ctx context.Context) { s.keeper.Run(ctx) }

// Begin turns to another base: what is known of it stands in the store.
func (s *Shared) Begin(base *model.Model, fixed bool) {
	s.base, s.loaded, s.items, s.refused, s.trends, s.written = "", "", nil, "", "", ""
	s.stage.begin()
	s.disown()
	if fixed {
		s.keeper.Want("")
		return
	}
	s.base = base.Version()
	s.keeper.Want(leaseName(s.base))
}

// Take lets the newest extension serve. The owner also merges what servers have noticed; it gets
// the account when that is due.
func (s *Shared) Take(ctx context.Context, l *models.Lease, due bool) (*Account, error) {
	if err := s.follow(ctx, l); err != nil {
		return nil, err
	}
	term, held := s.keeper.Held(leaseName(s.base))
	if !held {
		s.disown()
		return nil, nil
	}
	if s.owned == nil || s.owned.term != term {
		err := s.takeOver(ctx, l.Base(), term)
		s.stage.Metrics.SetOwner(s.owned != nil) // a look may take long, and is not over
		if err != nil {
			return nil, err
		}
	}
	o := s.owned
	o.due = o.due || due || o.account.More
	if err := s.catchUp(ctx, l.Base()); err != nil || !o.due {
		return nil, err
	}
	o.due = false
	return o.account, nil
}

// Done counts a failure once for several in a row: what fails is tried again soon.
func (s *Shared) Done(err error) error {
	if errors.Is(err, store.ErrLeaseLost) {
		if s.owned != nil {
			s.keeper.Lost(s.owned.term)
		}
		s.disown()
		err = nil
	}
	before := s.failing
	s.failing = err != nil
	if before {
		return nil
	}
	return err
}

// disown forgets what only an owner knows: another server is told of erased users from now on.
func (s *Shared) disown() {
	s.owned = nil
	s.stage.Metrics.SetOwner(false)
	s.stage.Metrics.Pending.Set(0)
}
