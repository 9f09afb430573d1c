package pebble

import (
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// shortWrites is a file system on which a write that fails leaves half of its bytes behind.
type shortWrites struct {
	vfs.FS
	fails func() bool // asked at each write
}

func (s shortWrites) file(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return shortFile{f, s.fails}, nil
}

func (s shortWrites) Create(name string, of vfs.DiskWriteCategory) (vfs.File, error) {
	return s.file(s.FS.Create(name, of))
}

func (s shortWrites) OpenReadWrite(
	name string, of vfs.DiskWriteCategory, opts ...vfs.OpenOption,
) (vfs.File, error) {
	return s.file(s.FS.OpenReadWrite(name, of, opts...))
}

// Unwrap returns the file system below, as the engine asks for it.
func (s shortWrites) Unwrap() vfs.FS { return s.FS }

type shortFile struct {
	vfs.File
	fails func() bool
}

func (f shortFile) Write(p []byte) (int, error) {
	if !f.fails() {
		return f.File.Write(p)
	}
	n, _ := f.File.Write(p[:len(p)/2])
	return n, syscall.EIO
}

func (f shortFile) WriteAt(p []byte, at int64) (int, error) {
	if !f.fails() {
		return f.File.WriteAt(p, at)
	}
	n, _ := f.File.WriteAt(p[:len(p)/2], at)
	return n, syscall.EIO
}

// fullDisk is a file system on which files other than tables cannot be made or grow while it is
// full. With half a write that fails leaves half of its bytes behind.
type fullDisk struct {
	vfs.FS
	shortage syscall.Errno
	half     bool
	full     atomic.Bool
}

func (d *fullDisk) lacks(name string) bool {
	return d.full.Load() && !strings.HasSuffix(name, ".sst")
}

func (d *fullDisk) Create(name string, of vfs.DiskWriteCategory) (vfs.File, error) {
	if d.lacks(name) {
		return nil, d.shortage
	}
	file, err := d.FS.Create(name, of)
	if err != nil {
		return nil, err
	}
	return &fullFile{file, d, name}, nil
}

// Unwrap returns the file system below, as the engine asks for it.
func (d *fullDisk) Unwrap() vfs.FS { return d.FS }

type fullFile struct {
	vfs.File
	disk *fullDisk
	name string
}

func (f *fullFile) Write(p []byte) (n int, err error) {
	if !f.disk.lacks(f.name) {
		return f.File.Write(p)
	}
	if f.disk.half {
		n, _ = f.File.Write(p[:len(p)/2])
	}
	return n, f.disk.shortage
}

func (f *fullFile) WriteAt(p []byte, at int64) (int, error) {
	if f.disk.lacks(f.name) {
		return 0, f.disk.shortage
	}
	return f.File.WriteAt(p, at)
}
