//go:build unix

package cli

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// PeakRSS returns the largest resident set size of this process so far in bytes; 0: unknown.
func PeakRSS() int64 {
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return usage.Maxrss
	}
	return usage.Maxrss * 1024 // the others count in KiB
}
