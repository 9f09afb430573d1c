package smallfile

import (
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
)

// TestReplace cuts the power before each operation and lets each operation fail: there is the old
// file or the new one, and the new one after an answer without an error.
func TestReplace(t *testing.T) {
	cuts, faults := 0, 0
	for at, done := 0, false; !done; at++ {
		disk := newDisk(t)
		var crashed *vfs.MemFS
		n := 0
		cutting := errorfs.Wrap(disk, errorfs.InjectorFunc(func(errorfs.Op) error {
			if n++; n == at+1 {
				crashed = disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50,
					RNG: rand.New(rand.NewPCG(uint64(at), 1))})
			}
			return nil
		}))
		check.Must(t, Replace(cutting, "dir", "FILE", []byte("new")))
		if crashed == nil { // all is done
			done = true
			crashed = disk.CrashClone(vfs.CrashCloneCfg{})
		}
		if got := content(t, crashed); got != "new" && (got != "old" || done) {
			t.Errorf("a power cut before operation %d leaves %q", at, got)
		}
		cuts++

		disk, n = newDisk(t), 0
		failing := errorfs.Wrap(disk, errorfs.InjectorFunc(func(errorfs.Op) error {
			if n++; n == at+1 {
				return syscall.EIO
			}
			return nil
		}))
		err := Replace(failing, "dir", "FILE", []byte("new"))
		if got := content(t, disk); (err == nil) != done || got != "new" && got != "old" {
			t.Errorf("a fault of operation %d gives error %v and leaves %q", at, err, got)
		}
		faults++
	}
	if cuts < 5 {
		t.Errorf("only %d operations are seen", cuts)
	}
	soak.Injected(t, cuts, "power cuts")
	soak.Injected(t, faults, "failed operations")
}

// newDisk returns a disk with the old file.
func newDisk(t *testing.T) *vfs.MemFS {
	t.Helper()
	disk := vfs.NewCrashableMem()
	check.Must(t, disk.MkdirAll("dir", 0o700))
	check.Must(t, SyncDir(disk, ""))
	check.Must(t, Replace(disk, "dir", "FILE", []byte("old")))
	return disk
}

func content(t *testing.T, fs vfs.FS) string {
	t.Helper()
	return string(check.Get(Read(fs, "dir/FILE"))(t))
}
