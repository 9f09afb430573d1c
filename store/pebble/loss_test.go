package pebble

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/engine"
	"github.com/gsimc/gsimc/store/pebble/internal/mark"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
	"github.com/gsimc/gsimc/store/pebble/internal/smallfile"
)

const dataDir = "store/" + engine.DataName

// crashedStore returns the disk of a store that was written to and not closed, and what it held.
func crashedStore(t *testing.T, calls int, tables bool) (*memDisk, map[string][]string) {
	t.Helper()
	disk := newDisk()
	s := mustOpen(t, "store", Options{FS: disk, markEvery: 1})
	defer mustClose(t, s)
	for i := range calls {
		mustAppend(t, s, fmt.Sprint("u", i%7), i, i+1)
		if tables && i == calls/2 {
			flush(t, s)
		}
	}
	awaitMark(t, disk, s)
	return powerCut(disk, 0), dump(t, s)
}

// awaitMark waits until the mark says what is durable.
func awaitMark(t *testing.T, fs vfs.FS, s *Store) {
	t.Helper()
	want := rowsWritten(t, s)
	check.Await(t, "the mark says what is durable", func() bool {
		m, _, err := mark.Read(fs, "store")
		check.Must(t, err)
		return m.Commit == want
	})
}

// rowsWritten is the number of the last row of the journal, in the engine.
func rowsWritten(t *testing.T, s *Store) uint64 {
	t.Helper()
	last, err := number(s.engine.DB, row.EmptiedKey)
	if err == nil {
		err = eachJournalRow(t.Context(), s.engine.DB, 0, func(key, _ []byte) (err error) {
			last, err = row.JournalNumber(key)
			return err
		})
	}
	check.Must(t, err)
	return last
}

// newestLog returns the path of the newest log and what is in it.
func newestLog(t *testing.T, fs vfs.FS) (path string, content []byte) {
	t.Helper()
	path = slices.Max(filesIn(t, fs, dataDir, "", ".log"))
	return path, check.Get(smallfile.Read(fs, path))(t)
}

// TestLossIsNoticed damages stores after a crash in the ways that the engine takes for a write that
// the crash cut off, or for a store that was never there. No start may go on as if nothing were
// missing, unless it is told to.
func TestLossIsNoticed(t *testing.T) {
	t.Parallel()
	soak.Native(t)
	for _, c := range []struct {
		name   string
		calls  int
		tables bool
	}{{"young", 60, false}, {"grown", 2000, false}, {"with tables", 600, true}} {
		t.Run(c.name, func(t *testing.T) {
			disk, want := crashedStore(t, c.calls, c.tables)
			same := powerCut(disk, 100)
			check.MustSame(t, "whole", openedAfter(t, same, "nothing", want), "without damage")
			log, content := newestLog(t, disk)
			written := len(bytes.TrimRight(content, "\x00"))
			rng := rand.New(rand.NewPCG(1, uint64(c.calls)))
			outcomes := map[string]int{}
			places := max(6, soak.Times(40))
			soak.Injected(t, places, "flipped bits")
			soak.Injected(t, places, "cut files")
			for range places {
				damaged := powerCut(disk, 100)
				flipped := slices.Clone(content)
				at := rng.IntN(written)
				flipped[at] ^= 1 << rng.IntN(8)
				writeFile(t, damaged, log, flipped)
				outcomes["flip: "+openedAfter(t, damaged, fmt.Sprint("flip at ", at), want)]++

				damaged = powerCut(disk, 100)
				at = rng.IntN(written - 1)
				writeFile(t, damaged, log, content[:at])
				outcomes["cut: "+openedAfter(t, damaged, fmt.Sprint("cut at ", at), want)]++
			}
			removed := powerCut(disk, 100)
			check.Must(t, removed.Remove(log))
			outcomes["removed: "+openedAfter(t, removed, "log removed", want)]++
			t.Logf("%v", outcomes)
			if outcomes["removed: refused"] == 0 || outcomes["flip: refused"] == 0 {
				t.Error("nothing was refused: the damage changes nothing that is read")
			}
		})
	}
}

// openedAfter opens a damaged store: it must be refused with a sentence that says what to do, or be
// whole. A store that was refused must open if the loss is accepted, and then without.
func openedAfter(t *testing.T, disk vfs.FS, what string, want map[string][]string) string {
	t.Helper()
	s, err := openSoon("store", Options{FS: disk})
	if err == nil {
		defer mustClose(t, s)
		check.Same(t, want, dump(t, s), "%s: opened as if nothing were missing", what)
		return "whole"
	}
	if !errors.Is(err, store.ErrCorrupt) ||
		!strings.Contains(err.Error(), "restore the store from a backup") {
		t.Errorf("%s: got error %v, want ErrCorrupt that says what to do", what, err)
	}
	if _, err := OpenReadOnly("store", Options{FS: disk}); err == nil {
		t.Errorf("%s: opened to read as if nothing were missing", what)
	}
	if _, ok := errors.AsType[*LossError](err); !ok { // of the engine itself
		return "refused"
	}
	for i, opts := range []Options{{FS: disk, AcceptLoss: true}, {FS: disk}} {
		s, err := openSoon("store", opts)
		if err != nil {
			t.Errorf("%s: opening %d after the loss was accepted: %v", what, i, err)
			return "refused"
		}
		mustAppend(t, s, "new", i, i+1)
		mustClose(t, s)
	}
	return "refused"
}

