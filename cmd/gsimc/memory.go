package main

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// limitMemory sets the Go memory limit to 90 % of the cgroup's, so that the collector works harder before the kernel
// kills the process. GOMEMLIMIT, if set, stands.
func limitMemory(env []string) {
	for _, entry := range env {
		if strings.HasPrefix(entry, "GOMEMLIMIT=") {
			return
		}
	}
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err == nil && limit < 1<<50 { // "max", or version 1's near-infinite number: no limit
			debug.SetMemoryLimit(limit / 10 * 9)
		}
		return
	}
}

// peakRSS is the largest resident set size of this process so far, in bytes; 0 if the system does not tell.
func peakRSS() int64 {
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return usage.Maxrss * 1024 // Linux counts in KiB
}
