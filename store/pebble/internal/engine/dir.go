package engine

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/store/pebble/internal/mark"
)

// Names inside the directory of an engine. Its files lie in a folder of their own, which gets its
// name when they are complete: a crash while they are being created leaves no half of them behind.
const (
	DataName     = "histories"     // the folder of the engine's files
	CreatingName = "histories.new" // the folder, until it is complete
	LockName     = "LOCK"
)

// dirState is the state of the directory of an engine.
type dirState int

const (
	dirEmpty      dirState = iota
	dirUnfinished          // a creation was interrupted; nothing was ever stored in it
	dirGone                // there is the mark of a store, without its files
	dirStore
)

// inspectDir returns the state of the directory, and refuses one that holds something else.
func inspectDir(fs vfs.FS, dir string) (dirState, error) {
	names, err := fs.List(dir)
	if err != nil {
		return 0, fmt.Errorf("listing the store directory: %w", err)
	}
	if slices.Contains(names, DataName) {
		return dirStore, nil
	}
	if slices.Contains(names, CreatingName) {
		return dirUnfinished, nil
	}
	if slices.Contains(names, mark.Name) {
		return dirGone, nil // whatever else of the store is beside it
	}
	for _, name := range names {
		if name != LockName && name != "lost+found" {
			return 0, fmt.Errorf("directory %q is not empty and holds no store (no %q in it): "+
				"give the folder of a store, or an empty or a new one", dir, DataName)
		}
	}
	return dirEmpty, nil
}

// ErrInUse is wrapped by the error of opening a store that another process has open.
var ErrInUse = errors.New("in use by another process")

// lockDir keeps other processes out of the directory until the lock is closed.
func lockDir(fs vfs.FS, dir string) (io.Closer, error) {
	lock, err := fs.Lock(fs.PathJoin(dir, LockName))
	switch {
	case errors.Is(err, syscall.EAGAIN):
		return nil, fmt.Errorf("store directory %q is %w: stop that one first, or give another "+
			"directory",
			dir, ErrInUse)
	case err != nil:
		return nil, fmt.Errorf("locking the store directory %q: %w", dir, err)
	}
	return lock, nil
}

// sharedLock is a lock of a directory that the last of its holders releases.
type sharedLock struct {
	lock    io.Closer
	holders atomic.Int32
}

func newSharedLock(lock io.Closer) *sharedLock {
	l := &sharedLock{lock: lock}
	l.holders.Store(1)
	return l
}

// share makes the caller a holder too. It must be called by a holder.
func (l *sharedLock) share() *sharedLock {
	l.holders.Add(1)
	return l
}

// Close lets go of the lock.
func (l *sharedLock) Close() error {
	if l.holders.Add(-1) > 0 {
		return nil
	}
	return l.lock.Close()
}
