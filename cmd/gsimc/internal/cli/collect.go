package cli

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// CollectAt lets the heap grow by a percentage of what is live before garbage is collected, or by
// atLeast if that is more, and returns a function that sets the percentage of before. GOGC, if set,
// stands. A percentage that is set meanwhile stands until this one is set again.
func CollectAt(env []string, percent int, atLeast ByteSize) (restore func()) {
	if _, given := Variable(env, "GOGC"); given {
		return func() {}
	}
	before := debug.SetGCPercent(percent)
	g := &growth{percent: percent, atLeast: int64(atLeast), set: percent}
	if atLeast > 0 {
		g.follow()
	}
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.ended = true
		debug.SetGCPercent(before)
	}
}

// growth keeps the growth of the heap at a percentage or at a number of bytes.
type growth struct {
	percent int
	atLeast int64

	mu    sync.Mutex
	set   int // the percentage
	ended bool
}

// follow adjusts the percentage after each collection: that is when the runtime finds an object
// that nobody holds.
func (g *growth) follow() {
	unheld := &struct{ *growth }{g}
	runtime.AddCleanup(unheld, func(g *growth) {
		if g.adjust() {
			g.follow()
		}
	}, g)
}

// steps is the part of a percentage by which it has to change: a change stops the world.
const steps = 8

// adjust sets the percentage for the bytes that the last collection found live. It reports whether
// the growth has not ended.
func (g *growth) adjust() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended {
		return false
	}
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/gogc:percent"}}
	metrics.Read(s)
	live, now := int64(s[0].Value.Uint64()), int(s[1].Value.Uint64())
	want := max(g.percent, int(g.atLeast*100/max(live, 1<<20)))
	if now == g.set && max(want-now, now-want) > now/steps {
		g.set = want
		debug.SetGCPercent(want)
	}
	return true
}
