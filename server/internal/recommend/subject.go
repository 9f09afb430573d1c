package recommend

import (
	"context"
	"math"
	"slices"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/server/internal/outcome"
	"github.com/gsimc/gsimc/server/internal/state"
	"github.com/gsimc/gsimc/server/internal/valid"
	"github.com/gsimc/gsimc/store"
)

// findSubject finds the state of the list's subject, and reads it: the query, its variance, the
// seen items that are skipped, and what subject holds.
func (l *list) findSubject(ctx context.Context) (err error) {
	l.rule, l.at = newSeenRule(l.req.GetSeen(), l.now, l.rule.kinds), l.now.Unix()
	if l.req.GetHistory() != nil {
		l.readInline()
		l.out.UserRevision = l.version.Revision
		return nil
	}
	if len(l.req.GetSessionToken()) == 0 {
		err = l.view(ctx)
	} else {
		err = l.reach(ctx)
	}
	if err != nil {
		return err
	}
	if l.version.Revision < l.req.GetMinUserRevision() {
		return outcome.ErrStaleRevision
	}
	l.out.UserRevision = l.version.Revision
	return nil
}

// view reads the stored state of the user, with its tail if the list needs its events.
func (l *list) view(ctx context.Context) error {
	if l.whole() {
		return l.s.States.ViewTail(ctx, l.Model, l.req.GetUserId(), l.read)
	}
	return l.s.States.View(ctx, l.Model, l.req.GetUserId(), l.read)
}

// readInline reads the history that came with the request.
func (l *list) readInline() {
	u := l.inlineState()
	timed := slices.ContainsFunc(l.req.GetHistory().GetEntries(),
		func(e *pb.HistoryEntry) bool { return e.GetEventTime() != nil })
	if !timed { // without times, no time has passed since the last event
		l.at, l.rule.oldest = u.Kalman.Time, math.MinInt64
	}
	l.readUser(u)
	l.version, l.timed = store.Version{}, timed
}

// readState reads a stored state, with the events that came with the request. The last call counts.
func (l *list) readState(u *state.User) {
	if l.req.GetExtraHistory() != nil {
		u = l.withExtra(u)
	}
	l.readUser(u)
}

// readUser reads a state. A nil state is that of a user without history.
func (l *list) readUser(u *state.User) {
	l.skipped, l.subject = l.skipped[:0], subject{}
	if u == nil {
		if l.HasVariance() { // the expectation of any user can be explored
			l.readQuery(l.NewState())
		}
		return
	}
	l.readQuery(u.Kalman)
	l.skipped = l.rule.appendTo(l.skipped, u.Seen)
	l.subject = subject{known: true, usable: u.Usable(), timed: true, version: u.Version,
		tail: u.Tail}
	l.readOwn(u)
}

// readQuery reads the query of a state and its variance.
func (l *list) readQuery(of *kalman.State) {
	l.QueryTo(l.query, of, l.s.Estimator)
	if l.HasVariance() {
		l.VarianceTo(l.variance, of, l.at)
	}
}

// newTail returns what records the events; nil if the list does not need them.
func (l *list) newTail() *state.Tail {
	if l.whole() {
		return state.NewTail(l.Model)
	}
	return nil
}

// inlineState folds the history that came with the request.
func (l *list) inlineState() *state.User {
	u, h, at := state.New(l.Model, l.newTail()), l.req.GetHistory(), time.Unix(0, 0)
	for _, e := range h.GetEntries() {
		if t := e.GetEventTime(); t != nil {
			at = t.AsTime()
			break
		}
	}
	l.fold(u, h, at)
	return u
}

// withExtra is the state u of a user, nil for one without history, after the events that came with
// the request. It leaves u as it is, unless that has a tail, which only the call has. The version
// stays that of the stored history.
func (l *list) withExtra(u *state.User) *state.User {
	switch {
	case u == nil:
		u = state.New(l.Model, l.newTail())
	case u.Tail == nil:
		u = u.Clone()
	}
	version := u.Version
	l.fold(u, l.req.GetExtraHistory(), l.now)
	u.Version = version
	return u
}

// fold folds entries into u. The first ones without a time happened at the given one.
func (l *list) fold(u *state.User, h *pb.InlineHistory, at time.Time) {
	for _, e := range h.GetEntries() {
		if t := e.GetEventTime(); t != nil {
			at = t.AsTime()
		}
		l.s.Updater.Fold(l.Model, u, store.Event{Item: e.GetItemId(),
			Type: valid.EventType(e.GetEventType()), Time: at, Value: valid.Value(e.Value)})
	}
	u.Tail.Cut(l.Model, u.Revision)
}
