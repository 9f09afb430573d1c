//go:build !unix

package sealed

import (
	"io"
	"os"

	"github.com/gsimc/gsimc/internal/file/safetensors"
)

// Copy reads the first size bytes of f. Where nothing maps, they are in the Go heap.
func Copy(f *os.File, size int) (Memory, error) {
	if !safetensors.LittleEndian {
		return Memory{}, errBigEndian
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(f, data); err != nil {
		return Memory{}, err
	}
	return Memory{Data: data, Copy: true}, nil
}

// Map is Copy.
func Map(f *os.File, size int) (Memory, error) { return Copy(f, size) }

// Close forgets the memory.
func (m *Memory) Close() error {
	m.Data = nil
	return nil
}
