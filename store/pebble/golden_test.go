package pebble

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/smallfile"
)

var writeGolden = flag.Bool("golden", false,
	"write the folders of the present format into testdata, unless they are there")

// The golden folders hold the same histories, as each format has left them on disk: after a Close,
// and after a crash with events in tables, in the journal, and in the log.

// goldenHistories returns the ids of the events of each user.
func goldenHistories() map[string][]string {
	want := map[string][]string{}
	for u := range 6 {
		user := fmt.Sprint("user ", u)
		for i := range 1 + 40*u {
			want[user] = append(want[user], testEvent(i).ID)
		}
	}
	return want
}

// writeHistories writes them in two parts, between which the journal is sorted and a user erased.
func writeHistories(t *testing.T, s *Store) {
	t.Helper()
	half := map[string]int{"erased": 9}
	for user, ids := range goldenHistories() {
		half[user] = len(ids) / 2
	}
	for user, n := range half {
		appendRange(t, s, user, 0, n)
	}
	settle(t, s)
	flush(t, s)
	check.Get(s.Erase(context.Background(), "erased"))(t)
	for user, ids := range goldenHistories() {
		appendRange(t, s, user, half[user], len(ids))
	}
}

func appendRange(t *testing.T, s *Store, user string, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		mustAppend(t, s, user, i, i+1)
	}
}

// goldenFolder is the folder of a format in testdata. ending is "closed" or "crashed".
func goldenFolder(format int, ending string) string {
	return filepath.Join("testdata", fmt.Sprintf("format-%d-%s", format, ending))
}

// copyTree copies a folder with all that is in it.
func copyTree(t *testing.T, from vfs.FS, source string, to vfs.FS, target string) {
	t.Helper()
	check.Must(t, to.MkdirAll(target, 0o755))
	names := check.Get(from.List(source))(t)
	for _, name := range names {
		path, copied := from.PathJoin(source, name), to.PathJoin(target, name)
		info := check.Get(from.Stat(path))(t)
		if info.IsDir() {
			copyTree(t, from, path, to, copied)
			continue
		}
		content := check.Get(smallfile.Read(from, path))(t)
		writeFile(t, to, copied, content)
	}
}

func TestWriteGoldenFolders(t *testing.T) {
	if !*writeGolden {
		t.Skip("-golden is not set: the folders in testdata stay as they are")
	}
	for _, ending := range []string{"closed", "crashed"} {
		target := goldenFolder(formatNumber, ending)
		if _, err := os.Stat(target); err == nil {
			continue
		}
		disk := newDisk()
		s := mustOpen(t, "store", Options{FS: disk})
		writeHistories(t, s)
		left := vfs.FS(disk)
		if ending == "crashed" {
			left = powerCut(disk, 0)
		}
		mustClose(t, s)
		copyTree(t, left, "store", vfs.Default, target)
	}
}

// TestGoldenFolders opens the folders of all formats. Their histories are whole, grow, and are the
// same afterwards. Each has a mark of its own, another one once its user was erased, and the store
// notes what is durable.
func TestGoldenFolders(t *testing.T) {
	for format := formatWithoutID; format <= formatNumber; format++ {
		for _, ending := range []string{"closed", "crashed"} {
			t.Run(fmt.Sprintf("format %d %s", format, ending), func(t *testing.T) {
				disk := vfs.NewMem()
				copyTree(t, vfs.Default, goldenFolder(format, ending), disk, "store")
				want := goldenHistories()
				check.Same(t, len(want), len(check.Get(readDir(disk, "store"))(t)), "users to read")
				s := mustOpen(t, "store", Options{FS: disk})
				check.Same(t, want, dump(t, s), "opened")
				before := versions(t, s)
				appendRange(t, s, "user 0", 1, 3)
				s = reopen(t, s, "store", Options{FS: disk})
				defer mustClose(t, s)
				want["user 0"] = append(want["user 0"], testEvent(1).ID, testEvent(2).ID)
				check.Same(t, want, dump(t, s), "opened again")
				before["user 0"] = store.Version{Revision: 3, Mark: before["user 0"].Mark}
				check.Same(t, before, versions(t, s), "versions when opened again")
				wantMarks(t, before)
				check.Get(s.Erase(t.Context(), "user 1"))(t)
				appendRange(t, s, "user 1", 0, len(want["user 1"]))
				flush(t, s)
				if v := versions(t, s)["user 1"]; v.Mark == before["user 1"].Mark {
					t.Errorf("an erased user returned as %v", v)
				}
				awaitMark(t, disk, s)
				h := check.Get(readHeader(s.engine.DB))(t)
				check.Same(t, uint64(formatNumber), h.format, "the format")
			})
		}
	}
}
