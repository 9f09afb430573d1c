//go:build unix

package model

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// mapping is a file in memory. The zero value is none.
type mapping struct{ data []byte }

// mapData maps the first size bytes of f, read-only: a write to them is a fault, and the pages are
// shared between processes and dropped under memory pressure.
func mapData(f *os.File, size int) (mapping, error) {
	if !littleEndian {
		return mapping{}, errors.New("model files can be mapped on little-endian processors only")
	}
	data, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return mapping{}, &os.PathError{Op: "mmap", Path: f.Name(), Err: err}
	}
	return mapping{data}, nil
}

// close unmaps. The memory must not be touched any more.
func (m *mapping) close() error {
	if m.data == nil {
		return nil
	}
	data := m.data
	m.data = nil
	return os.NewSyscallError("munmap", unix.Munmap(data))
}
