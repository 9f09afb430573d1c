package cli

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// percent is the percentage by which the heap grows.
func percent() int {
	s := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(s)
	return int(s[0].Value.Uint64())
}

// setPercent sets the percentage until a test has ended.
func setPercent(t *testing.T, percent int) {
	t.Helper()
	before := debug.SetGCPercent(percent)
	t.Cleanup(func() { debug.SetGCPercent(before) })
}

// The heap grows by a percentage, and afterwards by that of before; GOGC stands.
func TestCollectAt(t *testing.T) {
	setPercent(t, 70)
	restore := CollectAt(nil, 40, 0)
	check.Same(t, 40, percent(), "the percentage")
	restore()
	check.Same(t, 70, percent(), "the percentage afterwards")
	restore = CollectAt([]string{"GOGC=30"}, 40, 1<<30)
	check.Same(t, 70, percent(), "the percentage with GOGC")
	restore()
	check.Same(t, 70, percent(), "the percentage of GOGC afterwards")
}

// A small heap grows by a number of bytes, a large one by the percentage.
func TestCollectAtLeast(t *testing.T) {
	setPercent(t, 70)
	const atLeast = 256 << 20
	restore := CollectAt(nil, 40, atLeast)
	defer restore()
	collected := func(holds func(percent int) bool) func() bool {
		return func() bool {
			runtime.GC()
			return holds(percent())
		}
	}
	check.Await(t, "a growth of more than the double", collected(func(p int) bool { return p > 200 }))
	large := make([]byte, 4*atLeast) // never touched, so that it takes no memory
	check.Await(t, "a growth by 40 %", collected(func(p int) bool { return p == 40 }))
	runtime.KeepAlive(large)
	check.Await(t, "a growth of more than the double", collected(func(p int) bool { return p > 200 }))
}

// A percentage that is set meanwhile stands, until this one is set again. After the end nothing
// changes it.
func TestCollectAtMeanwhile(t *testing.T) {
	setPercent(t, 70)
	restore := CollectAt(nil, 40, 1<<30)
	g := growth{percent: 40, atLeast: 1 << 30, set: 40}
	other := CollectAt(nil, 20, 0)
	check.Same(t, true, g.adjust(), "the growth goes on")
	check.Same(t, 20, percent(), "the percentage of another")
	other()
	check.Await(t, "a growth of more than the double", func() bool {
		runtime.GC()
		return percent() > 200
	})
	restore()
	g.ended = true
	check.Same(t, false, g.adjust(), "the growth goes on")
	check.Same(t, 70, percent(), "the percentage afterwards")
}
