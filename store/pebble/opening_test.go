package pebble

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/mark"
)

// openingLimit is how long opening may take when the disk is full or failed.
const openingLimit = 10 * time.Second

// unwrittenTables returns a disk with a store whose events stand only in the log of the engine, so
// that opening must write tables, and the histories in it. The store has an item "kept".
func unwrittenTables(t *testing.T) (*memDisk, map[string][]string) {
	t.Helper()
	disk := newDisk()
	s := mustOpen(t, "dir/store", Options{FS: disk})
	for u := range 5 {
		mustAppend(t, s, fmt.Sprint("u", u), 0, 20)
	}
	settle(t, s)
	mustAppend(t, s, "u0", 20, 25)
	check.Must(t, s.PutItems(t.Context(), []store.Item{{ID: "kept"}}))
	want := dump(t, s)
	mustClose(t, s)
	return disk, want
}

// powerCut returns the disk as the next process finds it, without locks.
func powerCut(disk *memDisk, unsynced int) *memDisk {
	return disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: unsynced,
		RNG: rand.New(rand.NewPCG(1, 1))})
}

// TestOpeningOnFullDisk opens a store when no table can be written. The engine alone would try for
// ever.
func TestOpeningOnFullDisk(t *testing.T) {
	t.Parallel()
	disk, want := unwrittenTables(t)
	disk.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 3 << 20, TotalBytes: 1 << 30})
	fs := withoutTables(disk, func() error { return syscall.ENOSPC })
	reasons := make(chan error, 2)
	began := time.Now()
	_, err := openSoon("dir/store", Options{FS: fs,
		Events: Events{Failed: func(err error) { reasons <- err }}})
	if took := time.Since(began); took > openingLimit {
		t.Errorf("opening took %v", took)
	}
	message := "3 MiB are free: free 253 MiB more on the disk of \"dir/store\" and restart"
	check.Fails(t, err, store.ErrFull, "Open")
	check.Says(t, err, message, "Open")
	check.Fails(t, <-reasons, store.ErrFull, "Events.Failed")
	wantThere(t, powerCut(disk, 100), "dir/store", want)
}

// TestUpgradeOnFullDisk opens a store without a mark, which branches off, when the log has no room
// or does not answer: the opening ends all the same.
func TestUpgradeOnFullDisk(t *testing.T) {
	t.Parallel()
	disk, want := unwrittenTables(t)
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	defer close(release)
	for what, fails := range map[string]func() error{
		"full":    func() error { return syscall.ENOSPC },
		"hanging": func() error { cancel(); <-release; return nil },
	} {
		unmarked := powerCut(disk, 100)
		check.Must(t, unmarked.Remove("dir/store/"+mark.Name))
		fs := errorfs.Wrap(unmarked, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind == errorfs.OpFileWrite && strings.HasSuffix(op.Path, ".log") {
				return fails()
			}
			return nil
		}))
		ctx, cause := ctx, context.Canceled
		if what == "full" {
			ctx, cause = context.Background(), store.ErrFull
		}
		check.Fails(t, check.Return(t, "the opening", func() error {
			_, err := Open(ctx, "dir/store", Options{FS: fs, closePatience: time.Millisecond})
			return err
		}), cause, "%s", what)
	}
	wantThere(t, powerCut(disk, 100), "dir/store", want)
}

// TestOpeningEndsWithItsContext opens a store on a disk that hangs.
func TestOpeningEndsWithItsContext(t *testing.T) {
	t.Parallel()
	disk, want := unwrittenTables(t)
	hangs, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	fs := withoutTables(disk, func() error {
		once.Do(func() { close(hangs) })
		<-release
		return nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-hangs
		cancel()
	}()
	for range 2 { // the context ends, and has ended
		check.Fails(t, check.Err(Open(ctx, "dir/store", Options{FS: fs})), context.Canceled, "Open")
	}
	close(release)
	// The engine opens after all and is closed, as no caller waits for it.
	check.Await(t, "the store can be opened again", func() bool {
		s, err := openSoon("dir/store", Options{FS: fs})
		if err != nil {
			return false
		}
		mustClose(t, s)
		return true
	})
	wantThere(t, fs, "dir/store", want)
}

// TestEveryOperationOfOpeningFails is [TestEveryOperationFails] for the opening of a store with
// events.
func TestEveryOperationOfOpeningFails(t *testing.T) {
	t.Parallel()
	soak.Native(t)
	disk, want := unwrittenTables(t)
	for _, f := range []fault{
		{name: "once", err: syscall.EIO}, {name: "for ever", err: syscall.EIO, forever: true},
		{name: "full once", err: syscall.ENOSPC, writesOnly: true},
		{name: "full", err: syscall.ENOSPC, forever: true, writesOnly: true},
		{name: "short write", short: true},
	} {
		t.Run(f.name, func(t *testing.T) {
			var refused atomic.Int64
			f.everywhere(t, func(f fault) bool {
				opened, reached := f.open(t, powerCut(disk, 100), want)
				if !opened {
					refused.Add(1)
				}
				return reached
			})
			if refused.Load() == 0 {
				t.Error("no fault was noticed")
			}
		})
	}
}

// open opens a store with the fault, and then on a good disk.
func (f fault) open(t *testing.T, disk *memDisk, want map[string][]string) (opened,
	reached bool) {
	fs, wasReached := f.wrap(disk)
	err := errHangs
	withDeadline(func() {
		s, openErr := openSoon("dir/store", Options{FS: fs})
		if openErr == nil {
			_ = s.Close()
		}
		err = openErr
	})
	if err == errHangs {
		t.Errorf("operation %d fails: %v", f.at, err)
		return false, true
	}
	reached = wasReached()
	if err != nil && !reached {
		t.Errorf("without a fault: %v", err)
	}
	for _, unsynced := range []int{100, 0} {
		s, err := openSoon("dir/store", Options{FS: powerCut(disk, unsynced)})
		if err != nil {
			t.Errorf("operation %d failed; on a good disk: %v", f.at, err)
			continue
		}
		check.Pass(t, (outcomes{want}).check(s), "operation %d failed; on a good disk", f.at)
		check.Pass(t, s.Close(), "operation %d failed; on a good disk", f.at)
	}
	return err == nil, reached
}
