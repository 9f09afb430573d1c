package coldstart

import (
	"errors"
	"fmt"
	"testing"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/servertest"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// A ledger that cannot be brought up to date when it is due gives its account out at the next look,
// due or not, and then not before it is due again.
func TestDueAccountIsNotForgotten(t *testing.T) {
	st := &away{Store: memory.New()}
	x := newSharedRig(t, st, servertest.NewModel(t, 1))
	l := x.own(t)
	x.hold(t)
	x.shared.owned.due = false
	for i, look := range []struct {
		prefix        string
		due, err, out bool
	}{
		{"", false, false, false},
		{noticesPrefix, true, true, false},
		{"", false, false, true},
		{"", false, false, false},
		{"", true, false, true},
	} {
		st.prefix = look.prefix
		a, err := x.shared.Take(t.Context(), l, look.due)
		if (err != nil) != look.err || (a != nil) != look.out {
			t.Errorf("look %d: account %v, error %v", i, a, err)
		}
	}
}

// Several servers look often, so that one outage is told once; a server of its own tells each
// failure.
func TestFailuresOfLooks(t *testing.T) {
	x := newSharedRig(t, memory.New(), servertest.NewModel(t, 1))
	failure := errors.New("an outage")
	for i, look := range []struct{ is, want error }{
		{nil, nil}, {failure, failure}, {failure, nil}, {nil, nil}, {failure, failure},
		{store.ErrLeaseLost, nil}, {failure, failure},
	} {
		if got := x.shared.Done(look.is); got != look.want {
			t.Errorf("look %d of several servers: %v is told, want %v", i, got, look.want)
		}
	}
	alone := newRig(t, memory.New(), servertest.NewModel(t, 1))
	for range 2 {
		if got := alone.ledger.Done(failure); got != failure {
			t.Errorf("%v is told, want %v", got, failure)
		}
	}
}

// Weights of events that are others for a while: the events of the while are found by a search.
func TestWeightsOfAWhile(t *testing.T) {
	x := newRig(t, memory.New(), servertest.NewModel(t, 1))
	look := func() {
		t.Helper()
		for range 2 { // searches, and places what was found
			if err := x.look(t.Context(), true); err != nil {
				t.Fatal(err)
			}
		}
	}
	look()
	before := x.Updater.Weights()
	x.Updater.SetWeights(map[string]float64{"like": 0})
	x.Reweighed()
	for u := range model.MinNewUsers {
		x.take(t, fmt.Sprint("user-", u), novelty)
	}
	x.Updater.SetWeights(before)
	x.Reweighed()
	look()
	l := x.Models.Acquire()
	defer l.Release()
	if _, known := l.ItemIndex(novelty); !known {
		t.Error("an item stays unknown whose events counted for nothing for a while")
	}
}
