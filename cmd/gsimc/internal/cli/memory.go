package cli

import (
	"runtime/debug"
	"runtime/metrics"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/pbnjay/memory"
)

// LimitMemory sets the Go memory limit to 90 % of the control group's limit less outside, the bytes
// that this process holds outside of the Go heap. The collector then works harder before the kernel
// kills the process. The limit is at least a tenth of the group's: a limit below what is in use
// would make the collector work all the time. GOMEMLIMIT, if set, stands.
func LimitMemory(env []string, outside int64) {
	if _, given := Variable(env, "GOMEMLIMIT"); given {
		return
	}
	if limit, ok := GroupMemory(); ok {
		debug.SetMemoryLimit(max(limit/10, (limit-outside)/10*9))
	}
}

// readGroup reads the memory limit of this process's control group and of those around it: the
// least counts. A test puts another one in its place.
var readGroup = memlimit.FromCgroup

// GroupMemory returns the memory limit of the control group in bytes; ok is false if there is none.
func GroupMemory() (limit int64, ok bool) {
	bytes, err := readGroup()
	if err != nil || bytes >= 1<<50 { // version 1 writes "no limit" as a near-infinite number
		return 0, false
	}
	return int64(bytes), true
}

// MemoryLimit returns the memory that this process may use, in bytes: the value of a flag if it is
// above 0, or else the lesser of the control group's limit and the machine's memory. 0: unknown.
func MemoryLimit(flag ByteSize) int64 {
	if flag > 0 {
		return int64(flag)
	}
	limit := int64(memory.TotalMemory()) // 0: unknown
	if group, ok := GroupMemory(); ok && (limit == 0 || group < limit) {
		limit = group
	}
	return limit
}

// HeldMemory is what the Go runtime holds of the operating system after a collection.
func HeldMemory() float64 {
	debug.FreeOSMemory()
	s := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(s)
	return float64(s[0].Value.Uint64() - s[1].Value.Uint64())
}
