package coldstart

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/ledger"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/samples"
	"github.com/gsimc/gsimc/server/internal/models"
	"github.com/gsimc/gsimc/server/internal/servertest"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// fakeLedger notes what an extender does with it. It fails where it is told to.
type fakeLedger struct {
	*ledger.Memory
	calls []string
	fails string        // the call that fails; empty: none
	takes time.Duration // that Busy takes
	busy  int           // calls of it
}

var errFake = errors.New("the ledger is away")

func (f *fakeLedger) call(name string) error {
	if n := len(f.calls); n == 0 || f.calls[n-1] != name {
		f.calls = append(f.calls, name)
	}
	if f.fails == name {
		return errFake
	}
	return nil
}

func (f *fakeLedger) Busy(context.Context, *model.Model) error {
	f.busy++
	time.Sleep(f.takes)
	return f.call("busy")
}

func (f *fakeLedger) Publish(
	_ context.Context, _ *models.Lease, items []model.NewItem, _ time.Time,
) error {
	return f.call(fmt.Sprint("publish ", len(items)))
}

func (f *fakeLedger) Take(
	ctx context.Context, l *models.Lease, due bool,
) (*ledger.Account, error) {
	if f.fails == "take" {
		return nil, f.call("take")
	}
	return f.Memory.Take(ctx, l, due)
}

func (f *fakeLedger) Persist(context.Context, *models.Lease) error { return f.call("persist") }

func (f *fakeLedger) End(context.Context, *models.Lease) {
	if f.call("end") != nil {
		panic("in the end")
	}
}

// newFakeRig is an extender over a fake ledger, and a store with enough users of a new item.
func newFakeRig(t *testing.T) (*rig, *fakeLedger) {
	t.Helper()
	x := newRig(t, memory.New(), servertest.NewModel(t, 1))
	f := &fakeLedger{Memory: x.ledger.(*ledger.Memory)}
	x.ledger = f
	for u := range model.MinNewUsers + 2 {
		x.take(t, fmt.Sprint("user-", u), novelty)
	}
	return x, f
}

// What a ledger does while histories are read rests by itself, and the reading not as well.
func TestReadingDoesNotRestForItsLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, f := newFakeRig(t)
		f.takes = time.Second
		began := time.Now()
		must(t, x.look(t.Context(), true))
		if took := time.Since(began); f.busy == 0 || took > time.Duration(f.busy)*f.takes*3/2 {
			t.Errorf("%v, of which %d calls of the ledger took %v each", took, f.busy, f.takes)
		}
	})
}

