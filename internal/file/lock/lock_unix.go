//go:build (unix && !aix && !solaris) || illumos

package lock

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// Try takes the lock of an open file, or returns an error at once.
func Try(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return fmt.Errorf("%s: %w", f.Name(), ErrTaken)
	case err != nil:
		return &os.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return nil
}

// Take opens a file and takes its lock, which Close gives back. A file that was replaced meanwhile
// is taken by who has replaced it.
func Take(path string) (io.Closer, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0) // NFS wants a file for writing
	if err != nil {
		return nil, err
	}
	err = Try(f)
	if err == nil {
		err = stands(f)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// stands returns ErrTaken if the name of an open file is that of another file now.
func stands(f *os.File) error {
	mine, err := f.Stat()
	if err != nil {
		return err
	}
	if there, err := os.Stat(f.Name()); err != nil || !os.SameFile(mine, there) {
		return fmt.Errorf("%s: %w", f.Name(), ErrTaken)
	}
	return nil
}
