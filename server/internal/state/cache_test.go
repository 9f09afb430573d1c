package state

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/servertest"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

var must = check.Must

func newTestCache(t testing.TB, bytes int64, st store.Store) *Cache {
	t.Helper()
	return check.Get(NewCache(bytes, Deps{Store: st, Updater: NewUpdater(nil),
		Metrics: NewMetrics()}))(t)
}

// observed folds an event that was written.
func observed(s *Cache, m *model.Model, user string, late written) {
	w := Written{Model: m, Record: &store.Record{User: user, Event: late.event},
		Version: late.result.Version, Before: late.result.Before}
	w.Item, w.Known = m.ItemIndex(late.event.Item)
	s.Fold([]Written{w})
}

// written is an event in the store.
type written struct {
	event  store.Event
	result store.Result
}

// write appends one event and folds it, as the server does.
func write(t testing.TB, s *Cache, m *model.Model, user, id string, i int) uint64 {
	w := appendOnly(t, s.store, user, id, i)
	observed(s, m, user, w)
	return w.result.Revision
}

// snapshot is a copy of what view shows.
func snapshot(t testing.TB, s *Cache, m *model.Model, user string) *User {
	var got *User
	if err := s.View(context.Background(), m, user, func(u *User) {
		got = nil
		if u != nil {
			got = u.Clone()
			got.Seen.merge()
		}
	}); err != nil {
		t.Error(err)
	}
	return got
}

func diffStates(a, b *User) string {
	return cmp.Diff(a, b, cmp.AllowUnexported(User{}, table{}, SeenItem{}))
}

// For every size of the cache, the same writes and reads give the same bits; and a cache that
// nothing fits into is replay, so incremental folding and replay are equal.
func TestEvictionChangesNothing(t *testing.T) {
	m, st := servertest.NewModel(t, 1), memory.New()
	huge, tiny, some := newTestCache(t, 1<<30, st), newTestCache(t, 1, st), newTestCache(t, 20_000,
		st)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 5000 {
		user := fmt.Sprint(rng.IntN(60))
		// One of the three takes the write; the others have to find out.
		write(t, []*Cache{huge, tiny, some}[rng.IntN(3)], m, user, fmt.Sprint(i),
			rng.IntN(servertest.Items))
		if rng.IntN(3) > 0 {
			continue
		}
		user = fmt.Sprint(rng.IntN(70))
		want := snapshot(t, huge, m, user)
		for name, s := range map[string]*Cache{"no cache": tiny, "small cache": some} {
			if d := diffStates(want, snapshot(t, s, m, user)); d != "" {
				t.Fatalf("event %d, user %s, %s (-huge +this):\n%s", i, user, name, d)
			}
		}
	}
	check.Same(t, 60, huge.Len(), "the huge cache holds states")
	check.Same(t, 0, tiny.Len(), "the tiny cache holds states")
	if n, w := some.Len(), some.Bytes(); n == 0 || n == 60 || w > 20_000 {
		t.Errorf(
			"the small cache holds %d states of %d bytes, want some of the 60 in at most 20000", n,
			w)
	}
}

// An evicted state that somebody looks at stays as it is.
func TestEvictedWhileInUse(t *testing.T) {
	m, st := servertest.NewLearnedModel(t, 1, true), memory.New()
	small, huge := newTestCache(t, 20_000, st), newTestCache(t, 1<<30, st)
	write(t, small, m, "ann", "1", 1)
	want := snapshot(t, huge, m, "ann")
	must(t, small.View(t.Context(), m, "ann", func(u *User) {
		for i := range 200 {
			write(t, small, m, fmt.Sprint(i), "1", i%servertest.Items)
		}
		_, cached := small.cache.GetIfPresent("ann")
		check.Same(t, false, cached, "the state is still in the cache")
		got := u.Clone()
		got.Seen.merge()
		check.Same(t, "", diffStates(want, got), "what changed in the state that is looked at")
	}))
	check.Same(t, "", diffStates(want, snapshot(t, small, m, "ann")), "what changed afterwards")
	for i := range 200 {
		user := fmt.Sprint(i)
		d := diffStates(snapshot(t, huge, m, user), snapshot(t, small, m, user))
		check.Same(t, "", d, "what another size of the cache changes for user %s", user)
	}
}

