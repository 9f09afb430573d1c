package pebble

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"weak"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/engine"
	"github.com/gsimc/gsimc/store/pebble/internal/mark"
	"github.com/gsimc/gsimc/store/storetest"
)

func setFree(disk interface{ TestingSetDiskUsage(vfs.DiskUsage) }, bytes uint64) {
	disk.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: bytes, TotalBytes: 1 << 40})
}

func mustWait(t testing.TB, fs vfs.FS, opts Options) store.Checkpointer {
	t.Helper()
	opts.FS, opts.roomEvery, opts.closePatience = fs, time.Millisecond, 100*time.Millisecond
	return check.Get(OpenOrWait(context.Background(), "dir/store", opts))(t)
}

// TestReadsOnFullDisk starts a store on a full disk: it is read, and written to as soon as there is
// room, while readers go on.
func TestReadsOnFullDisk(t *testing.T) {
	t.Parallel()
	disk, want := unwrittenTables(t)
	disk = powerCut(disk, 100)
	setFree(disk, 3<<20)
	s := mustWait(t, disk, Options{})
	check.Same(t, want, dump(t, s), "on the full disk")
	items := s.(store.Items)
	checkItems(t, items, "kept")
	record := []store.Record{{User: "new", Event: testEvent(0)}}
	_, appended := s.Append(t.Context(), record)
	_, erased := s.Erase(t.Context(), "u0")
	_, copied := s.Checkpoint(t.Context())
	put := items.PutItems(t.Context(), []store.Item{{ID: "new"}})
	deleted := items.DeleteItems(t.Context(), []string{"kept"})
	_, rewritten := s.Rewrite(t.Context(), []string{"u0"},
		func(histories [][]store.Event) [][]store.Event { return histories })
	stats := check.Get(s.Stats(t.Context()))(t)
	for what, err := range map[string]error{"Append": appended, "Erase": erased,
		"Checkpoint": copied, "PutItems": put, "DeleteItems": deleted, "Rewrite": rewritten,
		"Stats": stats.Refusal} {
		if !errors.Is(err, store.ErrFull) || errors.Is(err, store.ErrFailed) ||
			!strings.Contains(err.Error(), "3 MiB are free") {
			t.Errorf("%s: got error %v, want ErrFull that says how much is free", what, err)
		}
	}
	if _, err := openSoon("dir/store", Options{FS: disk}); err == nil {
		t.Error("the store can be opened twice")
	}

	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	var reads atomic.Int64
	for range 4 {
		readers.Go(func() {
			for ctx.Err() == nil {
				got, err := tryDump(s)
				delete(got, "new")
				if err != nil || !cmp.Equal(want, got) {
					t.Errorf("while it is opened to write: %v %v", got, err)
					return
				}
				reads.Add(1)
			}
		})
	}
	setFree(disk, 1<<30)
	awaitAppend(t, s, record, nil)
	before := reads.Load()
	check.Await(t, "readers go on", func() bool { return reads.Load() >= before+20 })
	stop()
	readers.Wait()
	if stats, err := s.Stats(t.Context()); stats.Refusal != nil || err != nil {
		t.Errorf("Stats with room: %v, %v", stats.Refusal, err)
	}
	checkItems(t, items, "kept")
	check.Pass(t, items.PutItems(t.Context(), []store.Item{{ID: "later"}}), "PutItems with room")
	checkItems(t, items, "kept", "later")
	mustClose(t, s)
	want["new"] = []string{testEvent(0).ID}
	wantThere(t, disk, "dir/store", want)
}

// checkItems reads the items of a store in all ways there are.
func checkItems(t *testing.T, s store.Items, want ...string) {
	t.Helper()
	check.Get(s.ItemsRevision(t.Context()))(t)
	var got []string
	check.Must(t, s.EachItem(t.Context(), "", func(item store.Item) error {
		got = append(got, item.ID)
		return nil
	}))
	check.Same(t, want, got, "EachItem")
	for _, id := range want {
		if item, found, err := s.Item(t.Context(), id); item.ID != id || !found || err != nil {
			t.Errorf("Item(%q): %+v, %t, %v", id, item, found, err)
		}
	}
}

