package ledger

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/trend"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/tally"
	"github.com/gsimc/gsimc/server/internal/models"
)

// Memory is the ledger of a server that has its store for itself.
type Memory struct {
	stage   *Stage
	account *Account
	changed atomic.Pointer[tally.Pending] // of the account's tally; nil: it has none
}

// NewMemory returns a ledger of no items.
func NewMemory(s *Stage) *Memory { return &Memory{stage: s, account: newAccount()} }

// Arrived counts a new user of the store.
func (m *Memory) Arrived() { m.account.Samples.Add(1) }

// Changed takes down that a user has another history.
func (m *Memory) Changed(user string) {
	if p := m.changed.Load(); p != nil {
		p.Add(user)
	}
}

// Note takes down that a user has an item.
func (m *Memory) Note(user, item string) { m.account.Samples.Note(user, item) }

// Forget takes an erased user out of the samples, not before the next look. It is due if many wait.
func (m *Memory) Forget(user string) (due bool) {
	m.Changed(user)
	return m.account.Samples.Forget(user)
}

// Run does nothing: memory needs no keeping up.
func (m *Memory) Run(context.Context) {}

// Begin keeps the items that are new to both models, and the number of users.
func (m *Memory) Begin(base *model.Model, fixed bool) {
	a := m.account
	a.Rows, a.Unserved, a.More, a.Searched = map[string]Row{}, false, false, false
	a.Samples.Keep(newTo(base))
	m.stage.begin()
	a.Tally = nil
	m.changed.Store(nil)
	if !fixed {
		a.count(base)
		m.changed.Store(a.Tally.Pending)
	}
}

// Take returns the account, which is always up to date.
func (m *Memory) Take(context.Context, *models.Lease, bool) (*Account, error) {
	return m.account, nil
}

// Busy does nothing: nobody else waits for this server.
func (m *Memory) Busy(context.Context, *model.Model) error { return nil }

// Publish extends the model of this server.
func (m *Memory) Publish(
	ctx context.Context, l *models.Lease, items []model.NewItem, began time.Time,
) error {
	extended, err := l.Extend(items)
	if err != nil {
		return err
	}
	return m.stage.serve(ctx, l, extended, len(items), began)
}

// PublishTrends lets a snapshot serve on this server.
func (m *Memory) PublishTrends(
	ctx context.Context, l *models.Lease, s *trend.Snapshot,
) error {
	if _, err := s.Encode(l.Base().Version()); err != nil { // it gets its name
		return err
	}
	return m.stage.serveTrends(ctx, l, s)
}

// Persist does nothing: the account is found again by a search.
func (m *Memory) Persist(context.Context) error { return nil }

// Done takes the erased users out of the samples: a look that places nothing, as while no model
// serves that could be extended, takes no census. It returns the error: each one is told.
func (m *Memory) Done(err error) error {
	m.account.Samples.Purge()
	return err
}
