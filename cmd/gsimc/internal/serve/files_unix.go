//go:build unix

package serve

import (
	"math"
	"syscall"
)

// openFilesLimit returns how many files this process may have open.
func openFilesLimit() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxUint64 // not known
	}
	return uint64(limit.Cur) //nolint:unconvert // signed on some systems
}
