// Package prefetch begins to bring memory into the processor's cache some time before it is needed.
//
// A loop over elements that lie scattered in memory waits for each of them. If the processor is
// told of them a few elements ahead, it loads several at the same time. [Ahead] is such a loop;
// [Value], [Slice] and [String] are the instructions for it.
//
// # Conventions
//
// The instructions change nothing and read nothing, so they may be used on memory that another
// goroutine writes. They do nothing on a processor that has none.
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
