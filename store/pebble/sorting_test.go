package pebble

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/internal/test/check"
)

// TestCrashWhileSorting cuts the power after each batch of the sorter. In whatever order the
// goroutines run, the sorter waits for the rows before each of its batches, and the test has them
// in between: what it acknowledges then has also synced the batch before.
func TestCrashWhileSorting(t *testing.T) {
	const users = 5
	synctest.Test(t, func(t *testing.T) {
		disk := newDisk()
		s := mustOpen(t, "store", Options{FS: disk, sortBytes: 1 << 20, sortBatch: 1})
		defer mustClose(t, s)
		for user := range users {
			mustAppend(t, s, fmt.Sprint("user-", user), user, user+2)
		}
		check.Must(t, s.sorter.lockRows())
		defer s.sorter.unlockRows()
		sortNow(s)
		cuts := 0
		for sorted := false; !sorted && cuts < 10*users; cuts++ {
			sorted = s.sorter.emptied.Load() > 0
			mustAppend(t, s, "beside", 10*cuts, 10*cuts+1)
			wantThere(t, disk.CrashClone(vfs.CrashCloneCfg{}), "store", dump(t, s))
			oneBatch(t, s)
		}
		check.Same(t, users+2, cuts,
			"cuts of power, before, between and after %d batches", users+1)
	})
}

// oneBatch lets the sorter, which waits for the rows, write one batch, and takes the rows back.
func oneBatch(t *testing.T, s *Store) {
	t.Helper()
	synctest.Wait() // the sorter waits
	locked := make(chan error)
	go func() { locked <- s.sorter.lockRows() }()
	synctest.Wait() // behind it waits the test
	s.sorter.unlockRows()
	check.Must(t, <-locked)
}
