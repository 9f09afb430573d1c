package coldstart

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/trend"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/ledger"
	"github.com/gsimc/gsimc/server/internal/models"
)

// A Ledger takes down who has new items, and keeps the account by which they are placed: in memory
// ([ledger.Memory]), or in a store that several servers share ([ledger.Shared]).
type Ledger interface {
	// Arrived, Changed, Note and Forget take down events and erasures that have become durable: a
	// new user of the store, one with another history, one who has an item, one who was erased.
	// They wait for nothing, and are safe for concurrent use. told is [state.Written.Told] of the
	// user, or nil. due asks for a look at once.
	Arrived()
	Changed(user string, told *atomic.Uint64)
	Note(user, item string)
	Forget(user string) (due bool)

	// Run keeps up what the ledger needs, until ctx ends.
	Run(ctx context.Context)

	// The other methods are called by one goroutine.

	// Begin turns to the items that are new to a base. They are not to be placed if it is fixed.
	Begin(base *model.Model, fixed bool)

	// Take returns the account of the base of l, up to date. It is nil if there is nothing to be
	// done: another server places the items, or it is not due yet.
	Take(ctx context.Context, l *models.Lease, due bool) (*ledger.Account, error)

	// Busy is called now and then while histories are read. Its error ends the work.
	Busy(ctx context.Context, base *model.Model) error

	// Publish lets l's model serve with these items, on all servers.
	Publish(ctx context.Context, l *models.Lease, items []model.NewItem, began time.Time) error

	// PublishTrends lets trends serve for l's model, on all servers. They get their name.
	PublishTrends(ctx context.Context, l *models.Lease, s *trend.Snapshot) error

	// Persist keeps the account of the base of l as it is now, or soon after.
	Persist(ctx context.Context, l *models.Lease) error

	// End keeps what is left to be kept, after the last look.
	End(ctx context.Context, l *models.Lease)

	// Done ends a look, whose error this is. It returns the error that is to be told.
	Done(err error) error
}

var (
	_ Ledger = (*ledger.Memory)(nil)
	_ Ledger = (*ledger.Shared)(nil)
)
