package server

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/spectral"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// newIdleServer is a server that does nothing by itself, with its log.
func newIdleServer(t *testing.T, st store.Store, m *model.Model) (*Server, *lockedBuffer) {
	t.Helper()
	log := &lockedBuffer{}
	cfg := DefaultConfig()
	cfg.ExtendEvery, cfg.Logger = time.Hour, slog.New(slog.NewJSONHandler(log, nil))
	s, err := New(cfg, st, func() (*model.Model, error) { return m, nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.closeModels)
	return s, log
}

// take lets a user take an item.
func (s *Server) take(t *testing.T, user, item string) {
	t.Helper()
	if _, err := (events{Server: s}).Observe(ctx(t), &pb.ObserveRequest{Event: &pb.Event{UserId: user, ItemId: item}}); err != nil {
		t.Fatal(err)
	}
}

// While the store is searched, which takes long here, the new items that were there before the reload are there again, and the
// search does not outlive the next reload.
func TestExtensionDoesNotWaitForSearch(t *testing.T) {
	st := &hookedStore{Store: memory.New()}
	var searches atomic.Int32
	st.UsersFunc = func(ctx context.Context, fn func(string, uint64) error) error {
		if searches.Add(1) == 1 {
			return st.Store.Users(ctx, fn)
		}
		for {
			if err := fn("u0", 1); err != nil {
				return err
			}
		}
	}
	var seed atomic.Uint64
	ts := start(t, setup{store: st, config: extending, open: func() (*model.Model, error) { return newModel(t, seed.Add(1)), nil }})
	ts.showNovelty(t, 3)
	ts.awaitExtension(t, knows(novelty))
	for round := range 2 {
		old := ts.ModelVersion()
		if err := ts.Reload(ctx(t)); err != nil {
			t.Fatal(err)
		}
		ts.awaitExtension(t, func(m *model.Model) bool { return m.Base().Version() != old && knows(novelty)(m) })
		for deadline := time.Now().Add(20 * time.Second); searches.Load() < int32(2+round); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the store was not searched after the reload")
			}
		}
	}
}

// Users who come and go while the store is searched are counted once, whether the search sees them or not.
func TestSearchCountsUsersOnce(t *testing.T) {
	st := &hookedStore{Store: memory.New()}
	s, _ := newIdleServer(t, st, newModel(t, 1))
	for u := range 3 {
		s.take(t, fmt.Sprint("early ", u), novelty)
	}
	s.extender = newExtender(s) // as after a start: it has not seen them come
	rounds := 0
	st.UsersFunc = func(ctx context.Context, fn func(string, uint64) error) error {
		rounds++
		s.take(t, fmt.Sprint("just before ", rounds), novelty)
		first := true
		return st.Store.Users(ctx, func(user string, revision uint64) error {
			err := fn(user, revision)
			if first {
				first = false
				s.take(t, fmt.Sprint("just after ", rounds), novelty)
				if _, err := (users{Server: s}).DeleteUser(ctx, &pb.DeleteUserRequest{UserId: fmt.Sprint("early ", rounds)}); err != nil {
					t.Error(err)
				}
			}
			return err
		})
	}
	l := s.models.Acquire()
	defer l.Release()
	for want := int64(4); want < 6; want++ { // one more in each round: two come and one goes
		if err := s.extender.search(ctx(t), l); err != nil {
			t.Fatal(err)
		}
		now := s.extender.newcomers.census()
		if now.users != want || now.counts[novelty] < float64(want) {
			t.Errorf("%d users, %v of them with the new item, want %d", now.users, now.counts[novelty], want)
		}
	}
}

// An item without a good row does not keep others from theirs.
func TestPlaceSkipsBadItems(t *testing.T) {
	m := newModel(t, 1)
	s, log := newIdleServer(t, memory.New(), m)
	x := s.extender
	for u := range 3 {
		for _, id := range []string{item(u), "bad", "good", "worse"} {
			s.take(t, fmt.Sprint(u), id)
		}
	}
	x.placed = map[string]placedNewcomer{}
	now := x.newcomers.census()
	now.counts["bad"], now.counts["worse"] = math.Inf(1), math.Inf(1)
	for range 2 {
		if err := x.place(ctx(t), m, []string{"bad", "good", "worse"}, now); err != nil {
			t.Fatal(err)
		}
	}
	faults := map[string]bool{}
	for id, p := range x.placed {
		faults[id] = p.fault
	}
	if diff := cmp.Diff(map[string]bool{"bad": true, "good": false, "worse": true}, faults); diff != "" {
		t.Errorf("items without a row (-want +got):\n%s", diff)
	}
	l := s.models.Acquire()
	defer l.Release()
	if err := x.install(ctx(t), l, time.Now()); err != nil {
		t.Fatal(err)
	}
	extended := s.models.Acquire()
	defer extended.Release()
	if !knows("good")(extended.Model) || knows("bad")(extended.Model) {
		t.Error("want the good item, and not the bad one, in the extended model")
	}
	if n := strings.Count(log.String(), "stays without a row"); n != 1 {
		t.Errorf("%d warnings, want 1; log:\n%s", n, log)
	}
}

// That a model cannot be extended is said once.
func TestModelThatCannotBeExtended(t *testing.T) {
	s, log := newIdleServer(t, memory.New(), buildModel(t, 1, item, func(spec *model.Spec) {
		spec.Graph, spec.Window = spectral.Covariance, 5
	}))
	for u := range 3 {
		s.take(t, fmt.Sprint(u), novelty)
	}
	for range 3 {
		if err := s.extender.extend(ctx(t)); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(log.String(), "covariance graph of windows"); n != 1 {
		t.Errorf("%d warnings, want 1; log:\n%s", n, log)
	}
}
