package train

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/kalman/dynamics"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/model"
)

// The comparison of a new model with an old one.
const (
	compareCutoff   = 50   // N of recall@N
	compareUsers    = 2000 // users that lose their last event, at most
	compareShare    = 4    // one user in four may lose the last event
	compareMinUsers = 30   // fewer say nothing
)

// HeldOut holds events that were kept from a training, to compare the new model with an old one on
// them.
type HeldOut struct {
	events  *dataset.Interactions // of the users of targets alone
	targets Targets
	old     *model.Model
}

// TooFewError tells that there are too few users with recent events to compare models on, or too
// few events to learn from.
type TooFewError struct {
	Users int `json:"users"` // users with such events, of whom a quarter of all may be taken
	Of    int `json:"of"`    // all users
	Want  int `json:"want"`  // users that a comparison needs

	// Until is the time up to which the old model may have seen events, if no event is newer.
	Until *time.Time `json:"until,omitempty"`

	// Reason says in words that there is too little to learn from. No other field is set.
	Reason string `json:"reason,omitempty"`
}

// TooFew returns the *[TooFewError] in err, or that of an error which says that there is nothing to
// learn from. It is nil for other errors.
func TooFew(err error) *TooFewError {
	if few, ok := errors.AsType[*TooFewError](err); ok {
		return few
	}
	if !errors.Is(err, dataset.ErrNoData) && !errors.Is(err, dynamics.ErrNothingToPredict) {
		return nil
	}
	if f, ok := errors.AsType[*fault.Fault](err); ok {
		bare := *f
		bare.Advice = nil // more events will do
		err = &bare
	}
	return &TooFewError{Reason: err.Error()}
}

// Error implements error.
func (e *TooFewError) Error() string {
	if e.Reason != "" {
		return e.Reason
	}
	cause := ""
	if e.Until != nil {
		cause = fmt.Sprintf("no event is newer than %s, and the old model may have seen all until "+
			"then: ", e.Until.Format(time.RFC3339))
	}
	return cause + fmt.Sprintf(
		"%d of the %d users can be held out, want at least %d: a quarter of the users at most, "+
			"each with two items or more, the last of them after those that the old model was "+
			"trained on", e.Users, e.Of, e.Want)
}

// HoldOut takes the last events of up to 2000 users out of events, in place. The users are
// [RecentUsers] of the time after which old has seen nothing. The error is a *[TooFewError], which
// leaves events as they are.
func HoldOut(events *dataset.Interactions, old *model.Model) (*HeldOut, error) {
	until := KnownUntil(old.Spec().Provenance)
	users := RecentUsers(events, until, min(compareUsers, events.NumUsers()/compareShare))
	if len(users) < compareMinUsers {
		few := &TooFewError{Users: len(users), Of: events.NumUsers(), Want: compareMinUsers}
		if len(events.Time) > 0 && slices.Max(events.Time) <= until {
			at := time.Unix(until, 0).UTC()
			few.Until = &at
		}
		return nil, few
	}
	items := events.HoldOutLast(users)
	held := &HeldOut{events: events.Only(users), targets: Targets{Items: items}, old: old}
	for u := range users {
		held.targets.Users = append(held.targets.Users, int32(u))
	}
	return held, nil
}

// Hide leaves items that lists of the server do not have out of the comparison.
func (h *HeldOut) Hide(hidden func(id string) bool) { h.targets.Hidden = hidden }

// Users returns the number of users with an event that was held out.
func (h *HeldOut) Users() int { return len(h.targets.Users) }

// Comparable reports whether the old model knows an item of an event that was held out, and is not
// hidden. Otherwise [HeldOut.Compare] has nothing to rank.
func (h *HeldOut) Comparable() bool {
	return len(h.targets.shown(h.events).knownTo(h.events, h.old).Items) > 0
}

// Compare ranks the events that were held out by the old and the new model, see [Compare].
func (h *HeldOut) Compare(fresh *model.Model, est model.Estimator, progress Progress) *Comparison {
	progress.of(StageCompare)
	c := Compare(h.old, fresh, est, h.events, h.targets, compareCutoff)
	return &c
}
