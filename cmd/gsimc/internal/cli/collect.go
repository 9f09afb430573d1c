package cli

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// CollectAt lets the heap grow by a percentage of what is live before garbage is collected. A small
// heap grows by more: by room, but at most to the double. The function that is returned sets the
// percentage of before. GOGC, if set, stands. A percentage that is set meanwhile stands until this
// one is set again.
func CollectAt(env []string, percent int, room ByteSize) (restore func()) {
	if _, given := Variable(env, "GOGC"); given {
		return func() {}
	}
	before := debug.SetGCPercent(percent)
	g := &growth{percent: percent, room: int64(room), set: percent}
	if room > 0 {
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
	room    int64

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

const (
	// steps is the part of a percentage by which it has to change: a change stops the world.
	steps = 8
	// maxPercent is Go's own. A heap that has become much larger grows by the percentage of the
	// small one until that is adjusted, which may take as long as the next collection.
	maxPercent = 100
)

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
	want := max(g.percent, int(min(g.room*100/max(live, 1), maxPercent)))
	if now == g.set && max(want-now, now-want) > now/steps {
		g.set = want
		debug.SetGCPercent(want)
	}
	return true
}
