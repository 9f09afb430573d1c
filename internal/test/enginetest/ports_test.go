package enginetest

import (
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// A port is nobody else's until its lease ends, though nobody listens on it.
func TestLeases(t *testing.T) {
	const n = 300 // of 12,000: without leases some would be given twice
	first, kept, err := leasePorts(n)
	check.Must(t, err)
	defer kept.end()
	second, more, err := leasePorts(n)
	check.Must(t, err)
	defer more.end()
	all := slices.Sorted(slices.Values(append(first, second...)))
	check.Same(t, 2*n, len(slices.Compact(all)), "different ports in leases")
}
