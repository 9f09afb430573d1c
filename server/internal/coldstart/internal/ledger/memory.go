package ledger

import (
	"context"
	"time"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/models"
)

// Memory is the ledger of a server that has its store for itself.
type Memory struct {
	stage   *Stage
	account *Account
}

// NewMemory returns a ledger of no items.
func NewMemory(s *Stage) *Memory { return &Memory{s, newAccount()} }

// Arrived counts a new user of the store.
func (m *Memory) Arrived() { m.account.Samples.Add(1) }

// Note takes down that a user has an item.
func (m *Memory) Note(user, item string) { m.account.Samples.Note(user, item) }

// Forget takes an erased user out of the samples, not before the next look. It is due if many wait.
func (m *Memory) Forget(user string) (due bool) { return m.account.Samples.Forget(user) }

// Run does nothing: memory needs no keeping up.
func (m *Memory) Run(context.Context) {}

// Begin keeps the items that are new to both models, and the number of users.
func (m *Memory) Begin(base *model.Model, _ bool) {
	a := m.account
	a.Rows, a.Unserved, a.More, a.Searched = map[string]Row{}, false, false, false
	a.Samples.Keep(newTo(base))
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

// Persist does nothing: the account is found again by a search.
func (m *Memory) Persist(context.Context) error { return nil }

// Done takes the erased users out of the samples: a look that places nothing, as while no model
// serves that could be extended, takes no census. It returns the error: each one is told.
func (m *Memory) Done(err error) error {
	m.account.Samples.Purge()
	return err
}
