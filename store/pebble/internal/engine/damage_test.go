package engine

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/smallfile"
)

// damagedEngine returns a disk with a closed engine of three tables, two of which are noted as
// damaged, and their names.
func damagedEngine(t *testing.T) (disk *vfs.MemFS, names []string) {
	t.Helper()
	disk = vfs.NewMem()
	e := mustOpen(t, "dir", testOptions(disk))
	e.damage.known.Store(true) // so that nothing is merged
	for i := range 3 {
		set(t, e.DB, i)
	}
	mustClose(t, e)
	names = tableNames(t, disk)[:2]
	slices.Sort(names)
	for _, name := range names {
		file := check.Get(disk.OpenReadWrite(disk.PathJoin("dir", DataName, name),
			vfs.WriteCategoryUnspecified))(t)
		check.Get(file.WriteAt([]byte("damage"), 10))(t)
		check.Must(t, file.Close())
	}
	noteFiles(t, disk, names)
	return disk, names
}

func noteFiles(t *testing.T, fs vfs.FS, names []string) {
	t.Helper()
	content := strings.Join(names, "\n") + "\n"
	check.Must(t, smallfile.Replace(fs, "dir", DamageName, []byte(content)))
}

// notedFiles returns what the file of the damaged tables says.
func notedFiles(t *testing.T, fs vfs.FS) []string {
	t.Helper()
	content := check.Get(smallfile.Read(fs, fs.PathJoin("dir", DamageName)))(t)
	return strings.Fields(string(content))
}

// knownFiles returns the damaged tables that an engine knows.
func knownFiles(e *Engine) []string {
	known, ok := errors.AsType[*store.DamageError](e.Damage())
	if !ok {
		return nil
	}
	return known.Files
}

// TestRecalledDamageIsNotWritten opens an engine whose damaged tables are as they were: the file that
// names them is not written, so that a crash meanwhile leaves all names.
func TestRecalledDamageIsNotWritten(t *testing.T) {
	disk, names := damagedEngine(t)
	var writes atomic.Int64
	fs := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpCreate && strings.Contains(op.Path, DamageName) {
			writes.Add(1)
		}
		return nil
	}))
	var told []string
	opts := testOptions(fs)
	opts.Damaged = func(name string) { told = append(told, name) }
	e := mustOpen(t, "dir", opts)
	check.Same(t, names, knownFiles(e), "known")
	check.Same(t, names, told, "told")
	mustClose(t, e)
	check.Same(t, int64(0), writes.Load(), "times that the file is written")

	noteFiles(t, disk, append(names, "999999.sst")) // which is gone
	mustClose(t, mustOpen(t, "dir", opts))
	if got := notedFiles(t, disk); !slices.Equal(got, names) || writes.Load() != 1 {
		t.Errorf("%v is noted after %d writes, want %v after one", got, writes.Load(), names)
	}
}

// TestRecallMeetsFaults lets the look at damaged tables fail. For want of descriptors nothing is
// known; a table that the disk does not give stays noted.
func TestRecallMeetsFaults(t *testing.T) {
	for _, fault := range []error{syscall.EMFILE, syscall.EIO} {
		disk, names := damagedEngine(t)
		var broken atomic.Bool
		broken.Store(true)
		fs := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if broken.Load() && op.Kind == errorfs.OpOpen && strings.HasSuffix(op.Path, names[1]) {
				return fault
			}
			return nil
		}))
		// The seal is not checked: it opens all files.
		check.Must(t, disk.Remove(disk.PathJoin("dir", SealName)))
		e, err := Open(t.Context(), "dir", testOptions(fs))
		if refused := errors.Is(err, fault); refused != lackOfFiles(fault) || !refused && err != nil {
			t.Errorf("%v: Open returns %v", fault, err)
		}
		if err == nil {
			check.Same(t, names, knownFiles(e), "%v: known", fault)
			broken.Store(false)
			mustClose(t, e)
		}
		check.Same(t, names, notedFiles(t, disk), "%v: noted", fault)
	}
}

// TestDamageIsNotedUnderTheLock meets damage in an opening that fails: it is noted before others can
// open the directory.
func TestDamageIsNotedUnderTheLock(t *testing.T) {
	disk := vfs.NewMem()
	check.Must(t, disk.MkdirAll("dir", 0o700))
	fs := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpCreate {
			time.Sleep(50 * time.Millisecond) // a slow disk
		}
		return nil
	}))
	e := newEngine("dir", testOptions(fs))
	err := e.locked(func() error {
		e.noteDamage("000001.sst")
		return errors.New("for the test")
	})
	if err == nil {
		t.Error("no error")
	}
	check.Same(t, []string{"000001.sst"}, notedFiles(t, disk), "noted")
}

// TestCloseDoesNotWaitForNotes closes a failed engine whose disk hangs while damage is noted.
func TestCloseDoesNotWaitForNotes(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpCreate && strings.Contains(op.Path, DamageName) {
			<-hang
		}
		return nil
	}))
	e := mustOpen(t, "dir", testOptions(fs))
	e.noteDamage("000001.sst")
	e.Fail(errors.New("for the test"))
	err := check.Return(t, "Close", func() error { return e.Close(true) })
	check.Fails(t, err, ErrNotClosed, "Close")
	if e.Damage() == nil {
		t.Error("the damage is not known")
	}
	if _, err := Open(t.Context(), "dir", testOptions(fs)); err == nil {
		t.Error("others can open the directory while it is written to")
	}
}
