package pebble

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/engine"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
	"github.com/gsimc/gsimc/store/pebble/internal/smallfile"
	"github.com/gsimc/gsimc/store/pebble/internal/table"
	"github.com/gsimc/gsimc/store/storetest"
)

const (
	manyUsers = 160
	// manyEvents of one user fill a block of a table.
	manyEvents = 25
)

func numbered(u int) string { return fmt.Sprintf("%s-%03d", secret, u) }

// bigEvent is an event of some 200 bytes.
func bigEvent(i int) store.Event {
	return store.Event{ID: fmt.Sprint("e", i), Item: strings.Repeat("item", 50), Value: 1}
}

// appendBig appends events of many users, without those whose histories are damaged, which it
// returns.
func appendBig(t *testing.T, s store.Store, from, to int) (damaged map[string]bool) {
	t.Helper()
	damaged = map[string]bool{}
	for u := range manyUsers {
		var records []store.Record
		for i := from; i < to; i++ {
			records = append(records, store.Record{User: numbered(u), Event: bigEvent(i)})
		}
		err := appendAll(t.Context(), s, records)
		if errors.Is(err, store.ErrCorrupt) {
			damaged[numbered(u)] = true
		} else if err != nil {
			t.Fatalf("Append: %v", err)
		}
	}
	return damaged
}

// unreadable returns the users whose histories cannot be read, and checks that want is how many
// events each of the others has.
func unreadable(t *testing.T, s store.Store, want int) (damaged map[string]bool) {
	t.Helper()
	damaged = map[string]bool{}
	for u := range manyUsers {
		n := 0
		err := storetest.Read(t.Context(), s, numbered(u), 0, func(_ uint64, e store.Event) error {
			if e.ID != bigEvent(n).ID {
				t.Fatalf("user %d: event %d is %s", u, n, e.ID)
			}
			n++
			return nil
		})
		switch {
		case errors.Is(err, store.ErrCorrupt):
			damaged[numbered(u)] = true
		case err != nil || n != want:
			t.Fatalf("user %d: %d events, %v, want %d", u, n, err, want)
		}
	}
	return damaged
}

// many is the disk of manyTables, which takes longer to make than to copy.
var many struct {
	once   sync.Once
	disk   *memDisk
	tables []string
}

// manyTables returns a disk with a closed store of some tables, the number of events of each of its
// users, and the paths of the tables with their rows.
func manyTables(t *testing.T) (disk *memDisk, events int, tables []string) {
	t.Helper()
	many.once.Do(func() { many.disk, many.tables = makeTables(t) })
	if many.disk == nil {
		t.Fatal("another test could not make the store")
	}
	return powerCut(many.disk, 100), manyEvents * 7, slices.Clone(many.tables)
}

func makeTables(t *testing.T) (disk *memDisk, tables []string) {
	t.Helper()
	disk = newDisk()
	s := mustOpen(t, "store", Options{FS: disk})
	for i := range 7 { // some tables are merged, some are not
		appendBig(t, s, manyEvents*i, manyEvents*(i+1))
		flush(t, s)
		if i == 3 {
			err := s.engine.DB.Compact(context.Background(), row.FirstUserKey, []byte{1}, false)
			check.Must(t, err)
		}
	}
	mustClose(t, s)
	tables = slices.DeleteFunc(tablesOf(t, disk),
		func(path string) bool { return sizeOf(t, disk, path) <= 100<<10 })
	if len(tables) < 3 {
		t.Fatalf("%d tables of users, want several", len(tables))
	}
	return disk, tables
}

// tablesOf returns the paths of all tables of a closed store.
func tablesOf(t *testing.T, disk vfs.FS) []string {
	t.Helper()
	return filesIn(t, disk, dataDir, "", ".sst")
}

func sizeOf(t *testing.T, disk vfs.FS, path string) int {
	t.Helper()
	info := check.Get(disk.Stat(path))(t)
	return int(info.Size())
}

// flipped returns a copy of the disk with one bit of a file flipped.
func flipped(t *testing.T, disk *memDisk, path string, at int, bit byte) *memDisk {
	t.Helper()
	copied := powerCut(disk, 100)
	content := check.Get(smallfile.Read(copied, path))(t)
	content = bytes.Clone(content)
	content[at] ^= bit
	writeFile(t, copied, path, content)
	return copied
}

