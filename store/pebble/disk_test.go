package pebble

import (
	"io"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/internal/test/check"
)

// memDisk is a disk in memory whose power can be cut while goroutines use it. Without this type
// that could stand still: some operations of [vfs.MemFS] take its lock for reading twice, and a
// copy that begins to wait between the two waits for them, and they for it
// (cockroachdb/pebble#5993, mended after v2.1.7).
type memDisk struct {
	*vfs.MemFS
	twice *sync.RWMutex // held for reading by such operations
}

func newDisk() *memDisk { return onDisk(vfs.NewCrashableMem()) }

// onDisk returns the disk with these files.
func onDisk(files *vfs.MemFS) *memDisk { return &memDisk{files, new(sync.RWMutex)} }

// CrashClone returns what a power cut would leave now.
func (d *memDisk) CrashClone(how vfs.CrashCloneCfg) *memDisk {
	d.twice.Lock()
	defer d.twice.Unlock()
	return onDisk(d.MemFS.CrashClone(how))
}

// Link implements [vfs.FS].
func (d *memDisk) Link(oldname, newname string) error {
	d.twice.RLock()
	defer d.twice.RUnlock()
	return d.MemFS.Link(oldname, newname)
}

// ReuseForWrite implements [vfs.FS].
func (d *memDisk) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (
	vfs.File, error,
) {
	d.twice.RLock()
	defer d.twice.RUnlock()
	return d.MemFS.ReuseForWrite(oldname, newname, category)
}

// Lock implements [vfs.FS].
func (d *memDisk) Lock(name string) (io.Closer, error) {
	d.twice.RLock()
	defer d.twice.RUnlock()
	return d.MemFS.Lock(name)
}

// TestPowerCutsMeetLinks cuts the power while files are linked, reused and locked.
func TestPowerCutsMeetLinks(t *testing.T) {
	disk := newDisk()
	check.Must(t, check.Get(disk.Create("a", vfs.WriteCategoryUnspecified))(t).Close())
	done := make(chan struct{})
	var cutter sync.WaitGroup
	defer cutter.Wait()
	cutter.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				disk.CrashClone(vfs.CrashCloneCfg{})
			}
		}
	})
	defer close(done)
	for range 1000 {
		check.Must(t, disk.Link("a", "linked"))
		check.Must(t, check.Get(disk.ReuseForWrite("linked", "reused",
			vfs.WriteCategoryUnspecified))(t).Close())
		check.Must(t, check.Get(disk.Lock("lock"))(t).Close())
		check.Must(t, disk.Remove("reused"))
	}
}
