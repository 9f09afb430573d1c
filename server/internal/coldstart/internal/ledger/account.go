// Package ledger keeps who has new items, and the account by which they are placed: in memory if a
// server has its store for itself ([Memory]), or in a store that several servers share ([Shared]).
// One of these places the items for all. The package does not know how items are placed.
package ledger

import (
	"math"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/content"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/samples"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/tally"
)

// An Account is what the server that places items knows of those that are new to a base. One
// goroutine uses it, but for the samples.
type Account struct {
	Samples  *samples.Items
	Rows     map[string]Row // of the items that were folded in, by id
	Unserved bool           // rows have changed since an extension was made of them
	More     bool           // items are left for the next time that have no row yet
	Searched bool           // the store has been searched for items that are new to the base
	Counted  bool           // the users of the store: a search has come to its end
	Weights  uint64         // hash of the weights of events that the rows were made by

	// Borrowed are the rows of other items, as another owner has left them; nil: the ones of
	// BorrowedVersion serve.
	Borrowed        []model.NewItem
	BorrowedVersion uint64

	Served map[string]bool // new items that served with the model before

	Tally   *tally.Tally // of the first events on all items; nil: the base is fixed
	Tallied bool         // a search has counted the histories of the store
	Heir    bool         // the tally has what was counted for another base: trends are due
	Span    int64        // that the trends which serve are after
}

// newAccount returns an account that nothing has been entered in.
func newAccount() *Account { return &Account{Samples: samples.New(), Rows: map[string]Row{}} }

// count begins to count the events on the items of a base.
func (a *Account) count(base *model.Model) {
	a.Tally, a.Tallied, a.Heir, a.Span = tally.New(base), false, false, 0
}

// Unsettle lets every item be folded in again, those too of which no sample is known yet.
func (a *Account) Unsettle() {
	for id, row := range a.Rows {
		row.Since = Unknown
		a.Rows[id] = row
	}
}

// A Row is the outcome of folding in an item.
type Row struct {
	Item  model.NewItem
	Users float64 // of the store, when the item was folded in
	Since int64   // first event of these users, in seconds since 1970; or Unknown
	Fault bool    // these users give no row
	Other bool    // another process has made it

	// Trace is a sum of hashes, one for each sampled user whose history it was placed by. Doubt
	// says that these may be others since another process has made it.
	Trace uint64
	Doubt bool

	// Near are items that are alike, by which it was placed too. Those of another process do
	// not say how much.
	Near []content.Neighbour
}

// Unknown is the Since of rows that another server has made, and of those to be made again.
const Unknown = math.MinInt64

// newTo reports whether an item is new to a base.
func newTo(base *model.Model) func(item string) bool {
	return func(item string) bool { _, known := base.ItemIndex(item); return !known }
}

// DutyCycle is the share of the time that is spent on reading histories, so that requests are not
// disturbed.
const DutyCycle = 0.5
