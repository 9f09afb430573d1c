package coldstart

import (
	"context"
	"time"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/samples"
	"github.com/gsimc/gsimc/server/internal/models"
)

// A Ledger takes down who has new items, and keeps the account by which they are placed: in the
// memory of the one server of a store ([inMemory]), or in the store of several ([shared]), one of
// which places the items for all.
type Ledger interface {
	// Arrived, Note and Forget take down events and erasures that have become durable: a new user
	// of the store, a user who has an item, and one who was erased. They wait for nothing, and are
	// safe for concurrent use. due asks for a look at once.
	Arrived()
	Note(user, item string)
	Forget(user string) (due bool)

	// Run keeps up what the ledger needs, until ctx ends.
	Run(ctx context.Context)

	// The other methods are called by one goroutine.

	// Begin turns to the items that are new to a base. They are not to be placed if it is fixed.
	Begin(base *model.Model, fixed bool)

	// Take returns the account of the base of l, up to date. It is nil if there is nothing to be
	// done: another server places the items, or it is not due yet.
	Take(ctx context.Context, l *models.Lease, due bool) (*Account, error)

	// Busy is called now and then while histories are read. Its error ends the work.
	Busy(ctx context.Context, base *model.Model) error

	// Publish lets l's model serve with these items, on all servers.
	Publish(ctx context.Context, l *models.Lease, items []model.NewItem, began time.Time) error

	// Persist keeps the account as it is now.
	Persist(ctx context.Context) error

	// Done ends a look, whose error this is. It returns the error that is to be told.
	Done(err error) error
}

// An Account is what the server that places items knows of those that are new to a base. One
// goroutine uses it, but for the samples.
type Account struct {
	Samples  *samples.Items
	Rows     map[string]Row // of the items that were folded in, by id
	Unserved bool           // rows have changed since an extension was made of them
	Searched bool           // the store has been searched for items that are new to the base
	Counted  bool           // the users of the store: a search has come to its end
	Weights  uint64         // hash of the weights of events that the rows were made by
}

// newAccount returns an account that nothing has been entered in.
func newAccount() *Account { return &Account{Samples: samples.New(), Rows: map[string]Row{}} }

// Row is the outcome of folding in an item.
type Row struct {
	Item  model.NewItem
	Users float64 // of the store, when the item was folded in
	Fault bool    // these users give no row
}

// newTo reports whether an item is new to a base.
func newTo(base *model.Model) func(item string) bool {
	return func(item string) bool { _, known := base.ItemIndex(item); return !known }
}
