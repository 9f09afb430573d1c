package coldstart

import (
	"context"
	"time"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/models"
)

// inMemory is the [Ledger] of a server that has its store for itself.
type inMemory struct {
	stage   *stage
	account *Account
}

func newMemory(s *stage) *inMemory { return &inMemory{s, newAccount()} }

func (m *inMemory) Arrived() { m.account.Samples.Add(1) }

func (m *inMemory) Note(user, item string) { m.account.Samples.Note(user, item) }

func (m *inMemory) Forget(user string) (due bool) { return m.account.Samples.Forget(user) }

func (m *inMemory) Run(context.Context) {}

// Begin keeps the items that are new to both models, and the number of users.
func (m *inMemory) Begin(base *model.Model, _ bool) {
	a := m.account
	a.Rows, a.Unserved, a.Searched = map[string]Row{}, false, false
	a.Samples.Keep(newTo(base))
}

func (m *inMemory) Take(context.Context, *models.Lease, bool) (*Account, error) {
	return m.account, nil
}

func (m *inMemory) Busy(context.Context, *model.Model) error { return nil }

func (m *inMemory) Publish(
	ctx context.Context, l *models.Lease, items []model.NewItem, began time.Time,
) error {
	extended, err := l.Extend(items)
	if err != nil {
		return err
	}
	return m.stage.serve(ctx, l, extended, len(items), began)
}

func (m *inMemory) Persist(context.Context) error { return nil }

func (m *inMemory) Done(err error) error { return err }
