package coldstart

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/gsimc/gsimc/server/internal/background"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/ledger"
	"github.com/gsimc/gsimc/server/internal/models"
	"github.com/gsimc/gsimc/store"
)

// search notes all items of the store that are new to the model of l, in addition to those noted
// already, and counts all first events. It ends early when another model is loaded. Meanwhile the
// items that are known go on being placed.
func (x *Extender) search(ctx context.Context, l *models.Lease, a *ledger.Account) error {
	base := l.Base()
	pace := background.NewPacer(ledger.DutyCycle)
	looked := time.Now()
	meanwhile := func() error {
		due := a.Counted && time.Since(looked) >= x.every
		if !due && !x.near.Due() && !x.near.UnderWay() {
			return x.ledger.Busy(ctx, base)
		}
		looked = time.Now()
		return x.goOn(ctx, l, a)
	}
	var users, before int64
	shards := 1
	if a.Searched { // for items, by another owner: a part of the store may do for the rest
		shards = a.Tally.Shards(a.Samples.Total())
	}
	err := x.Store.Each(ctx, 0, shards, func(user string, _ store.Version) error {
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
			if !a.Searched && x.isNew(base, &e) {
				a.Samples.Note(strings.Clone(user), strings.Clone(e.Item))
			}
			x.count(counted, &e)
			return nil
		}
		_, _, err := x.Store.Since(ctx, user, store.Version{}, note)
		// the histories of other users are worth reading
		if err != nil && !errors.Is(err, store.ErrCorrupt) {
			return err
		}
		counted.Count()
		a.Samples.Trim()
		if err := pace.Except(meanwhile); err != nil {
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
	if !a.Counted {
		a.Samples.Recount(users, before)
	}
	a.Searched, a.Counted, a.Tallied = true, true, true
	x.Wake() // to fold in the items that were found
	return nil
}

// goOn places the items that are known by now while a search is under way for a.
func (x *Extender) goOn(ctx context.Context, l *models.Lease, a *ledger.Account) error {
	now, err := x.ledger.Take(ctx, l, true)
	if err != nil {
		return err
	}
	if now != a { // begin the search anew
		return ledger.ErrOtherModel
	}
	if err := x.update(ctx, l, a); err != nil {
		return err
	}
	return x.ledger.Persist(ctx, l)
}
