package pebble

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/engine"
	"github.com/gsimc/gsimc/store/storetest"
)

// readDir returns all histories of the store in a directory that no process has open.
func readDir(fs vfs.FS, dir string) (h map[string][]store.Event, err error) {
	r, err := OpenReadOnly(dir, Options{FS: fs})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	h = map[string][]store.Event{}
	err = r.Each(context.Background(), func(user string, revision uint64, e store.Event) error {
		if h[user] = append(h[user], e); revision != uint64(len(h[user])) {
			return fmt.Errorf("revision %d is event %d of its user", revision, len(h[user]))
		}
		return nil
	})
	return h, err
}

// inDirectory is a store with its place on disk.
type inDirectory struct {
	*Store
	dir string
}

func TestCheckpointConformance(t *testing.T) {
	storetest.RunCheckpoints(t, func(t testing.TB) store.Checkpointer {
		dir := t.TempDir()
		return &inDirectory{mustOpen(t, dir, Options{}), dir}
	}, func(s store.Checkpointer, dir string) (map[string][]store.Event, error) {
		return readDir(vfs.Default, filepath.Join(s.(*inDirectory).dir, dir))
	})
}

// TestReadOnlyChangesNothing reads the directory of a stopped and of a killed store: afterwards it
// has the same files.
func TestReadOnlyChangesNothing(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{})
	mustAppend(t, s, "u", 0, 4)
	name, err := s.Checkpoint(context.Background()) // like the directory of a store that was killed
	check.Must(t, err)
	killed := filepath.Join(t.TempDir(), "killed")
	check.Must(t, os.CopyFS(killed, os.DirFS(filepath.Join(dir, name))))
	// our own lock gives another error
	if _, err := readDir(vfs.Default, dir); err == nil || errors.Is(err, ErrInUse) {
		t.Errorf("reading a store that is open: got error %v", err)
	}
	mustClose(t, s)
	for _, dir := range []string{dir, killed} {
		before := contents(t, dir)
		for range 2 {
			check.MustSame(t, 4, len(check.Get(readDir(vfs.Default, dir))(t)["u"]), "events")
		}
		check.Same(t, before, contents(t, dir), "reading changed files")
		s := mustOpen(t, dir, Options{})
		mustAppend(t, s, "u", 4, 5)
		mustClose(t, s)
	}
}

// contents returns the contents of the files below dir, except lock files, by name.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	check.Must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == engine.LockName {
			return err
		}
		text, err := os.ReadFile(path)
		files[path] = string(text)
		return err
	}))
	return files
}

func TestReadOnlyRefuses(t *testing.T) {
	empty, damaged := t.TempDir(), newStoreDir(t)
	logs, err := filepath.Glob(filepath.Join(damaged, engine.DataName, "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("logs: %v, %v", logs, err)
	}
	check.Must(t, os.WriteFile(logs[0], []byte("damage"), 0o600))
	for dir, want := range map[string]string{
		filepath.Join(empty, "absent"): "no such file",
		empty:                          "there is no store in the directory",
		damaged:                        "has been changed or removed since the store was closed",
	} {
		check.Says(t, check.Err(readDir(vfs.Default, dir)), want, "%s", dir)
	}
	if names, _ := os.ReadDir(empty); len(names) != 0 {
		t.Errorf("a refused directory now holds %v", names)
	}
}

// TestOldCheckpoints opens a store with copies that an earlier process left behind: they are
// removed, except one that is read.
func TestOldCheckpoints(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{})
	mustAppend(t, s, "u", 0, 2)
	var names []string
	for range 2 {
		names = append(names, check.Get(s.Checkpoint(context.Background()))(t))
	}
	mustClose(t, s)
	r := check.Get(OpenReadOnly(filepath.Join(dir, names[1]), Options{}))(t)
	s = mustOpen(t, dir, Options{})
	if _, err := os.Stat(filepath.Join(dir, names[0])); !os.IsNotExist(err) {
		t.Errorf("the first checkpoint is still there: %v", err)
	}
	events := 0
	count := func(string, uint64, store.Event) error { events++; return nil }
	if err := r.Each(context.Background(), count); err != nil || events != 2 {
		t.Errorf("the checkpoint in use has %d events, %v, want 2", events, err)
	}
	if name, err := s.Checkpoint(context.Background()); err != nil || slices.Contains(names, name) {
		t.Errorf("got checkpoint %q, %v, want a name that is not in use", name, err)
	}
	check.Pass(t, r.Close(), "Close")
	mustClose(t, s)
	mustClose(t, mustOpen(t, dir, Options{}))
	if left, _ := os.ReadDir(filepath.Join(dir, engine.CopiesName)); len(left) != 0 {
		t.Errorf("checkpoints are left: %v", left)
	}
}

// TestFailingCheckpoint lets each operation on the files of a checkpoint fail in turn: the
// checkpoint is refused, and the store goes on.
func TestFailingCheckpoint(t *testing.T) {
	var failAt, seen atomic.Int64 // failAt 0: none
	disk := vfs.NewMem()
	fs := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsRead ||
			!strings.Contains(op.Path, engine.CopiesName) || failAt.Load() == 0 {
			return nil
		}
		if seen.Add(1) == failAt.Load() {
			return errorfs.ErrInjected
		}
		return nil
	}))
	s := mustOpen(t, "store", Options{FS: fs})
	defer mustClose(t, s)
	mustAppend(t, s, "u", 0, 3)
	flush(t, s)
	refused := 0
	for at := int64(1); ; at++ {
		seen.Store(0)
		failAt.Store(at)
		name, err := s.Checkpoint(context.Background())
		failAt.Store(0)
		mustAppend(t, s, "u", int(at)+10, int(at)+11)
		if seen.Load() < at { // there are no more operations
			if err != nil {
				t.Fatalf("a checkpoint without faults: %v", err)
			}
			histories(t, disk, disk.PathJoin("store", name))
			break
		}
		if err != nil {
			refused++
		} else if _, err := readDir(disk, disk.PathJoin("store", name)); err != nil {
			// The fault did harm that was not noticed.
			t.Errorf("fault %d was not noticed: %v", at, err)
		}
	}
	if refused == 0 {
		t.Error("no fault was refused, so nothing was tested")
	}
	check.Get(s.Stats(context.Background()))(t)
}

// TestCheckpointOfGrowingLog writes to the store when a checkpoint has read the log with some of
// the zeroes ahead of it, and would read on: behind the zeroes there is more of the log then.
func TestCheckpointOfGrowingLog(t *testing.T) {
	var s *Store
	var reads atomic.Int32
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileRead && s != nil && strings.HasSuffix(op.Path, ".log") &&
			reads.Add(1) == 2 {
			for from := 0; from < 5000; from += 250 { // one sync after the other
				mustAppend(t, s, "late", from, from+250)
			}
		}
		return nil
	}))
	s = mustOpen(t, "store", Options{FS: fs})
	defer mustClose(t, s)
	const early = 1000 // a log in the middle of a piece of 32 KiB
	mustAppend(t, s, "early", 0, early)
	name := check.Get(s.Checkpoint(context.Background()))(t)
	if reads.Load() == 0 {
		t.Fatal("no log was read: the test does not test it")
	}
	got := check.Get(readDir(fs, fs.PathJoin("store", name)))(t)
	check.Same(t, early, len(got["early"]), "events of the copy")
}
