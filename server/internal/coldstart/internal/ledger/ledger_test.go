package ledger

import (
	"errors"
	"testing"

	"github.com/gsimc/gsimc/server/internal/servertest"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// A ledger that cannot be brought up to date when it is due gives its account out at the next look,
// due or not, and then not before it is due again, or while items wait for their rows.
func TestDueAccountIsNotForgotten(t *testing.T) {
	st := &away{Store: memory.New()}
	x := newSharedRig(t, st, servertest.NewModel(t, 1))
	l := x.own(t)
	x.hold(t)
	x.owned.due = false
	for i, look := range []struct {
		prefix              string
		due, more, err, out bool
	}{
		{"", false, false, false, false},
		{noticesPrefix, true, false, true, false},
		{"", false, false, false, true},
		{"", false, false, false, false},
		{"", true, false, false, true},
		{"", false, true, false, true},
		{"", false, false, false, false},
	} {
		st.prefix, x.owned.account.More = look.prefix, look.more
		a, err := x.Take(t.Context(), l, look.due)
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
		if got := x.Done(look.is); got != look.want {
			t.Errorf("look %d of several servers tells: %v, want %v", i, got, look.want)
		}
	}
	alone := NewMemory(x.stage, "")
	for range 2 {
		if got := alone.Done(failure); got != failure {
			t.Errorf("a server alone tells: %v, want %v", got, failure)
		}
	}
}
