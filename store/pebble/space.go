package pebble

import (
	"fmt"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/store"
)

// spaceInterval is how long a look at the free disk space is good for.
const spaceInterval = time.Second

// spaceGuard refuses writes while there is little disk space left. It recovers by itself.
type spaceGuard struct {
	fs      vfs.FS
	dir     string
	reserve int64 // negative: none

	mu      sync.Mutex
	checked time.Time // of the last look
	written int64     // admitted since
	reason  string    // why writes are refused, "" if they are not
}

// admit counts bytes that are about to be written, or returns an error that wraps store.ErrFull.
func (g *spaceGuard) admit(bytes int64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.written += bytes
	if now := time.Now(); now.Sub(g.checked) >= spaceInterval || g.reserve > 0 && g.written > g.reserve/16 {
		g.checked, g.written = now, 0
		g.reason = g.look()
	}
	if g.reason != "" {
		return fmt.Errorf("%w: %s; writes resume by themselves when there is room", store.ErrFull, g.reason)
	}
	return nil
}

// look returns why there is too little space, or "". A file system that cannot say how full it is counts as roomy: a write
// that fails for lack of space is still noticed.
func (g *spaceGuard) look() string {
	if g.reserve < 0 {
		return ""
	}
	usage, err := g.fs.GetDiskUsage(g.dir)
	if err != nil || usage.AvailBytes >= uint64(g.reserve) {
		return ""
	}
	return fmt.Sprintf("%d MiB are free, %d MiB are kept in reserve", usage.AvailBytes>>20, g.reserve>>20)
}

// exhausted notes that the engine could not write a table for lack of space; it tries again.
func (g *spaceGuard) exhausted() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.checked, g.reason = time.Now(), "a table could not be written for lack of space"
}

// full reports whether writes were refused at the last look.
func (g *spaceGuard) full() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.reason != "" && time.Since(g.checked) < 2*spaceInterval
}
