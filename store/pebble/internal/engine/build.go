package engine

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"path/filepath"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/store/pebble/internal/smallfile"
)

const (
	// unfinished ends the name of the directory in which another one is built.
	unfinished = ".unfinished"
	contentDir = "new" // in it: what gets the name of the other one
)

// Build has fn fill a directory beside dir, which then gets the name of dir. There must be no dir,
// or an empty one. So dir is there as a whole or not at all. What an interrupted Build has left is
// removed; one that is under way, in whatever process, refuses another one for the same dir.
func Build(fs vfs.FS, dir string, fn func(building string) error) (err error) {
	dir = filepath.Clean(dir) // DIR/ has its neighbour beside it, not in it
	if err := free(fs, dir); err != nil {
		return err
	}
	place := dir + unfinished
	lock, err := claim(fs, dir, place)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, fs.RemoveAll(place), lock.Close(),
			smallfile.SyncDir(fs, fs.PathDir(dir)))
	}()
	building := fs.PathJoin(place, contentDir)
	if err := fs.RemoveAll(building); err != nil {
		return fmt.Errorf("removing what an interrupted run has left: %w", err)
	}
	if err := smallfile.MakeDir(fs, building); err != nil {
		return err
	}
	if err := fn(building); err != nil {
		return err
	}
	if err := free(fs, dir); err != nil { // it took its time
		return err
	}
	if err := fs.Remove(dir); err != nil && !errors.Is(err, iofs.ErrNotExist) {
		return err
	}
	return fs.Rename(building, dir)
}

// claim makes the place in which dir is built, and keeps others out of it until the lock is closed.
// The system gives up the lock of a process that dies.
func claim(fs vfs.FS, dir, place string) (lock io.Closer, err error) {
	if err := smallfile.MakeDir(fs, place); err != nil {
		return nil, err
	}
	name := fs.PathJoin(place, LockName)
	lock, err = fs.Lock(name)
	if err == nil {
		// A Build that ended a moment ago has removed the file: the lock is that of none.
		if _, err = fs.Stat(name); err == nil {
			return lock, nil
		}
		err = errors.Join(err, lock.Close())
	}
	_, ofSystem := errors.AsType[syscall.Errno](err)
	if ofSystem && !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, iofs.ErrNotExist) {
		return nil, fmt.Errorf("locking %q: %w", name, err)
	}
	return nil, fmt.Errorf("directory %q is being written by another run: wait for its end, or "+
		"give another directory (%w)", dir, err)
}

// free returns an error if there is something in the way of a new directory.
func free(fs vfs.FS, dir string) error {
	names, err := fs.List(dir)
	switch {
	case errors.Is(err, iofs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(names) > 0:
		return fmt.Errorf("directory %q is not empty: give an empty or a new one", dir)
	}
	return nil
}
