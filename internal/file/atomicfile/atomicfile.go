// Package atomicfile writes files that get their name only when they are complete: a reader finds
// either the old file or the whole new one, after a crash and a power cut too.
//
// The content goes to a temporary file in the same folder, ".NAME.*.tmp", which is synced and
// renamed; then the folder is synced. A process that is killed leaves the temporary file behind:
// see [Sweep], [File.SweepOlder]. After any other fault it is removed.
package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// File is a file being written. It is not safe for concurrent use.
type File struct {
	path    string
	mode    os.FileMode
	temp    *os.File
	written error // first error of Write
	synced  bool  // nothing was written since the last Sync
	done    bool
}

// Create starts the file at path, which everybody may read. An existing file is replaced by
// [File.Close], not before.
func Create(path string) (*File, error) { return CreateMode(path, 0o644) }

// CreatePrivate is Create of a file that only its owner may read.
func CreatePrivate(path string) (*File, error) { return CreateMode(path, 0o600) }

// ErrSpecial is the error of Create where something else than a file or a folder stands, and in the
// folders of devices. By its renaming the file would take the place of a device, such as /dev/null,
// or of a link such as /dev/stdout, for all programs. Other links to files are replaced.
var ErrSpecial = errors.New("is a device, pipe or socket, which a file would replace")

// CreateMode is Create of a file with this mode.
func CreateMode(path string, mode os.FileMode) (*File, error) {
	const special = os.ModeDevice | os.ModeNamedPipe | os.ModeSocket | os.ModeIrregular
	if info, err := os.Stat(path); err == nil && info.Mode()&special != 0 {
		return nil, &os.PathError{Op: "create", Path: path, Err: ErrSpecial}
	}
	if amongDevices(path) {
		err := fmt.Errorf("is in /dev or /proc, and what stands there %w", ErrSpecial)
		return nil, &os.PathError{Op: "create", Path: path, Err: err}
	}
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return nil, err
	}
	return &File{path: path, mode: mode, temp: temp}, nil
}

// amongDevices tells whether path lies in /dev or /proc, or below them. /dev/shm holds files.
func amongDevices(path string) bool {
	path, err := filepath.Abs(path)
	if err != nil {
		return false
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return false
	}
	below := func(top string) bool { return strings.HasPrefix(dir+"/", top+"/") }
	return below("/dev") && !below("/dev/shm") || below("/proc")
}

// TempName is the name of the file until Close.
func (f *File) TempName() string { return f.temp.Name() }

// Write implements [io.Writer]. After an error Close fails and leaves no file.
func (f *File) Write(p []byte) (int, error) {
	f.synced = false
	n, err := f.temp.Write(p)
	if err != nil && f.written == nil {
		f.written = err
	}
	return n, err
}

// Close completes the file, durably, and gives it its name. If anything went
// wrong, now or in a Write before, there is no new file and an old one stays as it was; the one
// exception is a folder that cannot be synced, as the error then says. A second Close, or one after
// Abort, returns [os.ErrClosed].
func (f *File) Close() error {
	if f.done {
		return os.ErrClosed
	}
	if err := f.Sync(); err != nil {
		return errors.Join(err, f.Abort())
	}
	f.done = true
	err := f.temp.Close()
	if err == nil {
		err = os.Rename(f.temp.Name(), f.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.temp.Name()))
	}
	if err := SyncDir(filepath.Dir(f.path)); err != nil {
		return fmt.Errorf("the file is complete, but a power cut may undo its renaming: %w", err)
	}
	return nil
}

// Sync brings the written bytes to the disk, so that little is left to do for [File.Close].
func (f *File) Sync() error {
	if f.synced {
		return nil
	}
	if f.written != nil {
		return f.written
	}
	if err := f.temp.Chmod(f.mode); err != nil {
		return err
	}
	err := f.temp.Sync()
	f.synced = err == nil
	return err
}

// Abort removes the temporary file. After Close or Abort it does nothing, so that it can be
// deferred.
func (f *File) Abort() error {
	if f.done {
		return nil
	}
	f.done = true
	return errors.Join(f.temp.Close(), os.Remove(f.temp.Name()))
}

// Sweep removes the temporary files of path that killed processes have left. Nobody may be writing
// it. What cannot be removed stays.
func Sweep(path string) { sweep(path, func(os.DirEntry) bool { return true }) }

// SweepOlder is [Sweep] beside others who may be writing the file: what was written to later than
// this before f stays, by the clock of the disk.
func (f *File) SweepOlder(age time.Duration) {
	mine, err := f.temp.Stat()
	if err != nil {
		return
	}
	sweep(f.path, func(e os.DirEntry) bool {
		info, err := e.Info()
		return err == nil && mine.ModTime().Sub(info.ModTime()) > age
	})
}

// sweep removes those temporary files of path that are left over.
func sweep(path string, left func(os.DirEntry) bool) {
	dir, name := filepath.Split(path)
	entries, _ := os.ReadDir(filepath.Clean(dir))
	for _, e := range entries {
		random, is := strings.CutPrefix(e.Name(), "."+name+".")
		random, ends := strings.CutSuffix(random, ".tmp")
		if is && ends && strings.Trim(random, "0123456789") == "" && left(e) {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// SyncDir has the names in a folder on the disk.
func SyncDir(dir string) error {
	if runtime.GOOS == "windows" { // where a folder that is open for reading cannot be written out
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
