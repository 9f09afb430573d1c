package main

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// limitMemory sets the Go memory limit to 90 % of what the cgroup's leaves beside so many bytes outside of the Go heap, so that
// the collector works harder before the kernel kills the process; but to no less than a tenth, since a limit below what is in
// use makes it work all the time. GOMEMLIMIT, if set, stands.
func limitMemory(env []string, outside int64) {
	for _, entry := range env {
		if strings.HasPrefix(entry, "GOMEMLIMIT=") {
			return
		}
	}
	if limit, ok := groupMemory(); ok {
		debug.SetMemoryLimit(max(limit/10, (limit-outside)/10*9))
	}
}

// groupMemory is the memory limit of the control group, in bytes; ok is false if there is none.
func groupMemory() (limit int64, ok bool) {
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		return limit, err == nil && limit < 1<<50 // "max", or version 1's near-infinite number: no limit
	}
	return 0, false
}

// machineMemory is the memory of the machine in bytes; 0 if the system does not tell.
func machineMemory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return int64(info.Totalram) * int64(info.Unit)
}

// peakRSS is the largest resident set size of this process so far, in bytes; 0 if the system does not tell.
func peakRSS() int64 {
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return usage.Maxrss * 1024 // Linux counts in KiB
}