// The vectors of evicted users serve others: what a new user takes is no set of vectors.
func TestVectorsAreUsedAgain(t *testing.T) {
	m := servertest.NewLearnedModel(t, 1, true)
	c := newTestCache(t, 1, memory.New()) // every entry is evicted as it comes
	used := map[*float32]bool{}
	for range 100 {
		e := c.newEntry(m)
		used[&e.state.Kalman.X[0]] = true
		c.put("ann", e)
	}
	if len(used) > 90 { // all, if none is used again; a pool drops some
		t.Errorf("100 entries had %d sets of vectors", len(used))
	}
}

// Readers that find a state in the cache while it is evicted see that of their user.
func TestEvictionRaces(t *testing.T) {
	m, st := servertest.NewLearnedModel(t, 1, true), memory.New()
	small, huge := newTestCache(t, 4_000, st), newTestCache(t, 1<<30, st)
	var want []*User
	for i := range 8 {
		user := fmt.Sprint(i)
		for n := range i + 1 {
			write(t, huge, m, user, fmt.Sprint(n), 5*i+n)
		}
		want = append(want, snapshot(t, huge, m, user))
	}
	var readers sync.WaitGroup
	for n := range 8 {
		readers.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(n)))
			for range 3000 {
				i := rng.IntN(len(want))
				if d := diffStates(want[i], snapshot(t, small, m, fmt.Sprint(i))); d != "" {
					t.Errorf("user %d (-huge +small):\n%s", i, d)
					return
				}
			}
		})
	}
	readers.Wait()
	if n := small.Len(); n == 0 || n == len(want) {
		t.Errorf("the cache holds %d states, want some", n)
	}
}

// Long histories make states grow, by writes or by replay; the cache must come to know.
func TestCacheKnowsTheSizeOfItsStates(t *testing.T) {
	m := servertest.NewModel(t, 1)
	for name, add := range map[string]func(s *Cache, id string, i int){
		"write":  func(s *Cache, id string, i int) { write(t, s, m, "ann", id, i) },
		"replay": func(s *Cache, id string, i int) { appendOnly(t, s.store, "ann", id, i) },
	} {
		s := newTestCache(t, 1<<30, memory.New())
		for i := range 300 {
			add(s, fmt.Sprint(i), i%servertest.Items)
		}
		snapshot(t, s, m, "ann")
		c, _ := s.cache.GetIfPresent("ann")
		if got, want := s.Bytes(), uint64(c.state.size())+uint64(len("ann")); got != want ||
			cap(c.state.Seen) < servertest.Items {
			t.Errorf("%s: the cache counts %d bytes for a state of %d", name, got, want)
		}
	}
}

// Writes to a user who is not in the cache must not replay the history.
func TestWritesDoNotReplay(t *testing.T) {
	hooked := &servertest.Store{Store: memory.New()}
	hooked.SinceFunc = func(context.Context, string, store.Version,
		func(store.Version, store.Event) error) (store.Version, bool, error) {
		t.Error("a write reads a history")
		return store.Version{}, false, nil
	}
	m := servertest.NewModel(t, 1)
	s := newTestCache(t, 1, hooked)
	for i := range 100 {
		write(t, s, m, fmt.Sprint(i%3), fmt.Sprint(i), 1)
	}
}

