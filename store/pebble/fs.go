package pebble

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// engineFS is the file system as the engine sees it.
type engineFS struct {
	vfs.FS
	s *Store
}

// Unwrap implements vfs.FS.
func (f engineFS) Unwrap() vfs.FS { return f.FS }

// ReuseForWrite removes the old file and makes a new one, so that the bytes of erased users do not live on in the unused
// part of a recycled log.
func (f engineFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := f.Remove(oldname); err != nil {
		return nil, f.s.vital(err)
	}
	return f.Create(newname, category)
}

// Create makes a file, one whose errors the engine does not see unless it is a table.
func (f engineFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if f.s.ofCheckpoint(name) {
		return f.FS.Create(name, category)
	}
	if f.s.failure.err() != nil || f.s.space.full() {
		f.s.slowDown()
	}
	if strings.HasPrefix(f.PathBase(name), "marker.") {
		// A marker names the manifest to use, whose own name must be on disk before the marker can be. The engine relies on
		// the file system to keep the order of the two, which not every one promises.
		if err := syncDir(f.FS, f.PathDir(name)); err != nil {
			return nil, f.s.vital(err)
		}
	}
	file, err := f.FS.Create(name, category)
	if strings.HasSuffix(name, ".sst") {
		return file, err // a table can be written again
	}
	if err != nil {
		return nil, f.s.vital(err)
	}
	if strings.HasSuffix(name, ".log") {
		return newLogFile(vitalFile{file, f.s}, name), nil
	}
	return vitalFile{file, f.s}, nil
}

// Open opens a file to read it.
func (f engineFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	file, err := f.FS.Open(name, opts...)
	if err != nil {
		f.s.slowDown()
		return nil, err
	}
	if log, active := f.s.logs.Load(name); active {
		return &logReader{readFile{file, f.s}, log.(*logFile).written.Load()}, nil
	}
	return readFile{file, f.s}, nil
}

// readFile is a file to be read.
type readFile struct {
	vfs.File
	s *Store
}

func (f readFile) ReadAt(p []byte, offset int64) (int, error) {
	n, err := f.File.ReadAt(p, offset)
	if err != nil && err != io.EOF {
		f.s.slowDown()
	}
	return n, err
}

// slowDown is called when the disk is full or failed: the engine repeats what has failed at once and for ever, which would
// keep a processor busy.
func (s *Store) slowDown() {
	if s.abandoned.Load() {
		select {} // nobody is there any more to care
	}
	time.Sleep(100 * time.Millisecond)
}

// OpenDir opens a directory to sync it, which is vital too.
func (f engineFS) OpenDir(name string) (vfs.File, error) {
	dir, err := f.FS.OpenDir(name)
	if err != nil || f.s.ofCheckpoint(name) {
		return dir, err
	}
	return vitalFile{dir, f.s}, nil
}

// vital takes the error of an operation on a file that the engine cannot do without: the log, the manifest, a directory.
// If there is one, vital does not return. Given the error, the engine would panic while it holds its locks, or in a
// goroutine of its own, and end the process; or it would try again at once and for ever. Instead the store fails and the
// goroutine is held here for ever. The engine does not hold the locks that readers need while it uses the disk, so they go
// on; whoever waits for a write, or for the engine to open or close, sees that the store has failed.
func (s *Store) vital(err error) error {
	if err != nil {
		s.fail(err)
		select {}
	}
	return nil
}

// vitalFile is a file whose errors do not reach the engine; see vital. Preallocate may fail: not every file system can.
type vitalFile struct {
	vfs.File
	s *Store
}

func (f vitalFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	return n, f.s.vital(err)
}

func (f vitalFile) Sync() error     { return f.s.vital(f.File.Sync()) }
func (f vitalFile) SyncData() error { return f.s.vital(f.File.SyncData()) }
func (f vitalFile) Close() error    { return f.s.vital(f.File.Close()) }

func (f vitalFile) SyncTo(length int64) (fullSync bool, err error) {
	fullSync, err = f.File.SyncTo(length)
	return fullSync, f.s.vital(err)
}

// slowDisk is how long a disk operation may take before it is reported.
const slowDisk = 5 * time.Second

// wrapFS returns the file system for the engine, which reports slow operations until the closer is closed.
func (s *Store) wrapFS(fs vfs.FS) (vfs.FS, io.Closer) {
	return vfs.WithDiskHealthChecks(engineFS{FS: fs, s: s}, slowDisk, nil, func(info vfs.DiskSlowInfo) {
		s.opts.Events.Slow("disk "+info.OpType.String(), info.Duration)
	})
}

// Names inside the directory of a store. The engine's files lie in a folder of their own, which gets its name when the
// store is complete: a crash while a store is being created leaves no half of one behind.
const (
	lockName     = "LOCK"
	dataName     = "histories"
	creatingName = "histories.new"
)

// dirState says what is in the directory of a store.
type dirState int

const (
	dirEmpty      dirState = iota
	dirUnfinished          // the creation of a store was interrupted; nothing was ever stored in it
	dirStore
)

// inspectDir tells what the directory holds, and refuses one that is in use for something else.
func inspectDir(fs vfs.FS, dir string) (dirState, error) {
	names, err := fs.List(dir)
	if err != nil {
		return 0, fmt.Errorf("listing the store directory: %w", err)
	}
	if slices.Contains(names, dataName) {
		return dirStore, nil
	}
	if slices.Contains(names, creatingName) {
		return dirUnfinished, nil
	}
	for _, name := range names {
		if name != lockName && name != "lost+found" {
			return 0, fmt.Errorf("directory %q is not empty and holds no store (no %q in it): give the folder of a store, or an empty or a new one", dir, dataName)
		}
	}
	return dirEmpty, nil
}

// makeDir creates the directory and its missing parents, durably, readable by nobody else: histories are personal data.
func makeDir(fs vfs.FS, dir string) error {
	info, err := fs.Stat(dir)
	if err == nil {
		if !info.IsDir() {
			return fmt.Errorf("%q is a file, want a directory", dir)
		}
		return nil
	}
	parent := fs.PathDir(dir)
	if parent != dir {
		if err := makeDir(fs, parent); err != nil {
			return err
		}
	}
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("creating the store directory: %w", err)
	}
	return syncDir(fs, parent)
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// ErrInUse is wrapped by the error of opening a store that another process has open.
var ErrInUse = errors.New("in use by another process")

// lockDir keeps other processes out of the directory until the lock is closed.
func lockDir(fs vfs.FS, dir string) (io.Closer, error) {
	lock, err := fs.Lock(fs.PathJoin(dir, lockName))
	switch {
	case errors.Is(err, syscall.EAGAIN):
		return nil, fmt.Errorf("store directory %q is %w: stop that one first, or give another directory", dir, ErrInUse)
	case err != nil:
		return nil, fmt.Errorf("locking the store directory %q: %w", dir, err)
	}
	return lock, nil
}
