package cli

import (
	"fmt"
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

// A small heap doubles, one of some size grows by the room, and a large one by the percentage.
func TestCollectAtWithRoom(t *testing.T) {
	const room = 256 << 20
	for _, c := range []struct {
		name        string
		live        int // bytes that are never touched, so that they take no memory
		least, most int
	}{
		{"doubles", 0, 100, 100},
		{"by the room", 3 * room / 2, 50, 70}, // steps of an eighth
		{"by the percentage", 4 * room, 40, 40},
	} {
		t.Run(c.name, func(t *testing.T) {
			setPercent(t, 70)
			defer CollectAt(nil, 40, room)()
			held := make([]byte, c.live)
			awaitPercent(t, c.least, c.most)
			runtime.KeepAlive(held)
		})
	}
}

// awaitPercent collects garbage until the percentage is within bounds.
func awaitPercent(t *testing.T, least, most int) {
	t.Helper()
	check.Await(t, fmt.Sprintf("a growth by %d to %d %%", least, most), func() bool {
		runtime.GC()
		return least <= percent() && percent() <= most
	})
}

// A percentage that is set meanwhile stands until this one is set again. After the end nothing
// changes it.
func TestCollectAtMeanwhile(t *testing.T) {
	setPercent(t, 70)
	restore := CollectAt(nil, 40, 1<<30)
	g := growth{percent: 40, room: 1 << 30, set: 40}
	other := CollectAt(nil, 20, 0)
	check.Same(t, true, g.adjust(), "the growth goes on")
	check.Same(t, 20, percent(), "the percentage of another")
	other()
	awaitPercent(t, 100, 100)
	restore()
	g.ended, g.set = true, 70
	check.Same(t, false, g.adjust(), "the growth goes on")
	check.Same(t, 70, percent(), "the percentage afterwards")
}