// TestDamageStaysLocal flips one bit in tables of users, old and new: over several restarts, and while
// tables are written and would be merged, all users but those of the damaged block read and write.
func TestDamageStaysLocal(t *testing.T) {
	t.Parallel()
	soak.Native(t)
	disk, events, tables := manyTables(t)
	rng := rand.New(rand.NewPCG(5, 5))
	sample := []string{tables[0], tables[len(tables)/2], tables[len(tables)-1]}
	flips := soak.Times(len(sample))
	soak.Injected(t, flips, "flipped bits")
	for i := range flips {
		path := tables[i%len(tables)]
		if i < len(sample) {
			path = sample[i]
		}
		size := sizeOf(t, disk, path)
		at := rng.IntN(size * 9 / 10) // the blocks of data come first
		if i == 0 {
			at = 10 // beside the rows of the store itself, if these were in the same table
		}
		damaged := flipped(t, disk, path, at, 1<<rng.IntN(8))
		opts := Options{FS: damaged, CacheBytes: 1 << 20}
		var told []string
		opts.Events.Damaged = func(file string) { told = append(told, file) }
		opts.Events.Failed = func(reason error) { t.Errorf("the store failed: %v", reason) }
		want := events
		var first map[string]bool
		for start := range 3 {
			s := mustOpen(t, "store", opts)
			got := unreadable(t, s, want)
			for range 4 {
				refused := appendBig(t, s, want, want+1)
				if len(refused) != len(got) {
					t.Errorf("start %d: %d users cannot read, %d cannot write", start, len(got),
						len(refused))
				}
				want++
				flush(t, s)
			}
			if first == nil {
				first = got
			}
			if len(got) == 0 || len(got) > 2 || len(got) != len(first) {
				t.Errorf("start %d: %d of %d users are damaged, %d at first; want those of one block",
					start, len(got), manyUsers, len(first))
			}
			stats, err := s.Stats(t.Context())
			known, ok := errors.AsType[*store.DamageError](stats.Damage)
			if err != nil || !ok || len(known.Files) != 1 ||
				!strings.HasSuffix(path, known.Files[0]) || strings.Contains(known.Error(), secret) {
				t.Errorf("start %d: Stats tells %v, %v, want damage of %s", start, stats.Damage, err,
					path)
			}
			mustClose(t, s)
			if len(told) != start+1 {
				t.Errorf("start %d: told %v, want one file at each start", start, told)
			}
		}
	}
}

// TestDamageIsForgotten repairs a table that was found to be damaged: merging goes on.
func TestDamageIsForgotten(t *testing.T) {
	t.Parallel()
	soak.Native(t)
	disk, events, tables := manyTables(t)
	damaged := flipped(t, disk, tables[0], 5000, 1)
	s := mustOpen(t, "store", Options{FS: damaged})
	if len(unreadable(t, s, events)) == 0 {
		t.Fatal("the damage harms nobody")
	}
	mustClose(t, s)
	check.Get(damaged.Stat("store/" + engine.DamageName))(t)
	whole := flipped(t, damaged, tables[0], 5000, 1)
	check.Must(t, table.Whole(whole, tables[0]))
	s = mustOpen(t, "store", Options{FS: whole})
	if stats, err := s.Stats(t.Context()); err != nil || stats.Damage != nil {
		t.Errorf("Stats tells %v, %v after the repair", stats.Damage, err)
	}
	if _, err := whole.Stat("store/" + engine.DamageName); err == nil {
		t.Error("the file of the damaged tables is still there")
	}
	mustClose(t, s)
}

// TestDamagedFilter damages the end of a table, where its filter stands, which no read needs. Its
// index and what describes it are needed by all.
func TestDamagedFilter(t *testing.T) {
	t.Parallel()
	soak.Native(t)
	disk := newDisk()
	s := mustOpen(t, "store", Options{FS: disk})
	appendBig(t, s, 0, 1)
	flush(t, s)
	// A table that is merged after the opening gets a new filter, and no read meets the damage.
	check.Must(t, s.engine.DB.Compact(t.Context(), row.JournalPrefix, row.LastKey, false))
	mustClose(t, s)
	path := largestTable(t, disk)
	size := sizeOf(t, disk, path)
	filter := filterOf(t, disk, path)
	harmless := 0
	places := []int{filter, filter + 1}
	for at := size * 9 / 10; at < size; at += 300 {
		places = append(places, at)
	}
	others := places[2:]
	places = places[:2]
	for _, i := range soak.Some(t, len(others)) {
		places = append(places, others[i])
	}
	for _, at := range places {
		s := mustOpen(t, "store", Options{FS: flipped(t, disk, path, at, 4)})
		if len(unreadable(t, s, 1)) == 0 && s.engine.Damage() != nil {
			harmless++
		}
		check.Pass(t, s.engine.Err(), "byte %d: the store failed", at)
		mustClose(t, s)
	}
	if harmless < 2 {
		t.Errorf("damage to the filter at byte %d harms users, or is not noticed", filter)
	}
}

