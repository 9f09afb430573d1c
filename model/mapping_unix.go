//go:build unix

package model

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/gsimc/gsimc/internal/file/safetensors"
)

// mapping is a file in memory outside of the Go heap: mapped, or a copy. The zero value is none.
type mapping struct {
	data []byte
	copy bool
}

var errBigEndian = errors.New("model files can be read on little-endian processors only")

// openFile opens a file to read it. It does not wait for a writer if the file is a pipe.
func openFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
}

// copyData reads the first size bytes of f into memory that nobody else shares. A file that becomes
// shorter meanwhile gives an error.
func copyData(f *os.File, size int) (mapping, error) {
	if !safetensors.LittleEndian {
		return mapping{}, errBigEndian
	}
	data, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return mapping{}, fmt.Errorf("no memory for a model of %d MiB: %w", size>>20, err)
	}
	m := mapping{data: data, copy: true}
	_, err = io.ReadFull(f, data)
	if err == nil {
		err = os.NewSyscallError("mprotect", unix.Mprotect(data, unix.PROT_READ))
	}
	if err != nil {
		return mapping{}, errors.Join(err, m.close())
	}
	return m, nil
}

// mapData maps the first size bytes of f, read-only: a write to them is a fault, and the pages are
// shared between processes and dropped under memory pressure.
func mapData(f *os.File, size int) (mapping, error) {
	if !safetensors.LittleEndian {
		return mapping{}, errBigEndian
	}
	data, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return mapping{}, &os.PathError{Op: "mmap", Path: f.Name(), Err: err}
	}
	return mapping{data: data}, nil
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
