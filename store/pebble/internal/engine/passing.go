package engine

import (
	"errors"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// lackOfSpace reports whether an error says that a file cannot grow: a full disk, a quota, a limit
// of the size of files. It is over when there is room.
func lackOfSpace(err error) bool {
	return vfs.IsNoSpaceError(err) || errors.Is(err, syscall.EDQUOT) ||
		errors.Is(err, syscall.EFBIG)
}

// lackOfFiles reports whether an error says that too many files are open, in this process or in
// all. It is over when others are closed.
func lackOfFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// shortage words an error that passes by itself, or returns "".
func shortage(err error) string {
	switch {
	case vfs.IsNoSpaceError(err):
		return "the disk is full"
	case errors.Is(err, syscall.EDQUOT):
		return "the disk quota is used up"
	case errors.Is(err, syscall.EFBIG):
		return "the limit of the size of files is reached (ulimit -f)"
	case lackOfFiles(err):
		return "too many files are open (ulimit -n)"
	}
	return ""
}

// filesInterval is how long an operation waits before it is tried again for want of open files.
const filesInterval = 100 * time.Millisecond

// untilFiles calls an operation that opens a file until there is a descriptor for it. Nothing has
// been written by one that failed so, and the engine takes its failure for final. Writes are
// refused meanwhile.
func (e *Engine) untilFiles(open func() (vfs.File, error)) (vfs.File, error) {
	for {
		file, err := open()
		if !lackOfFiles(err) || e.opening.Load() {
			return file, err
		}
		e.space.exhausted("a file of the store could not be opened: " + shortage(err))
		if e.abandoned.Load() || e.Err() != nil {
			return file, err
		}
		time.Sleep(filesInterval)
	}
}
