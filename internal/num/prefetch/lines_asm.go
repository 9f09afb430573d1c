//go:build amd64 || arm64

package prefetch

import "unsafe"

// lines begins to load the cache lines of the bytes p, …, p+bytes-1.
//
//go:noescape
func lines(p unsafe.Pointer, bytes uintptr)
