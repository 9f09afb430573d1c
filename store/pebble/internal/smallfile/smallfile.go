// Package smallfile puts small files into the folder of a store, whole or not at all, reads them,
// and makes folders and names durable.
package smallfile

import (
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// writing is added to the name of a file while it is written. A crash may leave one behind.
const writing = ".new"

// Replace puts a file into a folder, in place of one of the name. After a crash there is the old
// file or the new one; once Replace has returned nil it is the new one.
func Replace(fs vfs.FS, dir, name string, content []byte) error {
	unfinished := fs.PathJoin(dir, name+writing)
	file, err := fs.Create(unfinished, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := fs.Rename(unfinished, fs.PathJoin(dir, name)); err != nil {
		return err
	}
	return SyncDir(fs, dir)
}

// Read returns the content of a file.
func Read(fs vfs.FS, path string) ([]byte, error) {
	file, err := fs.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	return io.ReadAll(file)
}

// SyncDir makes the names in a folder durable.
func SyncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// MakeDir creates a directory and its missing parents, durably, readable by nobody else: histories
// are personal data.
func MakeDir(fs vfs.FS, dir string) error {
	info, err := fs.Stat(dir)
	if err == nil {
		if !info.IsDir() {
			return fmt.Errorf("%q is a file, want a directory", dir)
		}
		return nil
	}
	parent := fs.PathDir(dir)
	if parent != dir {
		if err := MakeDir(fs, parent); err != nil {
			return err
		}
	}
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("creating the directory: %w", err)
	}
	return SyncDir(fs, parent)
}
