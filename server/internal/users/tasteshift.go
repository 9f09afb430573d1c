package users

import (
	"math"
	"time"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/state"
	"github.com/gsimc/gsimc/store"
)

// shiftWindow is the time before the newest event within which a shift of taste counts.
const shiftWindow = 30 * 24 * time.Hour

// tasteShift measures how far the taste of a user has moved: the cosine distance
//
//	1 − a·b / (‖a‖ ‖b‖),    a = q(all events) − q_0,    b = q(old events) − q_0
//
// between two states by one model, with q the spectrum of the query of a state, q_0 that of a state
// without events, and old the events that are older than the newest one by [shiftWindow] or more.
// The columns of the basis are orthonormal, so this is the distance of the scores of all items, but
// for the degree rescaling. The local term, which is about the last few events, is left out.
type tasteShift struct {
	model     *model.Model
	estimator model.Estimator
	updater   *state.Updater

	now   []float32   // q of all events; nil: no taste is known
	until time.Time   // the newest time of old events
	old   *state.User // of the old events so far
}

// begin takes note of the state of all events, and expects the events.
func (t *tasteShift) begin(u *state.User) {
	t.now, t.until, t.old = t.spectrum(u), u.Last.Add(-shiftWindow), state.New(t.model, nil)
}

// add takes the next event of the history.
func (t *tasteShift) add(e store.Event) {
	if t.now != nil && !e.Time.After(t.until) {
		t.updater.Fold(t.model, t.old, e)
	}
}

// value returns the distance, or nil if one of the two states knows no taste.
func (t *tasteShift) value() *float64 {
	then := t.spectrum(t.old)
	if t.now == nil || then == nil {
		return nil
	}
	fresh := t.model.NewQuery()
	t.model.QueryTo(fresh, t.model.NewState(), t.estimator)
	var aa, bb, ab float64
	for l, zero := range fresh.Spectrum {
		a, b := float64(t.now[l])-float64(zero), float64(then[l])-float64(zero)
		aa, bb, ab = aa+a*a, bb+b*b, ab+a*b
	}
	if aa == 0 || bb == 0 {
		return nil
	}
	shift := 1 - min(max(ab/math.Sqrt(aa)/math.Sqrt(bb), -1), 1)
	return &shift
}

// spectrum returns the spectrum of the query of a state, or nil without an event that tells of a
// taste.
func (t *tasteShift) spectrum(u *state.User) []float32 {
	if u == nil || !u.Usable() {
		return nil
	}
	q := t.model.NewQuery()
	t.model.QueryTo(q, u.Kalman, t.estimator)
	return q.Spectrum
}
