//go:build amd64 || arm64

package prefetch

import "unsafe"

// lines begins to load the lines of the cache in which some of the bytes from p on are.
//
//go:noescape
func lines(p unsafe.Pointer, bytes uintptr)
