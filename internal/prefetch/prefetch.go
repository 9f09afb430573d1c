// Package prefetch begins to bring memory into the processor's cache some time before it is needed. A loop over many things
// that lie scattered in memory waits for each of them otherwise; told a few steps ahead, the processor loads several at once.
//
// It changes nothing and reads nothing, so it may be used on memory that another goroutine writes. Where there is no
// instruction for it, it does nothing.
package prefetch

import "unsafe"

// Slice begins to load the elements of v.
func Slice[T any](v []T) {
	lines(unsafe.Pointer(unsafe.SliceData(v)), uintptr(len(v))*unsafe.Sizeof(*new(T)))
}

// String begins to load the bytes of s.
func String(s string) { lines(unsafe.Pointer(unsafe.StringData(s)), uintptr(len(s))) }

// Value begins to load *p, unless p is nil.
func Value[T any](p *T) {
	if p != nil {
		lines(unsafe.Pointer(p), unsafe.Sizeof(*p))
	}
}
