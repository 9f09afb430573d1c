// Package npy writes arrays in the .npy format of NumPy, version 1.0, so that other programs get
// the same data to the bit.
//
// Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
package npy

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
)

// Number is the type of an element.
type Number interface {
	float32 | float64 | int32 | int64
}

// Write stores values as a row-major array of the given shape. A shape of another size than
// len(values) panics.
func Write[T Number](path string, values []T, shape ...int) (err error) {
	size := 1
	for _, d := range shape {
		size *= d
	}
	if size != len(values) {
		panic(fmt.Sprintf("npy: %d values for the shape %v", len(values), shape))
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if closed := f.Close(); err == nil {
			err = closed
		}
	}()
	w := bufio.NewWriterSize(f, 1<<20)
	if _, err := w.Write(header[T](shape)); err != nil {
		return err
	}
	const chunk = 1 << 16
	buf := make([]byte, 0, 8*chunk)
	for len(values) > 0 {
		n := min(chunk, len(values))
		if buf, err = binary.Append(buf[:0], binary.LittleEndian, values[:n]); err != nil {
			return err
		}
		if _, err := w.Write(buf); err != nil {
			return err
		}
		values = values[n:]
	}
	return w.Flush()
}

// header is the magic, the version, the length of the description, and the description padded to a
// multiple of 64 bytes.
func header[T Number](shape []int) []byte {
	dims := ""
	for _, d := range shape {
		dims += fmt.Sprintf("%d,", d)
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr[T](),
		dims)
	const fixed = 10
	text += strings.Repeat(" ", 63-(fixed+len(text))%64) + "\n"
	h := append([]byte("\x93NUMPY\x01\x00"), 0, 0)
	binary.LittleEndian.PutUint16(h[8:], uint16(len(text)))
	return append(h, text...)
}

func descr[T Number]() string {
	switch any(*new(T)).(type) {
	case float32:
		return "<f4"
	case float64:
		return "<f8"
	case int32:
		return "<i4"
	default:
		return "<i8"
	}
}
