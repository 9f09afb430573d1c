package pebble

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/engine"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
	"github.com/gsimc/gsimc/store/pebble/internal/smallfile"
)

// histories returns all that Each finds in a store on the disk.
func histories(t *testing.T, disk vfs.FS, dir string) map[string][]store.Event {
	t.Helper()
	return check.Get(readDir(disk, dir))(t)
}

// salvaged salvages "store" to "new" and returns the users who are left out.
func salvaged(t *testing.T, disk vfs.FS) (*Salvaged, map[string]bool, error) {
	t.Helper()
	lost := map[string]bool{}
	result, err := Salvage(t.Context(), "store", "new", Options{FS: disk}, func(int64, int64) {},
		func(int64) {}, func(user string, c Condition) error {
			if c == Damaged {
				lost[user] = true
			}
			return nil
		})
	return result, lost, err
}

// takesWrites wants a store to open and to take a write of a new user.
func takesWrites(t *testing.T, disk vfs.FS, dir string) {
	t.Helper()
	s := mustOpen(t, dir, Options{FS: disk})
	mustAppend(t, s, "a new user", 0, 1)
	mustClose(t, s)
}

// filesOf returns the content of the files of a store.
func filesOf(t *testing.T, disk vfs.FS) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, dir := range []string{"store", dataDir} {
		names := check.Get(disk.List(dir))(t)
		for _, name := range names {
			content, err := smallfile.Read(disk, disk.PathJoin(dir, name))
			if err == nil && name != engine.LockName { // else a folder
				files[disk.PathJoin(dir, name)] = string(bytes.Clone(content))
			}
		}
	}
	return files
}

// salvageable returns a disk with a store of many tables and a journal: closed, or after a crash.
func salvageable(t *testing.T, crashed bool) (*memDisk, map[string][]store.Event) {
	t.Helper()
	disk, events, _ := manyTables(t)
	s := mustOpen(t, "store", Options{FS: disk})
	appendBig(t, s, events, events+1) // some of it in tables, after an opening
	s = reopen(t, s, "store", Options{FS: disk})
	appendBig(t, s, events+1, events+2)
	if crashed {
		awaitMark(t, disk, s)
		disk = powerCut(disk, 100)
	}
	mustClose(t, s)
	before := histories(t, disk, "store")
	if len(before) != manyUsers || len(before[numbered(0)]) != events+2 {
		t.Fatalf("%d users, %d events", len(before), len(before[numbered(0)]))
	}
	return disk, before
}

// TestSalvageLogs damages the logs of a store: what the new store has was there before.
func TestSalvageLogs(t *testing.T) {
	t.Parallel()
	soak.Native(t)
	disk, before := salvageable(t, true)
	rng := rand.New(rand.NewPCG(6, 6))
	kept, flips := 0, soak.Times(5)
	for range flips {
		path, content := newestLog(t, disk)
		at := rng.IntN(len(bytes.TrimRight(content, "\x00")))
		what := fmt.Sprintf("%s, byte %d", path, at)
		_, there, back := accounted(t, what, flipped(t, disk, path, at, 1<<rng.IntN(8)), before)
		check.Same(t, 0, back, "%s: users from nowhere", what)
		kept += there
	}
	if kept < flips*manyUsers/2 {
		t.Errorf("%d users are kept in %d salvages", kept, flips)
	}
	soak.Injected(t, flips, "flipped bits")
}

// TestSalvageTellsOfItems damages the log behind all events, amid items: that some may be missing
// is told, although no commit of events is.
func TestSalvageTellsOfItems(t *testing.T) {
	t.Parallel()
	disk := newDisk()
	s := mustOpen(t, "store", Options{FS: disk})
	mustAppend(t, s, "u", 0, 3)
	for _, id := range []string{"item1", "item2", "item3"} {
		check.Must(t, s.PutItems(t.Context(), []store.Item{{ID: id}}))
	}
	mustClose(t, s)
	path, content := newestLog(t, disk)
	damaged := flipped(t, disk, path, bytes.LastIndex(content, []byte("item2")), 1)
	result, _, err := salvaged(t, damaged)
	if err != nil || result.Events != 3 || result.Items != 1 || result.Found.Loss != nil ||
		!result.Found.DoubtfulItems {
		t.Errorf("got %+v, %v, want an item and doubts about others", result, err)
	}
}

