package coldstart

import (
	"math"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/content"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/ledger"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/samples"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/tally"
)

// pace tells how many users an item would have in the training.
type pace struct {
	base    *model.Model
	counted *tally.Pace // nil: too few of the histories have been counted
	share   float64     // training users that one of the store stands for until then
}

func paceOf(a *ledger.Account, base *model.Model, now samples.Census) *pace {
	if a.Tallied && !a.Tally.Behind() {
		return &pace{base: base, counted: a.Tally.Pace()}
	}
	return &pace{base: base,
		share: min(1, float64(base.NumTrainUsers())/float64(max(now.Users, 1)))}
}

// expected is the number for an item with so many users of the store, whose first event was at a
// time, and with these neighbours in content.
func (p *pace) expected(users float64, since int64, near []content.Neighbour) float64 {
	if p.counted == nil {
		return max(p.share*users, p.base.DegreeNear(near))
	}
	return p.counted.Expected(users, since, p.base.DegreeNear(near))
}

// settles reports whether a row is still good for its item, which has this number of users by now,
// and near as its neighbours in content.
func (p *pace) settles(old *ledger.Row, users float64, near []content.Neighbour) bool {
	if p.counted == nil || old.Fault {
		return true
	}
	was := float64(old.Item.Users)
	return old.Since != ledger.Unknown &&
		math.Abs(max(1, p.expected(users, old.Since, near))-was) <= max(settledDegree*was, 0.5)
}