// filterOf returns the offset of the filter in a table.
func filterOf(t *testing.T, disk vfs.FS, path string) int {
	t.Helper()
	file := check.Get(disk.Open(path))(t)
	readable := check.Get(sstable.NewSimpleReadable(file))(t)
	r := check.Get(sstable.NewReader(t.Context(), readable, sstable.ReaderOptions{}))(t)
	defer func() { _ = r.Close() }() // it was only read
	layout, err := r.Layout()
	if err != nil || len(layout.Filter) == 0 {
		t.Fatalf("the table has no filter: %v", err)
	}
	return int(layout.Filter[0].Offset)
}

func largestTable(t *testing.T, disk vfs.FS) string {
	t.Helper()
	return slices.MaxFunc(tablesOf(t, disk), func(a, b string) int {
		return sizeOf(t, disk, a) - sizeOf(t, disk, b)
	})
}

// TestDamagedOwnRows damages the tables of the store's own rows and of the journal. The newest is
// needed; an older one is needed if the journal begins in its range, which depends on when it was
// sorted. A table that is not needed harms no user, and its damage is told or found.
func TestDamagedOwnRows(t *testing.T) {
	for _, sorted := range []int{0, 1, 2} { // flushes whose events are in rows
		for _, erased := range []bool{false, true} {
			disk := ownRows(t, sorted, erased)
			own := ownTables(t, disk)
			if len(own) == 0 {
				t.Fatal("there are no tables of own rows")
			}
			refused := 0
			for n, name := range own {
				opens := opensDamaged(t, flipped(t, disk, disk.PathJoin(dataDir, name), 10, 1), name)
				if !opens {
					refused++
				} else if n == len(own)-1 {
					t.Errorf("sorted %d, erased %v: opens without the newest table of own rows",
						sorted, erased)
				}
			}
			if sorted == 2 && refused != 1 {
				t.Errorf("sorted %d, erased %v: %d tables of own rows are needed, want the newest",
					sorted, erased, refused)
			}
			t.Logf("sorted %d, erased %v: refused for %d of %d tables", sorted, erased, refused,
				len(own))
		}
	}
}

// ownRows returns the disk of a closed store with tables of its own rows.
func ownRows(t *testing.T, sorted int, erased bool) *memDisk {
	t.Helper()
	disk := newDisk()
	s := mustOpen(t, "store", Options{FS: disk, eraseDelay: time.Hour})
	if erased { // and not forgotten, so that the store has a row that says so
		mustAppend(t, s, "erased", 0, 1)
		check.Get(s.Erase(t.Context(), "erased"))(t)
	}
	for i := range 2 {
		appendBig(t, s, i, i+1)
		if i < sorted {
			settle(t, s)
		}
		check.Must(t, s.engine.DB.Flush())
	}
	mustClose(t, s)
	return disk
}

// ownTables returns the names of the tables without rows of users, the newest last: by their rows,
// since one that was merged from old tables may have been written last.
func ownTables(t *testing.T, disk vfs.FS) (names []string) {
	t.Helper()
	r := check.Get(OpenReadOnly("store", Options{FS: disk}))(t)
	levels, err := r.engine.DB.SSTables()
	check.Must(t, errors.Join(err, r.Close()))
	own := slices.DeleteFunc(slices.Concat(levels...), func(table lsm.SSTableInfo) bool {
		// FirstUserKey may be the end of a range.
		return bytes.Compare(table.Largest.UserKey, row.FirstUserKey) > 0
	})
	slices.SortFunc(own, func(a, b lsm.SSTableInfo) int {
		return cmp.Or(cmp.Compare(a.LargestSeqNum, b.LargestSeqNum),
			cmp.Compare(a.BackingSSTNum, b.BackingSSTNum))
	})
	for _, table := range own {
		names = append(names, table.BackingSSTNum.String()+".sst")
	}
	return names
}

// opensDamaged reports whether a store opens whose table is damaged. If so, it wants all users to be
// readable, and the damage to be told or found.
func opensDamaged(t *testing.T, fs vfs.FS, name string) bool {
	t.Helper()
	s, err := openSoon("store", Options{FS: fs})
	if err != nil {
		check.Fails(t, err, store.ErrCorrupt, "%s", name)
		return false
	}
	if n := len(unreadable(t, s, 2)); n > 0 {
		t.Errorf("%s: %d users are damaged", name, n)
	}
	told := s.engine.Damage()
	mustClose(t, s)
	report, _, err := verified(t, fs, "store")
	if err != nil || !slices.Equal(report.Damaged, []string{name}) && told == nil {
		t.Errorf("%s: told %v, verified %+v, %v, want its damage", name, told, report, err)
	}
	return true
}
