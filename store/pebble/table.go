package pebble

import (
	"errors"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// tableBuffer is how much of a table is given to the file system at once.
const tableBuffer = 256 << 10

// tableFile is a table that is being written. The engine writes a block of 4 KiB at a time, which costs the system call more
// than the bytes, so that tableFile collects them. What a write leaves behind is written, and its error told, at the latest
// by the sync that ends every table.
type tableFile struct {
	vfs.File
	buffer []byte
}

func (f *tableFile) Write(p []byte) (int, error) {
	if len(f.buffer)+len(p) > tableBuffer {
		if err := f.flush(); err != nil {
			return 0, err
		}
	}
	if len(p) >= tableBuffer {
		return f.File.Write(p)
	}
	if f.buffer == nil {
		f.buffer = make([]byte, 0, tableBuffer)
	}
	f.buffer = append(f.buffer, p...)
	return len(p), nil
}

func (f *tableFile) flush() error {
	if len(f.buffer) == 0 {
		return nil
	}
	_, err := f.File.Write(f.buffer)
	f.buffer = f.buffer[:0]
	return err
}

func (f *tableFile) Sync() error {
	if err := f.flush(); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *tableFile) SyncData() error {
	if err := f.flush(); err != nil {
		return err
	}
	return f.File.SyncData()
}

func (f *tableFile) SyncTo(length int64) (fullSync bool, err error) {
	if err := f.flush(); err != nil {
		return false, err
	}
	return f.File.SyncTo(length)
}

func (f *tableFile) Close() error {
	err := f.flush()
	return errors.Join(err, f.File.Close())
}
