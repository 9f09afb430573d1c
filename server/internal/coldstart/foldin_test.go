package coldstart

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/proctest"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/ledger"
	"github.com/gsimc/gsimc/server/internal/models"
	"github.com/gsimc/gsimc/server/internal/servertest"
	"github.com/gsimc/gsimc/server/internal/state"
	"github.com/gsimc/gsimc/spectral"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

var must = check.Must

const novelty = "novelty" // an item that no model knows

// rig is an extender that does nothing by itself, with all that it needs.
type rig struct {
	*Extender
	log *proctest.Output
}

func newRig(t *testing.T, st store.Store, m *model.Model) *rig {
	t.Helper()
	return newRigOf(t, st, func() (*model.Model, error) { return m, nil })
}

// newRigOf is newRig of a model that reloads open.
func newRigOf(t *testing.T, st store.Store, open func() (*model.Model, error)) *rig {
	t.Helper()
	h := check.Get(models.Open(open, time.Now, models.NewMetrics()))(t)
	t.Cleanup(h.Close)
	log := &proctest.Output{}
	return &rig{log: log, Extender: New(time.Hour, Deps{
		Store: st, Models: h, Updater: state.NewUpdater(nil), Metrics: NewMetrics(),
		Now:   time.Now,
		Log:   slog.New(slog.NewJSONHandler(log, nil)),
		Guard: func(_ context.Context, _ string, work func() error) error { return work() },
	})}
}

// take lets a user take an item, as the server does.
func (r *rig) take(t *testing.T, user, item string) {
	t.Helper()
	records := []store.Record{{User: user, Event: store.Event{
		ID: item, Item: item, Type: "like", Time: servertest.Now, Value: 1,
	}}}
	results := check.Get(r.Store.Append(t.Context(), records))(t)
	r.follow(records, results)
}

// follow tells the extender of an event that has been written.
func (r *rig) follow(records []store.Record, results []store.Result) {
	l := r.Models.Acquire()
	defer l.Release()
	w := state.Written{Record: &records[0], Version: results[0].Version}
	w.Item, w.Known = l.ItemIndex(records[0].Event.Item)
	r.Observed(l.Model, &w)
	r.Wrote([]state.Written{w})
}

// account returns the account of the model that serves.
func (r *rig) account(t *testing.T) (*models.Lease, *ledger.Account) {
	t.Helper()
	l := r.Models.Acquire()
	t.Cleanup(l.Release)
	if l.Root() != r.base {
		r.begin(t.Context(), l)
	}
	a := check.Get(r.ledger.Take(t.Context(), l, true))(t)
	return l, a
}

// erase erases a user, as the server does.
func (r *rig) erase(t *testing.T, user string) {
	t.Helper()
	if _, err := r.Store.Erase(t.Context(), user); err != nil {
		t.Error(err)
	}
	r.Forget(user)
}

// Users who come and go while the store is searched are counted once, whether the search sees them
// or not.
func TestSearchCountsUsersOnce(t *testing.T) {
	st := &servertest.Store{Store: memory.New()}
	s := newRig(t, st, servertest.NewModel(t, 1))
	for u := range 3 {
		s.take(t, fmt.Sprint("early ", u), novelty)
	}
	s.Extender = New(time.Hour, s.Deps) // as after a start: it has not seen them come
	rounds := 0
	st.EachFunc = func(ctx context.Context, fn func(string, store.Version) error) error {
		rounds++
		s.take(t, fmt.Sprint("just before ", rounds), novelty)
		first := true
		return st.Store.Each(ctx, 0, 1, func(user string, head store.Version) error {
			err := fn(user, head)
			if first {
				first = false
				s.take(t, fmt.Sprint("just after ", rounds), novelty)
				s.erase(t, fmt.Sprint("early ", rounds))
			}
			return err
		})
	}
	l, a := s.account(t)
	for want := int64(4); want < 6; want++ { // one more in each round: two come and one goes
		must(t, s.search(t.Context(), l, a))
		now := a.Samples.Census()
		if now.Users != want || now.Counts[novelty] < float64(want) {
			t.Errorf("%d users, %v of them with the new item, want %d", now.Users,
				now.Counts[novelty], want)
		}
	}
}

// A search of a store of which not all can be read is a search.
func TestSearchOfDamagedStore(t *testing.T) {
	st := &servertest.Store{Store: memory.New()}
	s := newRig(t, st, servertest.NewModel(t, 1))
	st.EachFunc = func(ctx context.Context, fn func(string, store.Version) error) error {
		return errors.Join(st.Store.Each(ctx, 0, 1, fn), &store.SkippedError{Users: 1})
	}
	l, a := s.account(t)
	if err := s.search(t.Context(), l, a); err != nil || !a.Searched {
		t.Errorf("%v, searched %t", err, a.Searched)
	}
}

// An item without a good row does not keep others from theirs.
func TestFoldInSkipsBadItems(t *testing.T) {
	m := servertest.NewModel(t, 1)
	x := newRig(t, memory.New(), m)
	for u := range 3 {
		for _, id := range []string{servertest.Item(u), "bad", "good", "worse"} {
			x.take(t, fmt.Sprint(u), id)
		}
	}
	l, a := x.account(t)
	now := a.Samples.Census()
	now.Counts["bad"], now.Counts["worse"] = math.Inf(1), math.Inf(1)
	for range 2 {
		must(t, x.foldIn(t.Context(), m, a, []string{"bad", "good", "worse"}, now, &pace{share: 1}))
	}
	faults := map[string]bool{}
	for id, p := range a.Rows {
		faults[id] = p.Fault
	}
	check.Same(t, map[string]bool{"bad": true, "good": false, "worse": true}, faults,
		"items without a row")
	must(t, x.ledger.Publish(t.Context(), l, x.placed(a, m), time.Now()))
	extended := x.Models.Acquire()
	defer extended.Release()
	_, good := extended.ItemIndex("good")
	if _, bad := extended.ItemIndex("bad"); !good || bad {
		t.Error("want the good item, and not the bad one, in the extended model")
	}
	if n := strings.Count(x.log.String(), "stays without a row"); n != 1 {
		t.Errorf("%d warnings, want 1; log:\n%s", n, x.log)
	}
}

// That a model cannot be extended is said once.
func TestModelThatCannotBeExtended(t *testing.T) {
	s := newRig(t, memory.New(),
		servertest.BuildModel(t, 1, servertest.Item, func(spec *model.Spec) {
			spec.Graph, spec.Window = spectral.Covariance, 5
		}))
	for u := range 3 {
		s.take(t, fmt.Sprint(u), novelty)
	}
	for range 3 {
		must(t, s.look(t.Context(), true))
	}
	if n := strings.Count(s.log.String(), "covariance graph of windows"); n != 1 {
		t.Errorf("%d warnings, want 1; log:\n%s", n, s.log)
	}
}

// Erased users do not pile up while no model serves that could be extended: time and again it is
// time for a purge.
func TestErasedUsersWithoutPersonalModel(t *testing.T) {
	m := check.Get(model.NewPopular([]string{"known"}, []int64{1}, 1))(t)
	x := newRig(t, memory.New(), m)
	x.take(t, "user", novelty)
	for round := range 3 {
		for u := 0; len(x.awake) == 0; u++ {
			if u == 20_000 {
				t.Fatalf("round %d: no purge is due after %d erasures", round, u)
			}
			x.Forget(fmt.Sprint("user-", round, "-", u))
		}
		<-x.awake
		must(t, x.ledger.Done(x.look(t.Context(), true)))
	}
}