// TestFolderIsNoticed takes the folder of the engine away, empties it, and puts others in its
// place.
func TestFolderIsNoticed(t *testing.T) {
	disk, want := crashedStore(t, 100, true)
	other, _ := crashedStore(t, 200, true)
	refused := func(what string, damaged vfs.FS, kind mark.Kind) {
		t.Helper()
		_, err := openSoon("store", Options{FS: damaged})
		loss, ok := errors.AsType[*LossError](err)
		if !ok || loss.Kind != kind {
			t.Errorf("%s: got error %v, want a loss of kind %d", what, err, kind)
			return
		}
		t.Log(err)
		check.Same(t, "refused", openedAfter(t, damaged, what, want), "%s", what)
	}
	gone := powerCut(disk, 100)
	check.Must(t, gone.RemoveAll(dataDir))
	refused("folder removed", gone, mark.Gone)

	closed := powerCut(disk, 100) // with everything that may stand beside the folder
	s := mustOpen(t, "store", Options{FS: closed})
	check.Get(s.Checkpoint(t.Context()))(t)
	mustClose(t, s)
	writeFile(t, closed, "store/"+engine.DamageName, []byte("000005.sst\n"))
	check.Must(t, closed.RemoveAll(dataDir))
	refused("folder of a closed store removed", closed, mark.Gone)

	emptied := powerCut(disk, 100)
	check.Must(t, errors.Join(emptied.RemoveAll(dataDir), emptied.MkdirAll(dataDir, 0o700)))
	refused("folder emptied", emptied, mark.Emptied)

	exchanged := powerCut(disk, 100)
	copyFolder(t, other, exchanged, dataDir)
	refused("another store", exchanged, mark.Foreign)

	older := powerCut(disk, 100)
	s = mustOpen(t, "store", Options{FS: older})
	mustAppend(t, s, "u", 0, 30)
	mustAppend(t, s, "u", 30, 31)
	mustClose(t, s)
	copyFolder(t, disk, older, dataDir)
	check.Must(t, older.Remove("store/"+engine.SealName))
	refused("an older copy", older, mark.Behind)

	damaged := powerCut(disk, 100)
	writeFile(t, damaged, "store/"+mark.Name, []byte("GSMK"))
	refused("mark damaged", damaged, mark.Unknown)

	unmarked := powerCut(disk, 100) // as beside a copy of the folder alone
	check.Must(t, unmarked.Remove("store/"+mark.Name))
	check.Same(t, "whole", openedAfter(t, unmarked, "mark removed", want), "mark removed")
	if _, found, err := mark.Read(unmarked, "store"); !found || err != nil {
		t.Errorf("no new mark was begun: %v, %v", found, err)
	}
}

// copyFolder puts the files of a folder of one disk in the place of that of another.
func copyFolder(t *testing.T, from, to vfs.FS, dir string) {
	t.Helper()
	check.Must(t, to.RemoveAll(dir))
	copyTree(t, from, dir, to, dir)
}

// TestGapHidesALife removes the rows of the journal in which a user was erased and came back. What
// comes after must not be joined to the life before: the history is damaged instead.
func TestGapHidesALife(t *testing.T) {
	disk := vfs.NewMem()
	s := mustOpen(t, "store", Options{FS: disk})
	mustAppend(t, s, "ann", 0, 5)
	mustAppend(t, s, "bob", 0, 5)
	first := rowsWritten(t, s) + 1
	check.Get(s.Erase(t.Context(), "ann"))(t)
	mustAppend(t, s, "ann", 10, 15)
	end := rowsWritten(t, s) + 1
	mustAppend(t, s, "ann", 15, 18)
	err := s.engine.DB.DeleteRange(row.JournalKey(nil, first), row.JournalKey(nil, end), lsm.Sync)
	check.Must(t, err)
	mustClose(t, s)
	_, err = openSoon("store", Options{FS: disk})
	if loss, ok := errors.AsType[*LossError](err); !ok || loss.Kind != mark.Gap ||
		loss.Missing != end-first {
		t.Fatalf("got error %v, want a gap of %d commits", err, end-first)
	}
	s = mustOpen(t, "store", Options{FS: disk, AcceptLoss: true})
	defer mustClose(t, s)
	for range 2 { // in the journal, and then in rows
		if _, _, err := s.Since(t.Context(), "ann", store.Version{},
			func(store.Version, store.Event) error { return nil }); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("two lives are read as one: %v", err)
		}
		wantRevision(t, s, "bob", 5)
		settle(t, s)
	}
}

// TestCheckpointIsMarked damages the copy of a store.
func TestCheckpointIsMarked(t *testing.T) {
	disk := vfs.NewMem()
	s := mustOpen(t, "store", Options{FS: disk})
	defer mustClose(t, s)
	mustAppend(t, s, "u", 0, 1)
	mustAppend(t, s, "u", 1, 2)
	name := check.Get(s.Checkpoint(t.Context()))(t)
	dir := disk.PathJoin("store", name)
	check.MustSame(t, 2, len(check.Get(readDir(disk, dir))(t)["u"]), "events of the copy")
	for _, path := range filesIn(t, disk, disk.PathJoin(dir, engine.DataName), "", ".log") {
		writeFile(t, disk, path, nil)
	}
	_, err := readDir(disk, dir)
	if loss, ok := errors.AsType[*LossError](err); !ok || loss.Missing != 2 {
		t.Errorf("a copy without its log: got error %v, want a loss of 2 commits", err)
	}
}
