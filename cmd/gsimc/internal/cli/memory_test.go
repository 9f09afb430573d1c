package cli

import (
	"math"
	"runtime/debug"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/gsimc/gsimc/internal/test/check"
)

// withGroup sets the limit of the control group for a test.
func withGroup(t *testing.T, limit uint64, err error) {
	t.Helper()
	old, before := readGroup, debug.SetMemoryLimit(-1)
	readGroup = func() (uint64, error) { return limit, err }
	t.Cleanup(func() {
		readGroup = old
		debug.SetMemoryLimit(before)
	})
}

// The Go memory limit is 90 % of the group's, less what is held outside of the heap, but no less
// than a tenth; GOMEMLIMIT stands.
func TestLimitMemory(t *testing.T) {
	const none = math.MaxInt64
	for _, c := range []struct {
		name    string
		group   uint64
		err     error
		env     []string
		outside int64
		want    int64
	}{
		{"no group", 0, memlimit.ErrNoLimit, nil, 0, none},
		{"near-infinite, as of version 1", math.MaxInt64 &^ 4095, nil, nil, 0, none},
		{"1 GB", 1e9, nil, nil, 0, 9e8},
		{"a model outside of the heap", 1e9, nil, nil, 5e8, 45e7},
		{"a model larger than the group", 1e9, nil, nil, 2e9, 1e8},
		{"GOMEMLIMIT", 1e9, nil, []string{"GOMEMLIMIT=2GiB"}, 0, none},
	} {
		t.Run(c.name, func(t *testing.T) {
			withGroup(t, c.group, c.err)
			debug.SetMemoryLimit(none)
			LimitMemory(c.env, c.outside)
			check.Same(t, c.want, debug.SetMemoryLimit(-1), "the limit")
		})
	}
}

// A training is planned within the flag, or else within the group and the machine.
func TestMemoryLimit(t *testing.T) {
	withGroup(t, 1000, nil)
	check.Same(t, int64(1000), MemoryLimit(0), "within a group of 1000 bytes")
	check.Same(t, int64(5), MemoryLimit(5), "with a flag of 5 bytes")
	withGroup(t, 0, memlimit.ErrNoLimit)
	if got := MemoryLimit(0); got < 1<<20 {
		t.Errorf("without a group: %d, want the memory of the machine", got)
	}
}
