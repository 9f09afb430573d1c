package pebble

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/storetest"
)

// dump returns the ids of every user's events in order.
func dump(t testing.TB, s store.Store) map[string][]string {
	t.Helper()
	return check.Get(tryDump(s))(t)
}

// tryDump returns the ids of every user's events in order, after checking that all ways to ask
// agree.
func tryDump(s store.Store) (map[string][]string, error) {
	ctx := context.Background()
	histories := map[string][]string{}
	err := s.Each(ctx, 0, 1, func(user string, head store.Version) error {
		var ids []string
		err := storetest.Read(ctx, s, user, 0, func(r uint64, e store.Event) error {
			if ids = append(ids, e.ID); r != uint64(len(ids)) || e.Item != "item" || e.Value != 1 {
				return fmt.Errorf("wrong answer: revision %d is %+v, want revision %d with item "+
					"and value as written", r, e, len(ids))
			}
			return nil
		})
		if err == nil && uint64(len(ids)) != head.Revision {
			err = fmt.Errorf("wrong answer: %d events, want %d", len(ids), head.Revision)
		}
		histories[user] = ids
		return err
	})
	return histories, err
}

// A step is one write of a scenario. It works on a map in the same way as on a store.
type step struct {
	erase    bool
	retract  bool // take events out of the histories of the user and of all
	user     string
	from, to int // events to append
}

func (st step) do(s store.Store) error {
	if st.erase {
		_, err := s.Erase(context.Background(), st.user)
		return err
	}
	if st.retract {
		ids := st.ids()
		_, err := s.Rewrite(context.Background(), []string{st.user, "all"},
			func(h [][]store.Event) [][]store.Event {
				after := make([][]store.Event, len(h))
				for i := range h {
					after[i] = slices.DeleteFunc(append([]store.Event{}, h[i]...),
						func(e store.Event) bool { return slices.Contains(ids, e.ID) })
				}
				return after
			})
		return err
	}
	var records []store.Record
	for i := st.from; i < st.to; i++ {
		// Every call writes to two users, so that half a call would show.
		records = append(records, store.Record{User: st.user, Event: testEvent(i)},
			store.Record{User: "all", Event: testEvent(i)})
	}
	return appendAll(context.Background(), s, records)
}

// ids are those of the events of the step.
func (st step) ids() (ids []string) {
	for i := st.from; i < st.to; i++ {
		ids = append(ids, testEvent(i).ID)
	}
	return ids
}

func (st step) model(before map[string][]string) map[string][]string {
	after := map[string][]string{}
	for user, ids := range before {
		after[user] = slices.Clone(ids)
	}
	if st.erase {
		delete(after, st.user)
		return after
	}
	ids := st.ids()
	if st.retract {
		for _, user := range []string{st.user, "all"} {
			after[user] = slices.DeleteFunc(after[user],
				func(id string) bool { return slices.Contains(ids, id) })
			if len(after[user]) == 0 {
				delete(after, user)
			}
		}
		return after
	}
	for _, id := range ids {
		for _, user := range []string{st.user, "all"} {
			if !slices.Contains(after[user], id) {
				after[user] = append(after[user], id)
			}
		}
	}
	return after
}

var scenario = []step{
	{user: "a", from: 0, to: 1}, {user: "a", from: 1, to: 4}, {user: "b", from: 4, to: 40},
	{user: "a", from: 2, to: 3}, // duplicates only
	{user: "b", erase: true}, {user: "c", from: 40, to: 41}, {user: "b", from: 30, to: 33},
	{user: "b", from: 20, to: 32, retract: true},
	{user: "a", erase: true},
	{user: "a", from: 50, to: 60},
	{user: "a", from: 0, to: 60, retract: true},
	{user: "a", from: 58, to: 61},
}

// TestCrashAnywhere cuts the power before every single operation on the file system. Afterwards the
// store must hold the acknowledged calls, and perhaps the call under way.
func TestCrashAnywhere(t *testing.T) {
	t.Parallel()
	seeds := soak.Times(3)
	if soak.Brief() {
		seeds = 1
	}
	for seed := range uint64(seeds) {
		crashAnywhere(t, seed)
	}
}

