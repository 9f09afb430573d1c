package pebble

import (
	"fmt"
	"sync"
	"time"

	"github.com/gsimc/gsimc/store"
)

// stallAfter is how long no commit may become durable, while one waits, until the disk counts as
// hanging.
const stallAfter = 10 * time.Second

// watchdog notes since when the disk owes an answer to commits.
type watchdog struct {
	after time.Duration

	mu      sync.Mutex
	waiting int       // commits that are not durable yet
	since   time.Time // the last became durable, or the first of these began
}

// begin notes that a commit begins.
func (w *watchdog) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting == 0 {
		w.since = time.Now()
	}
	w.waiting++
}

// end notes that a commit is durable, or will never be.
func (w *watchdog) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting--
	w.since = time.Now()
}

// stalled returns an error that wraps [store.ErrStalled] if the disk hangs.
func (w *watchdog) stalled() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	waited := time.Since(w.since)
	if w.waiting == 0 || waited < w.after {
		return nil
	}
	return fmt.Errorf("%w: no write has become durable for %s; writes go on by themselves when it "+
		"answers", store.ErrStalled, waited.Truncate(time.Second))
}
