package safetensors

import (
	"encoding/binary"
	"fmt"
	"slices"
	"unsafe"
)

// Number is the type of the elements of an array.
type Number interface {
	float32 | float64 | int32 | int64
}

// LittleEndian reports whether this processor stores numbers in the byte order of the file. It is
// true on all platforms of the releases.
var LittleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// Bytes returns the memory of s.
func Bytes[T Number](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), len(s)*int(unsafe.Sizeof(s[0])))
}

// View returns the numbers in b. It copies them only if b is not aligned.
func View[T Number](b []byte) []T {
	var zero T
	size := int(unsafe.Sizeof(zero))
	n := len(b) / size
	if n == 0 {
		return nil
	}
	if uintptr(unsafe.Pointer(&b[0]))%uintptr(size) != 0 {
		s := make([]T, n)
		copy(Bytes(s), b)
		return s
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), n)
}

// Reader reads arrays. It keeps the first error and reads nothing after it.
type Reader struct {
	File *File
	Err  error
}

// Has reports whether there is an array of the name.
func (r *Reader) Has(name string) bool {
	_, ok := r.File.Arrays[name]
	return ok
}

// Read returns the bytes of the named array, or nil after an error. The type and the shape must
// match; −1 in shape matches any dimension.
func (r *Reader) Read(name string, want DType, shape ...int64) []byte {
	if r.Err != nil {
		return nil
	}
	t, ok := r.File.Arrays[name]
	switch {
	case !ok:
		r.Err = fmt.Errorf("there is no tensor %q", name)
	case t.DType != want.Name:
		r.Err = fmt.Errorf("tensor %q has type %s, want %s", name, t.DType, want.Name)
	case !sameShape(t.Shape, shape):
		r.Err = fmt.Errorf("tensor %q has shape %v, want %v", name, t.Shape, shape)
	default:
		return r.File.Body[t.Offsets[0]:t.Offsets[1]]
	}
	return nil
}

// Array returns the numbers of the named array, or nil after an error, see [Reader.Read].
func Array[T Number](r *Reader, name string, shape ...int64) []T {
	return View[T](r.Read(name, TypeOf[T](), shape...))
}

// TypeOf returns the number format of T.
func TypeOf[T Number]() DType {
	var zero T
	switch any(zero).(type) {
	case float32:
		return F32
	case float64:
		return F64
	case int32:
		return I32
	}
	return I64
}

// Number returns the number in an array of one float64, or 0 after an error.
func (r *Reader) Number(name string) float64 {
	if v := View[float64](r.Read(name, F64, 1)); len(v) == 1 {
		return v[0]
	}
	return 0
}

// Strings returns n texts, or nil after an error. The array NAME_ids has their bytes one after the
// other, and text i is [NAME_offsets[i], NAME_offsets[i+1]) of them. The texts are copied, so that
// none points into the file.
func (r *Reader) Strings(name string, n int64) []string {
	offsets := View[int64](r.Read(name+"_offsets", I64, n+1))
	packed := r.Read(name+"_ids", U8, -1)
	if r.Err != nil {
		return nil
	}
	if offsets[0] != 0 || offsets[n] != int64(len(packed)) {
		r.Err = fmt.Errorf("%s_offsets run from %d to %d, want 0 to the %d bytes of %s_ids",
			name, offsets[0], offsets[n], len(packed), name)
		return nil
	}
	for i := range n {
		if offsets[i] > offsets[i+1] {
			r.Err = fmt.Errorf("%s_offsets[%d] is %d, below the one before it",
				name, i+1, offsets[i+1])
			return nil
		}
	}
	all := string(packed)
	texts := make([]string, n)
	for i := range texts {
		texts[i] = all[offsets[i]:offsets[i+1]]
	}
	return texts
}

func sameShape(got, want []int64) bool {
	return slices.EqualFunc(got, want, func(g, w int64) bool { return g == w || w == -1 })
}
