package engine

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// engineFS is the file system as the engine sees it.
type engineFS struct {
	vfs.FS
	e *Engine
}

// Unwrap implements vfs.FS.
func (f engineFS) Unwrap() vfs.FS { return f.FS }

// Create makes a file. The engine does not see the errors of the file unless it is a table.
func (f engineFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if f.e.ofCopy(name) {
		return f.FS.Create(name, category)
	}
	if f.e.Err() != nil || f.e.space.full() {
		f.e.slowDown()
	}
	if strings.HasPrefix(f.PathBase(name), "marker.") {
		// A marker names the manifest to use, whose own name must be on disk before the marker can
		// be. The engine relies on the file system to keep the order of the two, which not every
		// one promises.
		if err := f.syncDir(f.PathDir(name)); err != nil {
			return nil, f.e.vital(err)
		}
	}
	if strings.HasSuffix(name, ".sst") {
		file, err := f.FS.Create(name, category)
		f.e.life.tables.Store(true)
		return file, err // a table can be written again
	}
	var file vfs.File
	err := f.e.untilPossible(func() (err error) {
		file, err = f.FS.Create(name, category)
		return err
	})
	if err != nil {
		return nil, f.e.vital(err)
	}
	if strings.HasSuffix(name, ".log") {
		return newLogFile(vitalFile{file, f.e}, name), nil
	}
	return vitalFile{file, f.e}, nil
}

// List returns the names in a directory.
func (f engineFS) List(dir string) ([]string, error) {
	names, err := f.FS.List(dir)
	return names, f.e.vitalToOpening(err)
}

// Rename gives a file another name.
func (f engineFS) Rename(oldname, newname string) error {
	return f.e.vitalToOpening(f.FS.Rename(oldname, newname))
}

// Remove removes a file. A table stays as long as an engine that only reads may need it.
func (f engineFS) Remove(name string) error {
	if strings.HasSuffix(name, ".sst") && f.e.held.hold(name) {
		return nil
	}
	return f.e.vitalToOpening(f.FS.Remove(name))
}

// Lock locks the folder of the engine's files. An engine that only reads has the lock of the
// directory alone, so that its successor can have this one.
func (f engineFS) Lock(name string) (io.Closer, error) {
	if f.e.reads {
		return unlocked{}, nil
	}
	return f.FS.Lock(name)
}

// unlocked is a lock that is held by nobody.
type unlocked struct{}

// Close implements io.Closer.
func (unlocked) Close() error { return nil }

// vitalToOpening is vital while the engine is opened and has begun to write tables. If an opening
// ended in an error then, goroutines of the engine that look at its tables would panic.
func (e *Engine) vitalToOpening(err error) error {
	if e.life.opening.Load() && e.life.tables.Load() && !errors.Is(err, fs.ErrNotExist) {
		return e.vital(err)
	}
	return err
}

// Open opens a file to read it.
func (f engineFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	file, err := f.FS.Open(name, opts...)
	if err != nil {
		f.e.slowDown()
		return nil, err
	}
	if log, active := f.e.logs.Load(name); active {
		return &logReader{readFile{file, f.e}, log.(*logFile).written.Load()}, nil
	}
	return readFile{file, f.e}, nil
}

// readFile is a file to be read.
type readFile struct {
	vfs.File
	e *Engine
}

func (f readFile) ReadAt(p []byte, offset int64) (int, error) {
	n, err := f.File.ReadAt(p, offset)
	if err != nil && err != io.EOF {
		f.e.slowDown()
	}
	return n, err
}

// slowDown is called when the disk is full or failed: the engine repeats a failed operation at once
// and for ever, which would keep a processor busy.
func (e *Engine) slowDown() {
	if e.life.abandoned.Load() {
		select {} // no caller waits for the engine any more
	}
	time.Sleep(100 * time.Millisecond)
}

// OpenDir opens a directory to sync it, which is vital too.
func (f engineFS) OpenDir(name string) (vfs.File, error) {
	if f.e.ofCopy(name) {
		return f.FS.OpenDir(name)
	}
	dir, err := f.openDir(name)
	if err != nil {
		return dir, err
	}
	return vitalFile{dir, f.e}, nil
}

func (f engineFS) openDir(name string) (dir vfs.File, err error) {
	err = f.e.untilPossible(func() error { dir, err = f.FS.OpenDir(name); return err })
	return dir, err
}

func (f engineFS) syncDir(name string) error {
	dir, err := f.openDir(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// vital takes the error of an operation on a file that the engine cannot do without: the log, the
// manifest, a directory. If there is one, vital does not return. Given the error, the engine would
// panic while it holds its locks, or in a goroutine of its own, and end the process; or it would
// try again at once and for ever. Instead the engine fails and the goroutine is held here for ever.
// The engine does not hold the locks that readers need while it uses the disk, so they go on. A
// caller that waits for a write, or for the engine to open or close, sees that it has failed.
func (e *Engine) vital(err error) error {
	if err != nil {
		e.Fail(err)
		select {}
	}
	return nil
}

// vitalFile is a file whose errors do not reach the engine; see vital. A write that finds no room
// goes on when there is some. A sync that fails so is final: what it left out may be lost for the
// next one too. Preallocate may fail: not every file system can.
type vitalFile struct {
	vfs.File
	e *Engine
}

func (f vitalFile) Write(p []byte) (int, error) {
	n := 0
	err := f.e.untilPossible(func() error {
		written, err := f.File.Write(p[n:])
		n += written
		return err
	})
	return n, f.e.vital(err)
}

func (f vitalFile) Sync() error     { return f.e.vital(f.File.Sync()) }
func (f vitalFile) SyncData() error { return f.e.vital(f.File.SyncData()) }
func (f vitalFile) Close() error    { return f.e.vital(f.File.Close()) }

func (f vitalFile) SyncTo(length int64) (fullSync bool, err error) {
	fullSync, err = f.File.SyncTo(length)
	return fullSync, f.e.vital(err)
}

// slowDisk is how long a disk operation may take before it is reported.
const slowDisk = 5 * time.Second

// watchedFS is a file system that reports slow operations until it is closed.
type watchedFS struct {
	vfs.FS
	io.Closer
}

// watch returns the file system for the engine.
func (e *Engine) watch(disk vfs.FS) watchedFS {
	slow := func(info vfs.DiskSlowInfo) { e.opts.Slow("disk "+info.OpType.String(), info.Duration) }
	fs, closer := vfs.WithDiskHealthChecks(engineFS{FS: disk, e: e}, slowDisk, nil, slow)
	return watchedFS{fs, closer}
}
