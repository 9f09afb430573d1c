package pebble

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
	"github.com/gsimc/gsimc/store/storetest"
)

// appendAll appends, and returns the errors of the call and of its records.
func appendAll(ctx context.Context, s store.Store, records []store.Record) error {
	results, err := s.Append(ctx, records)
	for _, r := range results {
		err = errors.Join(err, r.Err)
	}
	return err
}

// sortNow makes the committer sort the journal, soon.
func sortNow(s *Store) {
	s.sorter.due.Store(true)
	s.queue.nudge()
}

// settle waits until everything is in rows and the journal is empty.
func settle(t testing.TB, s *Store) {
	t.Helper()
	check.Await(t, "the journal is sorted", func() bool {
		sorted := journalRows(t, s) == 0
		if !sorted {
			sortNow(s)
		}
		return sorted
	})
}

// wantThere opens the store in a directory and wants it to have these events.
func wantThere(t testing.TB, fs vfs.FS, dir string, want map[string][]string) {
	t.Helper()
	s := mustOpen(t, dir, Options{FS: fs})
	defer mustClose(t, s)
	check.Same(t, want, dump(t, s), "opened again")
}

// withoutTables is a disk on which tables cannot be written while fails returns an error.
func withoutTables(disk vfs.FS, fails func() error) vfs.FS {
	return errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if strings.HasSuffix(op.Path, ".sst") && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return fails()
		}
		return nil
	}))
}

// withCrashes is a disk that calls crash with a copy of what a power cut before an operation would
// leave, for each operation that is no read; of the unsynced bytes none, half or all are left. The
// calls come one after the other.
func withCrashes(disk *memDisk, rng *rand.Rand, crash func(copied func() *memDisk)) vfs.FS {
	var mu sync.Mutex
	copied := func() *memDisk {
		return disk.CrashClone(
			vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(3) * 50, RNG: rng})
	}
	return errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() != errorfs.OpIsRead {
			mu.Lock()
			defer mu.Unlock()
			crash(copied)
		}
		return nil
	}))
}

func journalRows(t testing.TB, s *Store) (n int) {
	t.Helper()
	it := check.Get(s.engine.DB.NewIter(&lsm.IterOptions{LowerBound: row.JournalPrefix,
		UpperBound: row.FirstUserKey}))(t)
	defer it.Close()
	for valid := it.First(); valid; valid = it.Next() {
		n++
	}
	check.Must(t, it.Error())
	return n
}

// flush puts everything into tables.
func flush(t testing.TB, s *Store) {
	t.Helper()
	settle(t, s)
	check.Must(t, s.engine.DB.Flush())
}

// mustErase erases a user who has events.
func mustErase(t testing.TB, s store.Store, user string) {
	t.Helper()
	if n, err := s.Erase(context.Background(), user); n == 0 || err != nil {
		t.Fatalf("Erase: %d, %v, want events", n, err)
	}
}

// wantErased erases a user, and checks that events is how many there were.
func wantErased(t testing.TB, s store.Store, user string, events uint64) {
	t.Helper()
	n := check.Get(s.Erase(context.Background(), user))(t)
	check.Same(t, events, n, "erased events of %q", user)
}

// wantRevision checks that events is how many a user has.
func wantRevision(t testing.TB, s store.Store, user string, events uint64) {
	t.Helper()
	n := check.Get(storetest.Revision(context.Background(), s, user))(t)
	check.Same(t, events, n, "revision of %q", user)
}

// filesIn returns the paths of the files of a folder whose names begin and end with these, sorted.
func filesIn(t testing.TB, fs vfs.FS, dir, begin, end string) (paths []string) {
	t.Helper()
	for _, name := range check.Get(fs.List(dir))(t) {
		if strings.HasPrefix(name, begin) && strings.HasSuffix(name, end) {
			paths = append(paths, fs.PathJoin(dir, name))
		}
	}
	slices.Sort(paths)
	return paths
}