// Cached states of one model are not taken for those of another.
func TestStatesOfAnotherModel(t *testing.T) {
	a, b, st := servertest.NewModel(t, 1), servertest.NewModel(t, 2), memory.New()
	if a.Version() == b.Version() {
		t.Fatal("the models have the same version")
	}
	s, fresh := newTestCache(t, 1<<30, st), newTestCache(t, 1, st)
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

// The interleavings of erasures with writes and reads that a comparison of revisions would not
// notice. In each, ann's first life is on item 1, her second on item 2, and both reach the revision
// at which they are read.
func TestErasureInterleaved(t *testing.T) {
	const user = "ann"
	for _, tt := range []struct {
		name string
		run  func(t *testing.T, s *Cache, st *servertest.Store, m *model.Model) *User
	}{
		{"a first event is folded after its erasure",
			func(t *testing.T, s *Cache, st *servertest.Store, m *model.Model) *User {
				old := appendOnly(t, st, user, "1", 1)
				eraseUser(t, s, user)
				appendOnly(t, st, user, "1", 2)
				observed(s, m, user, old)
				return snapshot(t, s, m, user)
			}},
		{"a second event is folded after its erasure",
			func(t *testing.T, s *Cache, st *servertest.Store, m *model.Model) *User {
				write(t, s, m, user, "1", 1)
				old := appendOnly(t, st, user, "2", 1)
				eraseUser(t, s, user)
				write(t, s, m, user, "1", 2)
				appendOnly(t, st, user, "2", 2)
				observed(s, m, user, old)
				return snapshot(t, s, m, user)
			}},
		{"an erasure just before the read",
			func(t *testing.T, s *Cache, st *servertest.Store, m *model.Model) *User {
				write(t, s, m, user, "1", 1)
				appendOnly(t, st, user, "2", 1)
				st.SinceFunc = func(c context.Context, u string, known store.Version,
					fn func(store.Version, store.Event) error) (store.Version, bool, error) {
					st.SinceFunc = nil
					eraseUser(t, s, user)
					appendOnly(t, st, user, "1", 2)
					appendOnly(t, st, user, "2", 2)
					return st.Store.Since(c, u, known, fn)
				}
				return snapshot(t, s, m, user)
			}},
		{"an entry made while an erasure began",
			func(t *testing.T, s *Cache, st *servertest.Store, m *model.Model) *User {
				appendOnly(t, st, user, "1", 1)
				st.SinceFunc = func(c context.Context, u string, known store.Version,
					fn func(store.Version, store.Event) error) (store.Version, bool, error) {
					st.SinceFunc = nil
					head, same, err := st.Store.Since(c, u, known, fn)
					eraseUser(t, s, user)
					appendOnly(t, st, user, "1", 2)
					return head, same, err
				}
				snapshot(t, s, m, user)
				return snapshot(t, s, m, user)
			}},
		{"a new life before the erasure has returned",
			func(t *testing.T, s *Cache, st *servertest.Store, m *model.Model) (seen *User) {
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
		{"two erasures at once",
			func(t *testing.T, s *Cache, st *servertest.Store, m *model.Model) (seen *User) {
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
			st := &servertest.Store{Store: memory.New()}
			m := servertest.NewModel(t, 1)
			s := newTestCache(t, 1<<30, st)
			got := tt.run(t, s, st, m)
			want := snapshot(t, newTestCache(t, 1, st), m, user)
			if want == nil || want.Seen[0].Item != 2 {
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

// appendOnly writes an event and does not fold it: the writer is still on its way from the store to
// the cache.
func appendOnly(t testing.TB, st store.Store, user, id string, i int) written {
	t.Helper()
	e := store.Event{ID: id, Item: servertest.Item(i), Type: "like", Time: servertest.Now, Value: 1}
	res, err := st.Append(context.Background(), []store.Record{{User: user, Event: e}})
	if err == nil {
		err = res[0].Err
	}
	if err != nil {
		t.Error(err)
		return written{}
	}
	return written{e, res[0]}
}

func eraseUser(t testing.TB, s *Cache, user string) {
	t.Helper()
	check.Get(s.Erase(context.Background(), user))(t)
}

// A state goes on with an event only if both are of the same life: another server may have erased
// the user, who has come back with as many events.
func TestFoldsOfItsLifeOnly(t *testing.T) {
	m, st := servertest.NewModel(t, 1), memory.New()
	here, there := newTestCache(t, 1<<30, st), newTestCache(t, 1<<30, st)
	for i := range 3 {
		write(t, here, m, "ann", fmt.Sprint("former ", i), i)
	}
	eraseUser(t, there, "ann")
	for i := range 3 {
		write(t, there, m, "ann", fmt.Sprint("present ", i), 5+i)
	}
	write(t, here, m, "ann", "next", 9)
	want := snapshot(t, newTestCache(t, 1<<30, st), m, "ann")
	if d := diffStates(want, snapshot(t, here, m, "ann")); d != "" {
		t.Errorf("the state has something of the former life (-want +got):\n%s", d)
	}
}

// An erasure leaves nothing of the user in memory.
func TestErasureForgetsTheState(t *testing.T) {
	s := newTestCache(t, 1<<30, memory.New())
	m := servertest.NewModel(t, 1)
	write(t, s, m, "ann", "1", 1)
	eraseUser(t, s, "ann")
	check.Same(t, 0, s.Len(), "states are left")
}

// An erasure that has begun goes on when its caller has left.
func TestErasureRunsToItsEnd(t *testing.T) {
	st := &servertest.Store{Store: memory.New()}
	m := servertest.NewModel(t, 1)
	s := newTestCache(t, 1<<30, st)
	write(t, s, m, "ann", "1", 1)
	ctx, leave := context.WithCancel(t.Context())
	st.EraseFunc = func(c context.Context, u string) (uint64, error) {
		leave()
		if err := c.Err(); err != nil {
			return 0, err
		}
		return st.Store.Erase(c, u)
	}
	check.Same(t, uint64(1), check.Get(s.Erase(ctx, "ann"))(t), "erased events")
}

// A rewrite that has begun goes on when its caller has left.
func TestRewriteRunsToItsEnd(t *testing.T) {
	st := &servertest.Store{Store: memory.New()}
	m := servertest.NewModel(t, 1)
	s := newTestCache(t, 1<<30, st)
	write(t, s, m, "ann", "1", 1)
	ctx, leave := context.WithCancel(t.Context())
	st.RewriteFunc = func(c context.Context) error {
		leave()
		return c.Err()
	}
	check.Get(s.Rewrite(ctx, []string{"ann"}, func([][]store.Event) [][]store.Event {
		return [][]store.Event{{}}
	}))(t)
	check.Same(t, uint64(0), check.Get(s.Erase(t.Context(), "ann"))(t), "events the store kept")
}

// Users live, are erased and come back to the same revisions with other content, while others read.
// Each life uses one item only, so a state that mixes lives, or is of a former one, shows.
func TestErasureRaces(t *testing.T) {
	for _, size := range []int64{1 << 30, 4_000} {
		t.Run(fmt.Sprint("cache=", size), func(t *testing.T) {
			const userCount, lives = 6, 150
			m, st := servertest.NewModel(t, 1), memory.New()
			s := newTestCache(t, size, st)
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
							if got := snapshot(t, s, m, user); got != nil && len(got.Seen) != 1 {
								t.Errorf("a state at revision %d has items of %d lives",
									got.Revision, len(got.Seen))
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

// live writes, reads back and erases; only this goroutine writes to the user, so it knows what it
// must read.
func live(t *testing.T, s *Cache, m *model.Model, user string, lives int) {
	rng := rand.New(rand.NewPCG(uint64(len(user)), 7))
	for life := range lives {
		events := 1 + rng.IntN(4)
		for i := range events {
			check.Same(t, uint64(i+1), write(t, s, m, user, fmt.Sprint(i), life%servertest.Items),
				"event %d of a life has revision", i+1)
			if i+1 < events && life%3 == 0 { // some lives are read only at their end
				continue
			}
			got := snapshot(t, s, m, user)
			if got == nil || got.Revision != uint64(i+1) || len(got.Seen) != 1 ||
				got.Seen[0].Item != int32(life%servertest.Items) ||
				got.Kalman.Events != uint64(i+1) {
				t.Errorf("life %d, after event %d: state %+v", life, i+1, got)
				return
			}
		}
		n, err := s.Erase(context.Background(), user)
		check.Pass(t, err, "erase")
		check.Same(t, uint64(events), n, "erased events")
		if life%2 == 0 { // and some erasures are not looked at
			continue
		}
		if got := snapshot(t, s, m, user); got != nil {
			t.Errorf("life %d is still seen at revision %d after its erasure", life, got.Revision)
			return
		}
	}
}

// A fold that panics leaves a state that is never used.
func TestBrokenStateIsRebuilt(t *testing.T) {
	m, st := servertest.NewModel(t, 1), memory.New()
	s := newTestCache(t, 1<<30, st)
	write(t, s, m, "ann", "1", 1)
	c, _ := s.cache.GetIfPresent("ann")
	c.state.Kalman.X = c.state.Kalman.X[:1] // a bug, somewhere
	func() {
		defer func() {
			if recover() == nil {
				t.Error("folding into a state of the wrong shape does not panic")
			}
		}()
		write(t, s, m, "ann", "2", 2)
	}()
	if d := diffStates(snapshot(t, newTestCache(t, 1, st), m, "ann"),
		snapshot(t, s, m, "ann")); d != "" {
		t.Errorf("after the panic (-replay +cached):\n%s", d)
	}
}