// TestWaitingStoreConforms lets a store begin on a full disk and then keep the rules of stores.
func TestWaitingStoreConforms(t *testing.T) {
	storetest.Run(t, func(t testing.TB) store.Store {
		disk := vfs.NewMem()
		mustClose(t, mustOpen(t, "dir/store", Options{FS: disk}))
		setFree(disk, 1<<20)
		s := mustWait(t, disk, Options{})
		setFree(disk, 1<<40)
		check.Await(t, "the store is written to", func() bool {
			return check.Get(s.Stats(context.Background()))(t).Refusal == nil
		})
		return s
	})
}

// TestChangeoverFails lets a store that waited be opened to write and then not begin: it says why, is
// read on and keeps others out until it is closed.
func TestChangeoverFails(t *testing.T) {
	t.Parallel()
	disk, want := unwrittenTables(t)
	disk = powerCut(disk, 100)
	// A table of a run that did not end, which an opening to write removes.
	writeFile(t, disk, disk.PathJoin("dir/store", engine.DataName, "000003.sst"), []byte("half"))
	var opened atomic.Int64
	fs := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		// Both openings read the mark; the second then fails to keep it.
		if strings.HasSuffix(op.Path, mark.Name) && op.Kind == errorfs.OpOpen &&
			opened.Add(1) > 2 {
			return syscall.EMFILE
		}
		return nil
	}))
	setFree(disk, 1<<20)
	reasons := make(chan error, 10)
	s := mustWait(t, fs, Options{Events: Events{Failed: func(err error) { reasons <- err }}})
	setFree(disk, 1<<40)
	select {
	case err := <-reasons:
		if !errors.Is(err, store.ErrFailed) || !errors.Is(err, syscall.EMFILE) {
			t.Errorf("Events.Failed: got %v, want ErrFailed with the cause", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the failed changeover has not ended after 10 s")
	}
	record := []store.Record{{User: "u", Event: testEvent(0)}}
	check.Fails(t, check.Err(s.Append(t.Context(), record)), syscall.EMFILE, "Append")
	check.Same(t, want, dump(t, s), "read on")
	if _, err := openSoon("dir/store", Options{FS: disk}); err == nil {
		t.Error("the store can be opened twice")
	}
	mustClose(t, s)
	wantThere(t, disk, "dir/store", want)
}

// TestClosedDuringChangeover closes a store while it waits for room, and at many moments of its
// opening to write.
func TestClosedDuringChangeover(t *testing.T) {
	t.Parallel()
	full, want := unwrittenTables(t)
	closings := soak.Times(20)
	soak.Injected(t, closings, "closings during a changeover")
	for i := range closings {
		disk := powerCut(full, 100)
		setFree(disk, 1<<20)
		s := mustWait(t, disk, Options{})
		if i > 0 {
			setFree(disk, 1<<40)
			time.Sleep(time.Duration(i%20) * time.Millisecond)
		}
		check.Must(t, check.Return(t, "Close", s.Close))
		_, err := s.Append(t.Context(), []store.Record{{User: "u", Event: testEvent(0)}})
		if !errors.Is(err, store.ErrClosed) || !errors.Is(s.Close(), store.ErrClosed) {
			t.Errorf("after Close: got error %v, want ErrClosed", err)
		}
		disk = powerCut(disk, 100)
		setFree(disk, 1<<40)
		wantThere(t, disk, "dir/store", want)
	}
}

// TestChangeoverDropsMemory looks for the histories of the store that has been read.
func TestChangeoverDropsMemory(t *testing.T) {
	t.Parallel()
	disk, _ := unwrittenTables(t)
	disk = powerCut(disk, 100)
	setFree(disk, 1<<20)
	s := mustWait(t, disk, Options{})
	histories := weak.Make(s.(*waiting).reads.histories)
	setFree(disk, 1<<40)
	awaitAppend(t, s, []store.Record{{User: "u", Event: testEvent(0)}}, nil)
	check.Await(t, "they are not in memory any more", func() bool {
		runtime.GC()
		return histories.Value() == nil
	})
	mustClose(t, s)
}
