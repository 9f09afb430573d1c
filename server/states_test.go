package server

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

func newTestStates(t testing.TB, bytes int64, st store.Store) *states {
	t.Helper()
	s, err := newStates(bytes, st, &folder{}, NewMetrics())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// write appends one event and folds it, as commit does.
// observed folds an event that was written.
func observed(s *states, m *model.Model, t ticket, user string, revision uint64, e store.Event) {
	w := written{record: &store.Record{User: user, Event: e}, revision: revision, ticket: t}
	w.item, w.known = m.ItemIndex(e.Item)
	s.find(&w)
	s.observed(m, &w)
}

func write(t testing.TB, s *states, m *model.Model, user, id string, i int) uint64 {
	e := store.Event{ID: id, Item: item(i), Type: "like", Time: testNow, Value: 1}
	tk := s.ticket(user)
	res, err := s.store.Append(context.Background(), []store.Record{{User: user, Event: e}})
	if err != nil {
		t.Error(err)
		return 0
	}
	observed(s, m, tk, user, res[0].Revision, e)
	return res[0].Revision
}

// snapshot is a copy of what view shows.
func snapshot(t testing.TB, s *states, m *model.Model, user string) *userState {
	var got *userState
	if err := s.view(context.Background(), m, user, func(u *userState) {
		got = nil
		if u != nil {
			c := *u
			k := *u.kalman
			k.X, k.Z, k.P = slices.Clone(k.X), slices.Clone(k.Z), slices.Clone(k.P)
			c.kalman, c.seen = &k, slices.Clone(u.seen)
			c.seen.merge()
			got = &c
		}
	}); err != nil {
		t.Error(err)
	}
	return got
}

func diffStates(a, b *userState) string {
	return cmp.Diff(a, b, cmp.AllowUnexported(userState{}, seenItem{}))
}

// Whatever the size of the cache, the same writes and reads give the same bits; and a cache that nothing fits into is
// replay, so incremental folding and replay are equal.
func TestEvictionChangesNothing(t *testing.T) {
	m, st := newModel(t, 1), memory.New()
	huge, tiny, some := newTestStates(t, 1<<30, st), newTestStates(t, 1, st), newTestStates(t, 20_000, st)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 5000 {
		user := fmt.Sprint(rng.IntN(60))
		// One of the three takes the write; the others have to find out.
		write(t, []*states{huge, tiny, some}[rng.IntN(3)], m, user, fmt.Sprint(i), rng.IntN(testItems))
		if rng.IntN(3) > 0 {
			continue
		}
		user = fmt.Sprint(rng.IntN(70))
		want := snapshot(t, huge, m, user)
		for name, s := range map[string]*states{"no cache": tiny, "small cache": some} {
			if d := diffStates(want, snapshot(t, s, m, user)); d != "" {
				t.Fatalf("event %d, user %s, %s (-huge +this):\n%s", i, user, name, d)
			}
		}
	}
	if n := huge.cache.EstimatedSize(); n != 60 {
		t.Errorf("the huge cache holds %d states, want 60", n)
	}
	if n := tiny.cache.EstimatedSize(); n != 0 {
		t.Errorf("the tiny cache holds %d states, want 0", n)
	}
	if n, w := some.cache.EstimatedSize(), some.cache.WeightedSize(); n == 0 || n == 60 || w > 20_000 {
		t.Errorf("the small cache holds %d states of %d bytes, want some of the 60 in at most 20000", n, w)
	}
}

// Long histories make states grow, by writes or by replay; the cache must come to know.
func TestCacheKnowsTheSizeOfItsStates(t *testing.T) {
	m := newModel(t, 1)
	for name, add := range map[string]func(s *states, id string, i int){
		"write":  func(s *states, id string, i int) { write(t, s, m, "ann", id, i) },
		"replay": func(s *states, id string, i int) { appendOnly(t, s.store, "ann", id, i) },
	} {
		s := newTestStates(t, 1<<30, memory.New())
		for i := range 300 {
			add(s, fmt.Sprint(i), i%testItems)
		}
		snapshot(t, s, m, "ann")
		c, _ := s.cache.GetIfPresent("ann")
		if got, want := s.cache.WeightedSize(), uint64(c.state.size())+uint64(len("ann")); got != want || cap(c.state.seen) < testItems {
			t.Errorf("%s: the cache counts %d bytes for a state of %d", name, got, want)
		}
	}
}

// Writes to a user who is not in the cache must not replay the history.
func TestWritesDoNotReplay(t *testing.T) {
	hooked := &hookedStore{Store: memory.New()}
	hooked.ReadFunc = func(context.Context, string, uint64, func(uint64, store.Event) error) error {
		t.Error("a write reads a history")
		return nil
	}
	m := newModel(t, 1)
	s := newTestStates(t, 1, hooked)
	for i := range 100 {
		write(t, s, m, fmt.Sprint(i%3), fmt.Sprint(i), 1)
	}
}

// Cached states of one model are not taken for those of another.
func TestStatesOfAnotherModel(t *testing.T) {
	a, b, st := newModel(t, 1), newModel(t, 2), memory.New()
	if a.Version() == b.Version() {
		t.Fatal("the models have the same version")
	}
	s, fresh := newTestStates(t, 1<<30, st), newTestStates(t, 1, st)
	for i := range 20 {
		m := []*model.Model{a, b}[i%2]
		write(t, s, m, "ann", fmt.Sprint(i), i)
		for _, m := range []*model.Model{a, b} {
			if d := diffStates(snapshot(t, fresh, m, "ann"), snapshot(t, s, m, "ann")); d != "" {
				t.Fatalf("event %d (-replay +cached):\n%s", i, d)
			}
		}
	}
}

// The interleavings of erasures with writes and reads that a comparison of revisions would not notice. In each, ann's
// first life is on item 1, her second on item 2, and both reach the revision at which they are read.
func TestErasureInterleaved(t *testing.T) {
	const user = "ann"
	for _, tt := range []struct {
		name string
		run  func(t *testing.T, s *states, st *hookedStore, m *model.Model) *userState
	}{
		{"a first event is folded after its erasure", func(t *testing.T, s *states, st *hookedStore, m *model.Model) *userState {
			late := s.ticket(user)
			old := appendOnly(t, st, user, "1", 1)
			eraseUser(t, s, user)
			appendOnly(t, st, user, "1", 2)
			observed(s, m, late, user, 1, old)
			return snapshot(t, s, m, user)
		}},
		{"a second event is folded after its erasure", func(t *testing.T, s *states, st *hookedStore, m *model.Model) *userState {
			write(t, s, m, user, "1", 1)
			late := s.ticket(user)
			old := appendOnly(t, st, user, "2", 1)
			eraseUser(t, s, user)
			write(t, s, m, user, "1", 2)
			appendOnly(t, st, user, "2", 2)
			observed(s, m, late, user, 2, old)
			return snapshot(t, s, m, user)
		}},
		{"an erasure between revision and events", func(t *testing.T, s *states, st *hookedStore, m *model.Model) *userState {
			write(t, s, m, user, "1", 1)
			appendOnly(t, st, user, "2", 1)
			st.ReadFunc = func(c context.Context, u string, after uint64, fn func(uint64, store.Event) error) error {
				st.ReadFunc = nil
				eraseUser(t, s, user)
				appendOnly(t, st, user, "1", 2)
				appendOnly(t, st, user, "2", 2)
				return st.Store.Read(c, u, after, fn)
			}
			return snapshot(t, s, m, user)
		}},
		{"an entry made while an erasure began", func(t *testing.T, s *states, st *hookedStore, m *model.Model) *userState {
			appendOnly(t, st, user, "1", 1)
			st.ReadFunc = func(c context.Context, u string, after uint64, fn func(uint64, store.Event) error) error {
				st.ReadFunc = nil
				err := st.Store.Read(c, u, after, fn)
				eraseUser(t, s, user)
				appendOnly(t, st, user, "1", 2)
				return err
			}
			snapshot(t, s, m, user)
			return snapshot(t, s, m, user)
		}},
		{"a new life before the erasure has returned", func(t *testing.T, s *states, st *hookedStore, m *model.Model) (seen *userState) {
			write(t, s, m, user, "1", 1)
			st.EraseFunc = func(c context.Context, u string) (uint64, error) {
				n, err := st.Store.Erase(c, u)
				write(t, s, m, user, "1", 2)
				seen = snapshot(t, s, m, user)
				return n, err
			}
			eraseUser(t, s, user)
			return seen
		}},
		{"two erasures at once", func(t *testing.T, s *states, st *hookedStore, m *model.Model) (seen *userState) {
			write(t, s, m, user, "1", 1)
			st.EraseFunc = func(c context.Context, u string) (uint64, error) {
				st.EraseFunc = nil
				eraseUser(t, s, user) // begins second and ends first
				write(t, s, m, user, "1", 1)
				snapshot(t, s, m, user)
				n, err := st.Store.Erase(c, u)
				write(t, s, m, user, "1", 2)
				seen = snapshot(t, s, m, user)
				return n, err
			}
			eraseUser(t, s, user)
			return seen
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			st := &hookedStore{Store: memory.New()}
			m := newModel(t, 1)
			s := newTestStates(t, 1<<30, st)
			got := tt.run(t, s, st, m)
			want := snapshot(t, newTestStates(t, 1, st), m, user)
			if want == nil || want.seen[0].item != 2 {
				t.Fatalf("the test itself: replay gives %+v", want)
			}
			if d := diffStates(want, got); d != "" {
				t.Errorf("seen at the time (-replay +got):\n%s", d)
			}
			if d := diffStates(want, snapshot(t, s, m, user)); d != "" {
				t.Errorf("seen later (-replay +got):\n%s", d)
			}
		})
	}
}

// appendOnly writes an event and does not fold it: the writer is still on its way from the store to the cache.
func appendOnly(t testing.TB, st store.Store, user, id string, i int) store.Event {
	t.Helper()
	e := store.Event{ID: id, Item: item(i), Type: "like", Time: testNow, Value: 1}
	if _, err := st.Append(context.Background(), []store.Record{{User: user, Event: e}}); err != nil {
		t.Fatal(err)
	}
	return e
}

func eraseUser(t testing.TB, s *states, user string) {
	t.Helper()
	if _, err := s.erase(context.Background(), user); err != nil {
		t.Fatal(err)
	}
}

// Users live, are erased and come back to the same revisions with other content, while others read. Each life uses one
// item only, so a state that mixes lives, or is of a former one, shows.
func TestErasureRaces(t *testing.T) {
	for _, size := range []int64{1 << 30, 4_000} {
		t.Run(fmt.Sprint("cache=", size), func(t *testing.T) {
			const userCount, lives = 6, 150
			m, st := newModel(t, 1), memory.New()
			s := newTestStates(t, size, st)
			done := make(chan struct{})
			var readers, writers sync.WaitGroup
			for u := range userCount {
				user := fmt.Sprint("user", u)
				writers.Go(func() { live(t, s, m, user, lives) })
				readers.Go(func() {
					for {
						select {
						case <-done:
							return
						default:
							if got := snapshot(t, s, m, user); got != nil && len(got.seen) != 1 {
								t.Errorf("a state at revision %d has items of %d lives", got.revision, len(got.seen))
							}
						}
					}
				})
			}
			writers.Wait()
			close(done)
			readers.Wait()
		})
	}
}

// live writes, reads back and erases; only this goroutine writes to the user, so it knows what it must read.
func live(t *testing.T, s *states, m *model.Model, user string, lives int) {
	rng := rand.New(rand.NewPCG(uint64(len(user)), 7))
	for life := range lives {
		events := 1 + rng.IntN(4)
		for i := range events {
			if r := write(t, s, m, user, fmt.Sprint(i), life%testItems); r != uint64(i+1) {
				t.Errorf("event %d of a life has revision %d", i+1, r)
			}
			if i+1 < events && life%3 == 0 { // some lives are read only at their end
				continue
			}
			got := snapshot(t, s, m, user)
			if got == nil || got.revision != uint64(i+1) || len(got.seen) != 1 || got.seen[0].item != int32(life%testItems) ||
				got.kalman.Events != uint64(i+1) {
				t.Errorf("life %d, after event %d: state %+v", life, i+1, got)
				return
			}
		}
		if n, err := s.erase(context.Background(), user); err != nil || n != uint64(events) {
			t.Errorf("erase: %d, %v; want %d", n, err, events)
		}
		if life%2 == 0 { // and some erasures are not looked at
			continue
		}
		if got := snapshot(t, s, m, user); got != nil {
			t.Errorf("life %d is still seen at revision %d after its erasure", life, got.revision)
			return
		}
	}
}

// A fold that panics leaves a state that nobody uses.
func TestBrokenStateIsRebuilt(t *testing.T) {
	m, st := newModel(t, 1), memory.New()
	s := newTestStates(t, 1<<30, st)
	write(t, s, m, "ann", "1", 1)
	c, _ := s.cache.GetIfPresent("ann")
	c.state.kalman.X = c.state.kalman.X[:1] // a bug, somewhere
	func() {
		defer func() {
			if recover() == nil {
				t.Error("folding into a state of the wrong shape does not panic")
			}
		}()
		write(t, s, m, "ann", "2", 2)
	}()
	if d := diffStates(snapshot(t, newTestStates(t, 1, st), m, "ann"), snapshot(t, s, m, "ann")); d != "" {
		t.Errorf("after the panic (-replay +cached):\n%s", d)
	}
}

// An answer at the API does not depend on the cache either.
func TestEvictionThroughTheAPI(t *testing.T) {
	st := memory.New()
	huge := start(t, setup{store: st})
	tiny := start(t, setup{store: st, config: func(c *Config) { c.StateCacheBytes = 1 }})
	for i := range 200 {
		huge.observe(t, event(fmt.Sprint(i%9), i*7%testItems))
		req := forUser(fmt.Sprint(i % 11))
		if d := cmp.Diff(huge.ask(t, req), tiny.ask(t, req), protocmp.Transform()); d != "" {
			t.Fatalf("request %d (-huge +tiny):\n%s", i, d)
		}
	}
	if got := value1(t, huge, `gsimc_user_state_requests_total{result="load"}`); got != 0 {
		t.Errorf("the huge cache replayed %v histories, want 0", got)
	}
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it did not happen in time that %s", what)
		}
	}
}
