package pebble

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
	"github.com/gsimc/gsimc/store/pebble/internal/smallfile"
)

// layers returns a disk with a store of users of whom some stand in one table alone, some in older
// and newer ones, and some in the journal only, which stands in a table: closed, or after a crash.
func layers(t *testing.T, crashed bool) (*memDisk, map[string][]store.Event) {
	t.Helper()
	users, each := 160, 5
	if soak.Long() {
		users = 3000
	}
	disk := newDisk()
	events := map[int]int{}
	add := func(s *Store, from, to int) {
		var records []store.Record
		for u := from; u < to; u++ {
			for range each {
				e := testEvent(events[u])
				records = append(records, store.Record{User: numbered(u), Event: e})
				events[u]++
			}
		}
		check.Must(t, appendAll(t.Context(), s, records))
	}
	s := mustOpen(t, "store", Options{FS: disk})
	for i, part := range [][2]int{{0, 4}, {2, 6}, {3, 8}} { // in eighths
		add(s, users*part[0]/8, users*part[1]/8)
		if i == 2 {
			mustErase(t, s, numbered(users*5/8))
			delete(events, users*5/8)
		}
		flush(t, s)
		if i == 1 { // the newer layers lie above
			check.Must(t, s.engine.DB.Compact(t.Context(), row.FirstUserKey, row.LastKey, false))
		}
	}
	add(s, users*7/8, users*9/8)
	mustClose(t, s)
	s = mustOpen(t, "store", Options{FS: disk}) // which writes the journal to a table
	if crashed {
		add(s, users, users*10/8)
		awaitMark(t, disk, s)
		disk = powerCut(disk, 100)
	}
	mustClose(t, s)
	before := histories(t, disk, "store")
	check.MustSame(t, len(events), len(before), "users")
	return disk, before
}

// accounted wants each user of a store that was damaged to be saved as it was, or named, or
// counted. It returns how many are saved as they were, how many are saved, and how many of these
// were erased before.
func accounted(
	t *testing.T, what string, disk vfs.FS, before map[string][]store.Event,
) (whole, there, back int) {
	t.Helper()
	told := map[string]Condition{}
	old := filesOf(t, disk)
	result, err := Salvage(t.Context(), "store", "new", Options{FS: disk}, func(int64, int64) {},
		func(int64) {}, func(user string, c Condition) error { told[user] = c; return nil })
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	check.Same(t, filesOf(t, disk), old, "%s: files of the old store", what)
	found := &result.Found
	after := histories(t, disk, "new")
	check.Same(t, int64(len(after)), result.Users, "%s: users told", what)
	unnamed := 0
	for user := range after {
		if before[user] == nil {
			back++ // the erased one, whose rows come back
			if told[user] != Doubtful && found.Loss == nil {
				t.Errorf("%s: a user who was erased is back and not told", what)
			}
		}
	}
	for user, want := range before {
		got, kept := after[user]
		c, named := told[user]
		switch {
		case !kept && c != Damaged:
			unnamed++
		case kept && c == Damaged:
			t.Errorf("%s: a user is kept and told to be left out", what)
		case kept && slices.Equal(got, want):
			whole++
		case kept && !slices.Equal(got, want[:min(len(got), len(want))]):
			t.Errorf("%s: a history differs", what)
		case kept && !named && found.Loss == nil:
			t.Errorf("%s: a history lacks its last events and is not told", what)
		}
	}
	check.Same(t, int64(len(before)), found.Existed, "%s: users that were there", what)
	if lost := found.Lost(); lost > int64(unnamed) || lost < int64(unnamed-back) {
		t.Errorf("%s: %d users are neither kept nor named, told are %d: %+v", what, unnamed, lost,
			found)
	}
	if unnamed > 0 && len(found.Unnamed) == 0 && found.Loss == nil {
		t.Errorf("%s: nobody knows where users were lost", what)
	}
	takesWrites(t, disk, "new")
	report, _, err := verified(t, disk, "store")
	if err != nil || found.Whole() != report.Whole() ||
		report.Refusal != nil && report.Lost() != found.Lost() {
		t.Errorf("%s: Verify says %+v, %v, and Salvage %+v", what, report, err, found)
	}
	if t.Failed() {
		t.FailNow()
	}
	return whole, len(after), back
}

// withFile returns a copy of the disk with another content of a file, or without it.
func withFile(t *testing.T, disk *memDisk, path string, content []byte) *memDisk {
	t.Helper()
	copied := powerCut(disk, 100)
	if content != nil {
		writeFile(t, copied, path, content)
	} else {
		check.Must(t, copied.Remove(path))
	}
	return copied
}

// allWhole wants all users of a store that was damaged to be saved as they were. It returns how
// many come back who were erased before.
func allWhole(
	t *testing.T, what string, damaged vfs.FS, before map[string][]store.Event,
) (back int) {
	t.Helper()
	whole, _, back := accounted(t, what, damaged, before)
	check.MustSame(t, len(before), whole, "%s: whole users", what)
	return back
}

// TestSalvageFlippedBits flips bits in each table of a small store where chance will, and in the
// largest one at a tenth, three tenths and so on: all users are saved as they were.
func TestSalvageFlippedBits(t *testing.T) {
	t.Parallel()
	soak.Native(t)
	for _, crashed := range []bool{false, true} {
		if crashed && soak.Brief() {
			return
		}
		disk, before := layers(t, crashed)
		rng := rand.New(rand.NewPCG(8, 8))
		tables := tablesOf(t, disk)
		mended := 0
		if soak.Brief() {
			tables = []string{largestTable(t, disk)}
		}
		for _, path := range tables {
			size := sizeOf(t, disk, path)
			var places []int
			for range soak.Times(1) {
				places = append(places, rng.IntN(size))
			}
			if path == largestTable(t, disk) {
				places = append(places, size/10, size*3/10, size/2, size*7/10, size*9/10)
			}
			for _, at := range places {
				what := fmt.Sprintf("%s, byte %d of %d, crashed %v", path, at, size, crashed)
				allWhole(t, what, flipped(t, disk, path, at, 1<<rng.IntN(8)), before)
				mended++
			}
		}
		soak.Injected(t, mended, "flipped bits")
	}
}