// What is left is kept after the last look. A panic of it does not end the process.
func TestEndOfRun(t *testing.T) {
	x, f := newFakeRig(t)
	f.fails = "end"
	x.Guard = func(_ context.Context, what string, work func() error) (err error) {
		defer func() {
			if recover() != nil {
				f.calls = append(f.calls, "panic while "+what)
			}
		}()
		return work()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	x.Run(ctx)
	if n := len(f.calls); n < 2 || f.calls[n-2] != "end" ||
		f.calls[n-1] != "panic while keeping new items" {
		t.Errorf("the calls of the ledger end with %v", f.calls)
	}
}

// Who follows an owner reads no histories before: neither items nor trends wait for the drift.
func TestDriftWaitsForOthers(t *testing.T) {
	st := &servertest.Store{Store: memory.New()}
	x := newRig(t, st, servertest.NewModel(t, 1))
	for u := range model.MinNewUsers {
		x.take(t, fmt.Sprint("user-", u), servertest.Item(u))
	}
	f := &fakeLedger{Memory: x.ledger.(*ledger.Memory), fails: "take"}
	x.ledger = f
	st.SinceFunc = func(
		ctx context.Context, user string, known store.Version,
		fn func(store.Version, store.Event) error,
	) (store.Version, bool, error) {
		if len(f.calls) == 0 {
			t.Error("a history is read before the ledger is asked")
		}
		return st.Store.Since(ctx, user, known, fn)
	}
	if err := x.look(t.Context(), true); !errors.Is(err, errFake) {
		t.Errorf("%v, want that of the ledger", err)
	}
	if _, news := x.recent.take(); news {
		t.Error("without a ledger the drift is not measured")
	}
}

// The ledger is told of long work while the store is searched and while histories are read, and it
// keeps the account after each look that has come to its end.
func TestExtenderUsesItsLedger(t *testing.T) {
	x, f := newFakeRig(t)
	for i, look := range []struct {
		fails string
		err   error
		want  []string
	}{
		{"busy", errFake, []string{"busy"}},
		{"", nil, []string{"busy", "persist"}},
		{"busy", errFake, []string{"busy"}},
		{"publish 1", errFake, []string{"busy", "publish 1"}},
		// nothing new has been noticed since, and what was placed does not serve yet
		{"persist", errFake, []string{"publish 1", "persist"}},
		{"", nil, []string{"persist"}},
	} {
		f.calls, f.fails = nil, look.fails
		check.Fails(t, x.look(t.Context(), true), look.err, "look %d", i)
		check.Same(t, look.want, f.calls, "calls of look %d", i)
	}
}

// An owner that has to count all histories places new items meanwhile.
func TestItemsDoNotWaitForTheCount(t *testing.T) {
	st := &servertest.Store{Store: memory.New()}
	x := newTrendingRig(t, st)
	x.every = time.Nanosecond
	_, a := x.account(t)
	a.Counted, a.Searched, a.Weights = true, true, hashOf(x.Updater.Weights())
	placed := false
	st.EachFunc = func(ctx context.Context, fn func(string, store.Version) error) error {
		for u := range model.MinNewUsers {
			x.take(t, fmt.Sprint("user-", u), novelty)
		}
		err := st.Store.Each(ctx, 0, 1, fn)
		l := x.Models.Acquire()
		defer l.Release()
		_, placed = l.ItemIndex(novelty)
		return err
	}
	if must(t, x.look(t.Context(), true)); !placed || !a.Tallied {
		t.Errorf("the item is placed: %t, the histories are counted: %t", placed, a.Tallied)
	}
}

// Weights of events that are others for a while: the events of the while are found by a search.
func TestWeightsOfAWhile(t *testing.T) {
	x := newRig(t, memory.New(), servertest.NewModel(t, 1))
	look := func() {
		t.Helper()
		for range 2 { // searches, and places what was found
			must(t, x.look(t.Context(), true))
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

// Items beyond the histories of one extension wait for the next one. That comes at once if the store
// is still to be searched, which waits for them. The first trends do not.
func TestItemsWaitForTheirRows(t *testing.T) {
	const items = maxReads/samples.Size + 2
	st := memory.New()
	for at, searched := range []bool{false, false, true} {
		x := newTrendingRig(t, st)
		for i := range items {
			for u := range samples.Size {
				x.take(t, fmt.Sprint("user-", u), fmt.Sprint(novelty, i))
			}
		}
		_, a := x.account(t)
		for i, look := range []struct {
			searched, awake bool
			rows            int
			more            bool
		}{
			{true, true, 0, false}, // nothing is placed before the users are counted
			{searched, !searched, items - 2, true},
			{true, !searched, items, false},
		} {
			must(t, x.look(t.Context(), true))
			awake := len(x.awake) > 0
			if awake {
				<-x.awake
			}
			if len(a.Rows) != look.rows || a.More != look.more || awake != look.awake ||
				(a.Tallied && a.Searched) != look.searched {
				t.Errorf("look %d: %d rows, more %t, awake %t, tallied %t, searched %t, want %+v", i,
					len(a.Rows), a.More, awake, a.Tallied, a.Searched, look)
			}
			if trends := a.Span > 0; i > 0 && trends != a.Tallied {
				t.Errorf("look %d: trends serve: %t, and all users are counted: %t", i, trends,
					a.Tallied)
			}
			if i == 0 {
				a.Span = 0 // as before the first trends
				a.Tallied, a.Searched = searched || at > 0, searched || at == 0
			}
		}
	}
}
