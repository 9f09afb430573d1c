package pebble

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/store"
)

// verified verifies a store and returns the users whose histories are not whole.
func verified(t *testing.T, fs vfs.FS, dir string) (*Report, map[string]bool, error) {
	t.Helper()
	users := map[string]bool{}
	report, err := Verify(t.Context(), dir, Options{FS: fs}, func(int64, int64) {},
		func(user string, _ Condition) error {
			users[user] = true
			return nil
		})
	return report, users, err
}

// TestVerify flips bits in tables: Verify finds each, and names just the users that a server
// refuses. All of them have rows in more than one table.
func TestVerify(t *testing.T) {
	t.Parallel()
	soak.Native(t)
	disk, events, tables := manyTables(t)
	report, _, err := verified(t, disk, "store")
	if err != nil || !report.Whole() || report.Users != manyUsers ||
		report.Events != int64(manyUsers*events) {
		t.Fatalf("a whole store: %+v, %v", report, err)
	}
	rng := rand.New(rand.NewPCG(3, 3))
	flips := soak.Times(14)
	soak.Injected(t, flips, "flipped bits")
	named := 0
	for i := range flips {
		path := tables[i%len(tables)]
		at := rng.IntN(sizeOf(t, disk, path) - 200) // the end has reserves that nothing reads
		if i < len(tables) {
			at = 400 // a table may begin amid the rows of a user
		}
		damaged := flipped(t, disk, path, at, 1<<rng.IntN(8))
		report, users, err := verified(t, damaged, "store")
		if err != nil || len(report.Damaged) != 1 ||
			disk.PathJoin(dataDir, report.Damaged[0]) != path {
			t.Fatalf("%s, byte %d: %+v, %v", path, at, report, err)
		}
		s := mustOpen(t, "store", Options{FS: damaged})
		refused := unreadable(t, s, events)
		mustClose(t, s)
		if diff := cmp.Diff(refused, users); diff != "" || int64(len(users)) != report.Incomplete {
			t.Errorf("%s, byte %d: %d users count as incomplete, named are (-refused +named):\n%s",
				path, at, report.Incomplete, diff)
		}
		check.Same(t, int64(manyUsers), report.Users, "%s, byte %d: users found", path, at)
		named += len(users)
	}
	if named < flips/2 {
		t.Errorf("%d flipped bits harm %d users, want about one each", flips, named)
	}
}

// TestVerifyRefusal verifies a store that does not open.
func TestVerifyRefusal(t *testing.T) {
	soak.Native(t)
	disk := newDisk()
	s := mustOpen(t, "store", Options{FS: disk})
	mustAppend(t, s, "u", 0, 3)
	mustClose(t, s)
	path, content := newestLog(t, disk)
	damaged := flipped(t, disk, path, slices.IndexFunc(content, func(b byte) bool { return b != 0 }),
		1)
	report, _, err := verified(t, damaged, "store")
	if err != nil || report.Whole() || !errors.Is(report.Refusal, store.ErrCorrupt) ||
		!errors.Is(report.Loss, store.ErrCorrupt) {
		t.Errorf("got %+v, %v, want a refusal", report, err)
	}
}

// TestVerifyNamesNeighbours flips bits in blocks that hold all rows that a table has of many users.
// They are named because other tables have rows of them too.
func TestVerifyNamesNeighbours(t *testing.T) {
	t.Parallel()
	soak.Native(t)
	disk := newDisk()
	s := mustOpen(t, "store", Options{FS: disk})
	for i := range 2 {
		appendBig(t, s, i, i+1)
		flush(t, s)
	}
	mustClose(t, s)
	path := largestTable(t, disk)
	for _, i := range soak.Some(t, 6) {
		at := 500 + 5000*i
		damaged := flipped(t, disk, path, at, 1)
		report, users, err := verified(t, damaged, "store")
		check.Must(t, err)
		s := mustOpen(t, "store", Options{FS: damaged})
		refused := unreadable(t, s, 2)
		mustClose(t, s)
		if len(users) < 5 || !cmp.Equal(refused, users) || report.Users != manyUsers {
			t.Errorf("byte %d: of %d users %d are refused and %d named", at, report.Users,
				len(refused), len(users))
		}
	}
}