// TestSalvageTables flips bits in tables of many blocks, those of the store's own rows and of the
// journal included: all users are saved as they were.
func TestSalvageTables(t *testing.T) {
	t.Parallel()
	soak.Native(t)
	disk, before := salvageable(t, true)
	rng := rand.New(rand.NewPCG(4, 4))
	tables, flips := tablesOf(t, disk), 0
	for _, i := range soak.SomeOf(t, len(tables), 3) {
		size := sizeOf(t, disk, tables[i])
		for range soak.Times(1) {
			at := rng.IntN(size)
			what := fmt.Sprintf("%s, byte %d of %d", tables[i], at, size)
			back := allWhole(t, what, flipped(t, disk, tables[i], at, 1<<rng.IntN(8)), before)
			check.Same(t, 0, back, "%s: users from nowhere", what)
			flips++
		}
	}
	soak.Injected(t, flips, "flipped bits")
}

// TestSalvageListOfTables flips bits in the list of tables of a store: all users are saved as they
// were.
func TestSalvageListOfTables(t *testing.T) {
	t.Parallel()
	soak.Native(t)
	disk, before := layers(t, true)
	path := slices.Max(filesIn(t, disk, dataDir, "MANIFEST-", ""))
	rng := rand.New(rand.NewPCG(9, 9))
	size, times := sizeOf(t, disk, path), soak.Times(10)
	for range times {
		at := rng.IntN(size)
		what := fmt.Sprintf("%s, byte %d of %d", path, at, size)
		allWhole(t, what, flipped(t, disk, path, at, 1<<rng.IntN(8)), before)
	}
	soak.Injected(t, times, "flipped bits")
}

// TestSalvageLostTables cuts off, removes and spoils each table of a store: each user is saved,
// named or counted, and no history that is old passes for a whole one.
func TestSalvageLostTables(t *testing.T) {
	t.Parallel()
	soak.Native(t)
	for _, crashed := range []bool{false, true} {
		disk, before := layers(t, crashed)
		tables := tablesOf(t, disk)
		faults, whole := 0, 0
		if crashed && !soak.Long() {
			tables = tables[len(tables)-2:]
		}
		for _, path := range tables {
			content := check.Get(smallfile.Read(disk, path))(t)
			for name, spoiled := range spoil(content) {
				if soak.Brief() && name != "halved" && spoiled != nil {
					continue
				}
				what := fmt.Sprintf("%s %s, crashed %v", path, name, crashed)
				n, _, _ := accounted(t, what, withFile(t, disk, path, spoiled), before)
				t.Logf("%s: %d of %d users are as they were", what, n, len(before))
				whole += n
				faults++
			}
		}
		if whole < faults*len(before)/4 {
			t.Errorf("%d users are whole after %d faults", whole, faults)
		}
		soak.Injected(t, faults, "damaged tables")
	}
}

// spoil returns a table in which more than one bit is wrong, in several ways; nil is a table that
// is gone.
func spoil(content []byte) map[string][]byte {
	data, index, footer := slices.Clone(content), slices.Clone(content), slices.Clone(content)
	copy(data[len(data)/3:], "spoiled")
	clear(index[max(0, len(index)-3000):])
	copy(footer[len(footer)-20:], "spoiled")
	return map[string][]byte{
		"halved": bytes.Clone(content[:len(content)/2]), "empty": {}, "removed": nil,
		"with a bad block": data, "with a bad index": index, "with a bad footer": footer,
	}
}

// TestUsersAreCounted begins, undoes, ends and replaces histories: the store knows at any time, and
// after a crash, how many users there are, and so does its mark.
func TestUsersAreCounted(t *testing.T) {
	soak.Native(t)
	disk := newDisk()
	s := mustOpen(t, "store", Options{FS: disk})
	want := func(when string, users int64) {
		t.Helper()
		awaitMark(t, disk, s)
		for _, disk := range []*memDisk{powerCut(disk, 0), powerCut(disk, 100)} {
			r := check.Get(OpenReadOnly("store", Options{FS: disk}))(t)
			m := r.engine.Marked()
			if r.users != users || m == nil || m.Users != users {
				t.Errorf("%s: %d users, the mark is %+v, want %d", when, r.users, m, users)
			}
			check.Must(t, r.Close())
		}
	}
	for _, user := range []string{"a", "b", "c"} {
		mustAppend(t, s, user, 0, 3)
	}
	mustAppend(t, s, "a", 2, 4) // one of the events is there already
	want("begun", 3)
	flush(t, s)
	want("sorted", 3)
	mustErase(t, s, "b")
	want("erased", 2)
	check.Get(s.Rewrite(t.Context(), []string{"a", "c", "d"},
		func(events [][]store.Event) [][]store.Event {
			return [][]store.Event{events[0][1:], {}, events[1]}
		}))(t)
	want("rewritten", 2)
	s = reopen(t, s, "store", Options{FS: disk})
	mustAppend(t, s, "b", 0, 1)
	want("opened again", 3)
	flush(t, s)
	want("sorted again", 3)
	mustClose(t, s)
}
