//go:build unix

package sealed

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/gsimc/gsimc/internal/file/safetensors"
)

// Copy reads the first size bytes of f into memory that nobody else shares. A file that becomes
// shorter meanwhile gives an error.
func Copy(f *os.File, size int) (Memory, error) {
	if !safetensors.LittleEndian {
		return Memory{}, errBigEndian
	}
	data, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return Memory{}, fmt.Errorf("no memory for a model of %d MiB: %w", size>>20, err)
	}
	m := Memory{Data: data, Copy: true}
	_, err = io.ReadFull(f, data)
	if err == nil {
		err = os.NewSyscallError("mprotect", unix.Mprotect(data, unix.PROT_READ))
	}
	if err != nil {
		return Memory{}, errors.Join(err, m.Close())
	}
	return m, nil
}

// Map maps the first size bytes of f, read-only: a write to them is a fault, and the pages are
// shared between processes and dropped under memory pressure.
func Map(f *os.File, size int) (Memory, error) {
	if !safetensors.LittleEndian {
		return Memory{}, errBigEndian
	}
	data, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return Memory{}, &os.PathError{Op: "mmap", Path: f.Name(), Err: err}
	}
	return Memory{Data: data}, nil
}

// Close unmaps. The memory must not be touched any more.
func (m *Memory) Close() error {
	if m.Data == nil {
		return nil
	}
	data := m.Data
	m.Data = nil
	return os.NewSyscallError("munmap", unix.Munmap(data))
}
