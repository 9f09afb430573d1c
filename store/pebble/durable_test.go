package pebble

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/storetest"
)

// hungDisk is a disk that can hold the syncs of logs up.
type hungDisk struct {
	vfs.FS
	hung    atomic.Bool
	pass    chan struct{} // lets a sync go on
	once    sync.Once
	waiting chan struct{} // told when a sync waits
}

func newHungDisk() *hungDisk {
	d := &hungDisk{pass: make(chan struct{}), waiting: make(chan struct{}, 1)}
	d.FS = errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		isSync := op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData
		if isSync && strings.HasSuffix(op.Path, ".log") && d.hung.Load() {
			d.waiting <- struct{}{}
			<-d.pass
		}
		return nil
	}))
	return d
}

// hang holds all syncs up from now on.
func (d *hungDisk) hang() { d.hung.Store(true) }

// goOn lets all syncs go on.
func (d *hungDisk) goOn() {
	d.hung.Store(false)
	d.once.Do(func() { close(d.pass) })
}

// TestReadersSeeDurableChanges writes and erases while the disk hangs. Readers must see the
// histories from before until the disk goes on, wherever their events are, and those from
// afterwards then.
func TestReadersSeeDurableChanges(t *testing.T) {
	for _, c := range []struct {
		name          string
		erase, append bool
	}{
		{name: "append", append: true}, {name: "erase", erase: true},
		{name: "erase and append", erase: true, append: true},
	} {
		t.Run(c.name, func(t *testing.T) { changeWhileDiskHangs(t, c.erase, c.append) })
	}
}

func changeWhileDiskHangs(t *testing.T, erase, add bool) {
	disk := newHungDisk()
	s := mustOpen(t, "store", Options{FS: disk})
	defer func() { mustClose(t, s) }()
	for _, user := range []string{"in rows", "in both", "forgotten"} {
		mustAppend(t, s, user, 0, 100)
	}
	flush(t, s)
	mustClose(t, s)
	s = mustOpen(t, "store", Options{FS: disk}) // no history is in memory
	mustAppend(t, s, "in both", 100, 103)
	mustAppend(t, s, "in journal", 0, 3)
	before := dump(t, s)

	var h heldCalls
	disk.hang()
	defer disk.goOn()
	h.calls.Go(func() {
		check.Pass(t, tryAppend(context.Background(), s, "first", 0), "Append")
	})
	<-disk.waiting // while the group of the first hangs, that of all others comes together
	after := map[string][]string{"first": {testEvent(0).ID}, "forgotten": before["forgotten"]}
	for _, user := range []string{"in rows", "in both", "in journal", "new"} {
		switch {
		case !erase:
			after[user] = before[user]
		case user == "new": // there is nothing to wait for
			wantErased(t, s, user, 0)
		default:
			h.begin(t, s, func(ctx context.Context) error {
				n, err := s.Erase(ctx, user)
				check.Same(t, uint64(len(before[user])), n, "events of %q that are erased", user)
				return err
			})
		}
		if add {
			after[user] = append(slices.Clone(after[user]), testEvent(200).ID)
			h.begin(t, s, func(ctx context.Context) error { return tryAppend(ctx, s, user, 200) })
		}
	}
	see := func(when string, want map[string][]string) {
		t.Helper()
		for user, ids := range want {
			r := check.Get(storetest.Revision(context.Background(), s, user))(t)
			check.Same(t, uint64(len(ids)), r, "%s: revision of %q", when, user)
		}
		check.Same(t, want, dump(t, s), "%s: histories", when)
	}
	see("the disk hangs", before)
	disk.pass <- struct{}{}
	<-disk.waiting // all others are planned
	before["first"] = after["first"]
	sortNow(s)
	see("the disk hangs again", before)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	// Where others append, this one is a duplicate, which must not be answered before its original
	// is on disk.
	check.Fails(t, tryAppend(ctx, s, "new", 200),
		context.DeadlineExceeded, "a write while the disk hangs")
	disk.goOn()
	h.calls.Wait()
	see("the disk goes on", after)
	flush(t, s)
	see("sorted", after)
}

// heldCalls are writes that wait for the disk.
type heldCalls struct {
	calls  sync.WaitGroup
	queued int
}

// begin begins a write, which comes after those that have begun while the disk hangs.
func (h *heldCalls) begin(t *testing.T, s *Store, write func(context.Context) error) {
	h.queued++
	h.calls.Go(func() {
		check.Pass(t, write(context.Background()), "a write")
	})
	check.Await(t, "a write queues up", func() bool {
		s.queue.mu.Lock()
		defer s.queue.mu.Unlock()
		return len(s.queue.calls) == h.queued
	})
}

func tryAppend(ctx context.Context, s *Store, user string, event int) error {
	return appendAll(ctx, s, []store.Record{{User: user, Event: testEvent(event)}})
}

// TestReadersSeeWhatSurvives cuts the power while readers look on. The syncs are slow, so that
// there is time to see too much.
func TestReadersSeeWhatSurvives(t *testing.T) {
	t.Parallel()
	cuts := soak.Times(60)
	if soak.Brief() {
		cuts = min(cuts, 10)
	}
	soak.Injected(t, cuts, "power cuts")
	for seed := range uint64(cuts) {
		var opened []*Store
		storetest.Survive(t, seed, func() (store.Store, func() store.Store) {
			rng := rand.New(rand.NewPCG(seed, 7))
			disk := newDisk()
			slow := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData {
					time.Sleep(200 * time.Microsecond)
				}
				return nil
			}))
			s := mustOpen(t, "store", Options{
				FS: slow, CacheBytes: 1 << (10 + rng.IntN(16)), sortBytes: 1 << rng.IntN(14),
				sortBatch: 1 << rng.IntN(10),
			})
			opened = append(opened, s)
			return s, func() store.Store {
				after := disk.CrashClone(vfs.CrashCloneCfg{
					UnsyncedDataPercent: rng.IntN(2) * rng.IntN(101), RNG: rng,
				})
				s := mustOpen(t, "store", Options{FS: after})
				opened = append(opened, s)
				return s
			}
		})
		for _, s := range opened {
			mustClose(t, s)
		}
	}
}
