package coldstart

import (
	"context"
	"slices"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/content"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/ledger"
	"github.com/gsimc/gsimc/server/internal/models"
)

// settledContent is the number of users from which on content says too little beside them, see
// [model.Evidence.PlaceNear], to place an item again.
const settledContent = 100

// borrow lets the items that nobody has borrow rows by what the catalogue says now. If that takes
// long, it goes on with the next look, which comes at once.
func (x *Extender) borrow(ctx context.Context, l *models.Lease, a *ledger.Account) error {
	more, err := x.near.Renew(x.every, a.Samples.Has, x.paced(ctx, l.Base()))
	if err != nil {
		return err
	}
	if more {
		x.Wake()
	}
	if !x.near.Ready() {
		return nil
	}
	if version := x.near.Version(); version != a.BorrowedVersion || len(a.Borrowed) > 0 {
		a.BorrowedVersion, a.Borrowed, a.Unserved = version, nil, true
	}
	return nil
}

// least is the number of users that an item needs for a row of its own.
func (x *Extender) least(id string) float64 {
	if x.near.Near(id) != nil {
		return 1 // the items that are alike speak for it too
	}
	return model.MinNewUsers
}

// keeps reports whether a row of another server stays as it is: that server knew how fast events
// come and what the catalogue says, and this one does not yet know both.
func (x *Extender) keeps(old *ledger.Row, p *pace) bool {
	return old.Other && (p.counted == nil || !x.near.Ready())
}

// settles reports whether a row is good for an item with the neighbours that it has by now. Which
// items are alike counts, and not the last bits of how much.
func settles(old *ledger.Row, near []content.Neighbour) bool {
	return old.Users >= settledContent ||
		slices.EqualFunc(old.Near, near, func(a, b content.Neighbour) bool {
			return a.Item == b.Item
		})
}

// refused tells of the first new item that gets no row.
func (x *Extender) refused(ctx context.Context, err error) {
	if !x.warned {
		x.warned = true
		x.stage.Failed(ctx,
			"a new item stays without a row; no other one of this model will be reported", err)
	}
}