// TestSalvageCountsDamagedRows damages a row of the journal: it counts as lost.
func TestSalvageCountsDamagedRows(t *testing.T) {
	t.Parallel()
	disk := newDisk()
	s := mustOpen(t, "store", Options{FS: disk})
	for i := range 3 {
		mustAppend(t, s, "u", i, i+1)
	}
	last := row.JournalKey(nil, rowsWritten(t, s))
	check.Must(t, s.engine.DB.Set(last, []byte("damaged"), lsm.Sync))
	mustClose(t, s)
	result, _, err := salvaged(t, disk)
	if err != nil || result.Events != 2 || result.Found.LostCommits != 1 {
		t.Errorf("got %+v, %v, want the loss of one commit", result, err)
	}
}

// TestSalvageStopsAtFailedReads lets one read of a table fail whose keys lie within those of a
// table that is left out: it must not pass for damage.
func TestSalvageStopsAtFailedReads(t *testing.T) {
	t.Parallel()
	disk := newDisk()
	s := mustOpen(t, "store", Options{FS: disk})
	for i := range 2 {
		appendBig(t, s, i, i+1)
		flush(t, s)
	}
	mustClose(t, s)
	gone := largestTable(t, disk)
	tables := slices.DeleteFunc(tablesOf(t, disk), func(path string) bool {
		return path == gone || sizeOf(t, disk, path) < sizeOf(t, disk, gone)/2
	})
	disk = withFile(t, disk, gone, nil)
	report, _, err := verified(t, disk, "store")
	if err != nil || report.LeftOut != 1 || report.DoubtfulItems {
		t.Errorf("got %+v, %v, want no doubts about items without a table of users", report, err)
	}
	var failed atomic.Bool
	fs := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileReadAt && op.Offset == 0 && slices.Contains(tables, op.Path) &&
			failed.CompareAndSwap(false, true) {
			return syscall.EIO
		}
		return nil
	}))
	_, _, err = verified(t, fs, "store")
	check.Fails(t, err, syscall.EIO, "Verify")
}

// TestSalvageOfWholeStore copies everything, and refuses to write where something is.
func TestSalvageOfWholeStore(t *testing.T) {
	t.Parallel()
	soak.Native(t)
	disk, before := salvageable(t, false)
	result, lost, err := salvaged(t, disk)
	if err != nil || !result.Found.Whole() || result.Found.Refusal != nil || len(lost) > 0 ||
		result.Users != manyUsers || result.Events != result.Found.Events {
		t.Fatalf("%+v, %v", result, err)
	}
	check.Same(t, before, histories(t, disk, "new"), "the new store")
	takesWrites(t, disk, "new")
	_, _, err = salvaged(t, disk)
	check.Says(t, err, "not empty", "a second salvage to the same folder")
	ctx, cancel := context.WithCancel(t.Context())
	opened := &openings{FS: disk}
	_, err = Salvage(ctx, "store", "other", Options{FS: opened}, func(int64, int64) {},
		func(int64) { cancel() }, nil)
	check.Fails(t, err, context.Canceled, "an interrupted salvage")
	names, err := disk.List("")
	if err != nil || slices.ContainsFunc(names, func(name string) bool {
		return strings.HasPrefix(name, "other")
	}) {
		t.Errorf("it leaves %q, %v", names, err)
	}
	check.Same(t, 1, opened.times, "times the old store is opened: each replays its journal")
	takesWrites(t, disk, "store") // nobody has it open
}

// openings counts how often the folder "store" is opened.
type openings struct {
	vfs.FS

	times int
}

func (o *openings) Lock(name string) (io.Closer, error) {
	if o.PathDir(name) == "store" {
		o.times++
	}
	return o.FS.Lock(name)
}
