package coldstart

import (
	"context"
	"errors"

	"github.com/gsimc/gsimc/server/internal/background"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/ledger"
	"github.com/gsimc/gsimc/server/internal/models"
	"github.com/gsimc/gsimc/store"
)

// renewTrends reads the users whose histories have changed, and lets the trends after the last span
// serve, if they are others than those that do.
func (x *Extender) renewTrends(ctx context.Context, l *models.Lease, a *ledger.Account) error {
	if a.Tally == nil {
		return nil
	}
	if err := x.countChanged(ctx, l, a); err != nil {
		return err
	}
	span := a.Tally.Span(x.Now().Unix())
	if span == a.Span || !a.Tally.Due() {
		return nil
	}
	snapshot := a.Tally.Snapshot(x.stage.Extended(l), span)
	if err := x.ledger.PublishTrends(ctx, l, snapshot); err != nil {
		return err
	}
	a.Span = span
	return nil
}

// countChanged counts the users whose histories have changed as they are now. If there are many,
// some wait for the next look.
func (x *Extender) countChanged(ctx context.Context, l *models.Lease, a *ledger.Account) error {
	users, halved := a.Tally.Pending.Take(maxReads)
	a.Tally.Halve(halved)
	defer func() {
		for user := range users { // after an error: they are still to be read
			a.Tally.Pending.Add(user)
		}
	}()
	busy := func() error { return x.ledger.Busy(ctx, l.Base()) }
	pace := background.NewPacer(ledger.DutyCycle)
	for user := range users {
		if err := x.countUser(ctx, a, user); err != nil {
			return err
		}
		delete(users, user)
		if err := pace.Pause(ctx); err != nil {
			return err
		}
		if err := pace.Except(busy); err != nil {
			return err
		}
	}
	return nil
}

// countUser counts the history of a user as it is now.
func (x *Extender) countUser(ctx context.Context, a *ledger.Account, user string) error {
	counted := a.Tally.History(user)
	_, _, err := x.Store.Since(ctx, user, store.Version{},
		func(_ store.Version, e store.Event) error {
			if x.Updater.Weight(&e) > 0 {
				counted.Add(e.Item, e.Time.Unix())
			}
			return nil
		})
	if err != nil && !errors.Is(err, store.ErrCorrupt) {
		return err
	}
	counted.Count()
	return nil
}
