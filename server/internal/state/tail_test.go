package state

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/servertest"
	"github.com/gsimc/gsimc/store"
)

// The state before a tail is the fold of the events before it. A second tail goes on behind a cut,
// as with events that come with a request. Every seventh item is unknown in some histories.
func TestTail(t *testing.T) {
	m, updater := servertest.NewLearnedModel(t, 1, true), NewUpdater(nil)
	for _, unknown := range []bool{false, true} {
		for _, length := range []int{0, 999, 1000, 1001, 1999, 2000, 2001, 3000, 4500} {
			u := New(m, NewTail(m))
			var all model.History
			for i := range 2 * length {
				if i == length {
					u.Tail.Cut(m, u.Revision)
				}
				e := store.Event{Item: servertest.Item(i % servertest.Items),
					Time: time.Unix(int64(1000*i), 0), Value: 1}
				if unknown && i%7 == 0 {
					e.Item = "unknown"
				} else {
					all = append(all, model.Event{Item: int32(i % servertest.Items), Weight: 1,
						Time: e.Time.Unix()})
				}
				updater.Fold(m, u, e)
			}
			u.Tail.Cut(m, u.Revision)
			name := fmt.Sprintf("twice %d events, unknown ones: %v", length, unknown)
			before, state := len(all)-len(u.Tail.Events), m.NewState()
			check.Same(t, "", cmp.Diff(all[before:], u.Tail.Events), "%s: the tail", name)
			if known := len(all) - before; known > TailEvents || before > 0 && !unknown &&
				known < TailEvents {
				t.Errorf("%s: %d events in the tail", name, known)
			}
			for _, e := range all[:before] {
				m.Fold(state, e)
			}
			check.Same(t, "", cmp.Diff(state, u.Tail.Before), "%s: the state before", name)
			for _, e := range u.Tail.Events {
				m.Fold(state, e)
			}
			check.Same(t, "", cmp.Diff(state, u.Kalman), "%s: the state", name)
		}
	}
}

// The events of a long history are not folded a second time, which would need a model.
func TestTailFoldsOnce(t *testing.T) {
	m := servertest.NewLearnedModel(t, 1, true)
	tail, s := NewTail(m), m.NewState()
	for i := range 5 * TailEvents {
		e := model.Event{Item: int32(i % servertest.Items), Weight: 1}
		m.Fold(s, e)
		tail.add(nil, uint64(i+1), e, s)
	}
	check.Same(t, uint64(4*TailEvents), tail.Before.Events, "events before the tail")
}
