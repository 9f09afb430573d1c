package coldstart

import (
	"context"
	"errors"
	"time"

	"github.com/gsimc/gsimc/server/internal/coldstart/internal/ledger"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/tally"
	"github.com/gsimc/gsimc/server/internal/models"
	"github.com/gsimc/gsimc/store"
)

// renewTrends lets the trends after the last span serve, if the base has some and they do not serve
// already. A span may be an hour long: what serves too early for it does not wait for the next one.
func (x *Extender) renewTrends(ctx context.Context, l *models.Lease, a *ledger.Account) error {
	span := a.Tally.Span(x.Now().Unix())
	if spec := l.Base().Spec().Trend; spec.None() {
		return nil
	}
	m := x.stage.Extended(l)
	if (span == a.Span || !a.Tally.Due()) && !a.Tally.Outdated(m) {
		return nil
	}
	snapshot := a.Tally.Snapshot(m, span)
	if err := x.ledger.PublishTrends(ctx, l, snapshot); err != nil {
		return err
	}
	a.Span = span
	a.Tally.Published(m, span)
	return nil
}

// inherit lets the trends serve that were counted for another base. If they are only close, the
// search that follows counts from nothing.
func (x *Extender) inherit(ctx context.Context, l *models.Lease, a *ledger.Account) error {
	if !a.Heir {
		return nil
	}
	a.Heir = false
	err := x.renewTrends(ctx, l, a)
	if !a.Tallied {
		a.Tally.Restart()
		a.Span = 0
	}
	return err
}

// countChanged counts the users whose histories have changed as they are now. If that takes long,
// or the catalogue changes, some wait for the next look, which comes at once: items that nobody has
// do not wait for them. As long as a search is still to count all users, those who have changed
// wait for its end.
func (x *Extender) countChanged(ctx context.Context, l *models.Lease, a *ledger.Account) error {
	if !a.Tallied {
		return nil
	}
	users, halved := a.Tally.Pending.Take(maxReads)
	more := len(users) == maxReads
	a.Tally.Halve(halved)
	defer func() {
		for user := range users { // after an error: they are still to be read
			a.Tally.Pending.Add(user)
		}
	}()
	rest := x.paced(ctx, l.Base())
	began := time.Now()
	for user := range users {
		if time.Since(began) > x.every || x.near.Due() {
			break
		}
		if err := x.countUser(ctx, a, user); err != nil {
			return err
		}
		delete(users, user)
		if err := rest(); err != nil {
			return err
		}
	}
	if len(users) > 0 || more { // who has changed since then waits: events never end
		x.Wake()
	}
	return nil
}

// countUser counts the history of a user as it is now.
func (x *Extender) countUser(ctx context.Context, a *ledger.Account, user string) error {
	counted := a.Tally.History(user)
	_, _, err := x.Store.Since(ctx, user, store.Version{},
		func(_ store.Version, e store.Event) error {
			x.count(counted, &e)
			return nil
		})
	if err != nil && !errors.Is(err, store.ErrCorrupt) {
		return err
	}
	counted.Count()
	return nil
}

// count counts an event, if it is one that counts.
func (x *Extender) count(h *tally.History, e *store.Event) {
	if x.Updater.Weight(e) > 0 {
		h.Add(e.Item, e.Time.Unix())
	}
}
