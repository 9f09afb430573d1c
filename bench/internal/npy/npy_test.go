package npy

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.npy")
	values := make([]float32, 70_000) // more than one chunk
	for i := range values {
		values[i] = float32(i) / 3
	}
	check.Must(t, Write(path, values, 700, 100))
	head, data := read(t, path)
	check.Same(t, "{'descr': '<f4', 'fortran_order': False, 'shape': (700,100,), }", head, "header")
	check.MustSame(t, 4*len(values), len(data), "bytes of data")
	for i, v := range values {
		check.MustSame(t, v, math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])),
			"value %d", i)
	}
}

func TestTypes(t *testing.T) {
	dir := t.TempDir()
	check := func(name string, err error, descr string, bytes int) {
		t.Helper()
		check.Must(t, err)
		head, data := read(t, filepath.Join(dir, name))
		if !strings.Contains(head, "'"+descr+"'") || len(data) != bytes {
			t.Errorf("%s: header %q and %d bytes, want %s and %d", name, head, len(data), descr,
				bytes)
		}
	}
	check("f8", Write(filepath.Join(dir, "f8"), []float64{1, 2}, 2), "<f8", 16)
	check("i4", Write(filepath.Join(dir, "i4"), []int32{1, 2, 3}, 3), "<i4", 12)
	check("i8", Write(filepath.Join(dir, "i8"), []int64{}, 0), "<i8", 0)
	defer func() {
		if recover() == nil {
			t.Error("a shape of another size did not panic")
		}
	}()
	_ = Write(filepath.Join(dir, "bad"), []int64{1}, 2)
}

// read checks the fixed part of the header and returns the description without its padding, and the
// data.
func read(t *testing.T, path string) (head string, data []byte) {
	t.Helper()
	raw := check.Get(os.ReadFile(path))(t)
	check.MustSame(t, "\x93NUMPY\x01\x00", string(raw[:8]), "magic and version")
	end := 10 + int(binary.LittleEndian.Uint16(raw[8:]))
	if end%64 != 0 || raw[end-1] != '\n' {
		t.Errorf("the header ends at %d with %q, want a multiple of 64 and a new line", end,
			raw[end-1])
	}
	return strings.TrimRight(string(raw[10:end]), " \n"), raw[end:]
}
