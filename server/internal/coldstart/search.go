package coldstart

import (
	"context"
	"errors"
	"strings"

	"github.com/gsimc/gsimc/server/internal/background"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/ledger"
	"github.com/gsimc/gsimc/server/internal/models"
	"github.com/gsimc/gsimc/store"
)

// search notes all items of the store that are new to the model of l, in addition to those noted
// already, and counts all first events for the trends. It ends early when another model is loaded.
func (x *Extender) search(ctx context.Context, l *models.Lease, a *ledger.Account) error {
	base := l.Base()
	pace := background.NewPacer(ledger.DutyCycle)
	busy := func() error { return x.ledger.Busy(ctx, base) }
	var users, before int64
	err := x.Store.Each(ctx, 0, 1, func(user string, _ store.Version) error {
		if !x.Models.Serves(l) {
			return ledger.ErrOtherModel
		}
		// the users are those of this moment: users who arrive later are not among them
		if users == 0 {
			before = a.Samples.Total()
		}
		users++
		counted := a.Tally.History(user)
		note := func(_ store.Version, e store.Event) error {
			if x.isNew(base, &e) {
				a.Samples.Note(strings.Clone(user), strings.Clone(e.Item))
			}
			if x.Updater.Weight(&e) > 0 {
				counted.Add(e.Item, e.Time.Unix())
			}
			return nil
		}
		_, _, err := x.Store.Since(ctx, user, store.Version{}, note)
		// the histories of other users are worth reading
		if err != nil && !errors.Is(err, store.ErrCorrupt) {
			return err
		}
		counted.Count()
		a.Samples.Trim()
		if err := pace.Except(busy); err != nil {
			return err
		}
		return pace.Pause(ctx)
	})
	if _, damaged := errors.AsType[*store.SkippedError](err); damaged {
		err = nil // the users who can be read are what there is
	}
	if err != nil {
		return err
	}
	a.Samples.Recount(users, before)
	a.Searched, a.Counted, a.Tallied = true, true, true
	x.Wake() // to fold in the items that were found
	return nil
}