func crashAnywhere(t *testing.T, seed uint64) {
	type crash struct {
		fs                 *memDisk
		completed, started int // steps
	}
	disk := newDisk()
	var crashes []crash
	var completed, started atomic.Int64
	fs := withCrashes(disk, rand.New(rand.NewPCG(seed, 2)), func(copied func() *memDisk) {
		c := crash{completed: int(completed.Load()), fs: copied()}
		c.started = int(started.Load())
		crashes = append(crashes, c)
	})

	states := []map[string][]string{{}}
	for i := range 2 { // the second time on the store that is there, as duplicates and erasures
		s := mustOpen(t, "dir/store", Options{FS: fs, sortBytes: 900, sortBatch: 1, markEvery: 1})
		for j, st := range scenario {
			states = append(states, st.model(states[len(states)-1]))
			started.Add(1)
			if err := st.do(s); err != nil {
				t.Fatalf("round %d, step %d: %v", i, j, err)
			}
			completed.Add(1)
			if j == 5 {
				flush(t, s)
			}
		}
		check.MustSame(t, states[len(states)-1], dump(t, s),
			"round %d: store differs from model", i)
		mustClose(t, s)
	}

	soak.Injected(t, len(crashes), "power cuts")
	for i, c := range crashes {
		s := mustOpen(t, "dir/store", Options{FS: c.fs})
		got := dump(t, s)
		matches := func(want map[string][]string) bool { return cmp.Equal(want, got) }
		if !slices.ContainsFunc(states[c.completed:c.started+1], matches) {
			t.Errorf("seed %d, crash %d, after %d of %d steps begun: got %v, want %v or %v",
				seed, i, c.completed, c.started, got, states[c.completed], states[c.started])
		}
		mustClose(t, s)
	}
}

// TestCrashUnderLoad cuts the power while several goroutines write to the same users. Each
// acknowledged event must be there, once, at its revision. No event may be there that was not sent.
// To send all of them again must add just the missing ones.
func TestCrashUnderLoad(t *testing.T) {
	t.Parallel()
	cuts := soak.Times(15)
	for seed := range uint64(cuts) {
		crashUnderLoad(t, seed)
	}
	soak.Injected(t, cuts, "power cuts")
}

func crashUnderLoad(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 3))
	disk := newDisk()
	l := &traffic{
		s: mustOpen(t, "store", Options{
			FS: disk, sortBytes: 1 << rng.IntN(16), sortBatch: 1 << rng.IntN(10),
			markEvery: time.Duration(1 + rng.IntN(1e6)),
		}),
		crashAt: 20 + rng.IntN(400), crash: make(chan struct{}),
		sent: map[store.Record]bool{}, acked: map[store.Record]store.Version{},
	}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			if err := l.run(rand.New(rand.NewPCG(seed, uint64(100+w)))); err != nil {
				t.Errorf("seed %d: %v", seed, err)
				l.stop()
			}
		})
	}
	<-l.crash
	l.mu.Lock()
	acked := maps.Clone(l.acked) // before the crash; other records are being written now
	l.mu.Unlock()
	after := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
	wg.Wait()
	mustClose(t, l.s)

	s := mustOpen(t, "store", Options{FS: after})
	defer mustClose(t, s)
	recovered := map[store.Record]uint64{}
	for user, ids := range dump(t, s) {
		for i, id := range ids {
			e := testEvent(0)
			e.ID = id
			r := store.Record{User: user, Event: e}
			if recovered[r] != 0 || !l.sent[r] {
				t.Errorf("seed %d: recovered an event twice, or one that was not sent", seed)
			}
			recovered[r] = uint64(i + 1)
		}
	}
	for r, v := range acked {
		check.Same(t, v.Revision, recovered[r],
			"seed %d: recovered revision of the acknowledged version %v", seed, v)
	}
	for r := range l.sent {
		results, err := s.Append(context.Background(), []store.Record{r})
		if err != nil || results[0].Duplicate != (recovered[r] != 0) || recovered[r] != 0 &&
			results[0].Revision != recovered[r] ||
			acked[r].Revision != 0 && results[0].Version != acked[r] {
			t.Errorf("seed %d: sent again: got %v, %v, recovered at %d", seed, results, err,
				recovered[r])
		}
	}
}

// traffic is the state that the writers of TestCrashUnderLoad share.
type traffic struct {
	s       *Store
	crashAt int // number of acknowledged records
	crash   chan struct{}
	once    sync.Once

	mu    sync.Mutex
	sent  map[store.Record]bool
	acked map[store.Record]store.Version
}

func (l *traffic) stop() { l.once.Do(func() { close(l.crash) }) }

// run writes random records until the crash.
func (l *traffic) run(rng *rand.Rand) error {
	for {
		select {
		case <-l.crash:
			return nil
		default:
		}
		batch := make([]store.Record, 1+rng.IntN(4))
		l.mu.Lock()
		for i := range batch {
			batch[i] = store.Record{User: fmt.Sprint("u", rng.IntN(5)),
				Event: testEvent(rng.IntN(1000))}
			l.sent[batch[i]] = true
		}
		l.mu.Unlock()
		results, err := l.s.Append(context.Background(), batch)
		if err != nil {
			return err
		}
		l.mu.Lock()
		for i, r := range batch {
			l.acked[r] = results[i].Version
		}
		if len(l.acked) >= l.crashAt/2 && rng.IntN(50) == 0 {
			sortNow(l.s)
			_, _ = l.s.engine.DB.AsyncFlush()
		}
		if len(l.acked) >= l.crashAt {
			l.stop()
		}
		l.mu.Unlock()
	}
}
