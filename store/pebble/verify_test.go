package pebble

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/internal/soak"
	"github.com/gsimc/gsimc/store"
)

// verified verifies a store and returns the users whose histories are not whole.
func verified(t *testing.T, fs vfs.FS, dir string) (*Report, map[string]bool, error) {
	t.Helper()
	users := map[string]bool{}
	report, err := Verify(t.Context(), dir, Options{FS: fs}, func(int64, int64) {},
		func(user string) error {
			users[user] = true
			return nil
		})
	return report, users, err
}

// TestVerify flips bits in tables: Verify finds each, and the users that a server refuses.
func TestVerify(t *testing.T) {
	disk, events, tables := manyTables(t)
	report, _, err := verified(t, disk, "store")
	if err != nil || !report.Whole() || report.Users != manyUsers ||
		report.Events != int64(manyUsers*events) {
		t.Fatalf("a whole store: %+v, %v", report, err)
	}
	rng := rand.New(rand.NewPCG(3, 3))
	flips := soak.Times(14)
	soak.Injected(t, flips, "flipped bits")
	for i := range flips {
		path := tables[i%len(tables)]
		info, err := disk.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		at := rng.IntN(int(info.Size()) - 200) // the end has reserves that nothing reads
		damaged := flipped(t, disk, path, at, 1<<rng.IntN(8))
		report, users, err := verified(t, damaged, "store")
		if err != nil || len(report.Damaged) != 1 ||
			disk.PathJoin(dataDir, report.Damaged[0]) != path {
			t.Fatalf("%s, byte %d: %+v, %v", path, at, report, err)
		}
		s := mustOpen(t, "store", Options{FS: damaged})
		refused := unreadable(t, s, events)
		mustClose(t, s)
		for user := range users {
			if !refused[user] {
				t.Errorf("%s, byte %d: a user who can be read counts as incomplete", path, at)
			}
		}
		// a user all of whose rows are damaged cannot be named
		if unnamed := len(refused) - len(users); unnamed > 0 && report.Unnamed == 0 {
			t.Errorf("%s, byte %d: %d refused users are not found", path, at, unnamed)
		}
	}
}

// TestVerifyRefusal verifies a store that does not open.
func TestVerifyRefusal(t *testing.T) {
	disk := vfs.NewCrashableMem()
	s := mustOpen(t, "store", Options{FS: disk})
	mustAppend(t, s, "u", 0, 3)
	mustClose(t, s)
	path, content := newestLog(t, disk)
	damaged := flipped(t, disk, path, slices.IndexFunc(content, func(b byte) bool { return b != 0 }),
		1)
	if _, _, err := verified(t, damaged, "store"); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("got %v, want ErrCorrupt", err)
	}
}
