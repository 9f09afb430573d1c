package engine

import (
	"context"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/store"
)

// CanOpen reports whether there is space for the opening of the engine in a directory, which writes
// tables of all that stands in its log. It is true if there is no engine, and if the file system
// cannot say how full it is.
func CanOpen(fs vfs.FS, dir string) bool {
	if state, err := inspectDir(fs, dir); err != nil || state != dirStore {
		return true // opening says what is wrong
	}
	usage, err := fs.GetDiskUsage(dir)
	return err != nil || usage.AvailBytes >= uint64(openingBytes(fs, dir))
}

// Successor opens the engine of the directory to write, while this one reads in it and goes on if
// there is an error. The two share the lock of the directory. No table is removed until the
// successor is told of the end of this one by [Engine.Alone].
func (e *Engine) Successor(ctx context.Context) (*Engine, error) {
	n := newEngine(e.dir, e.opts)
	n.lock, n.held.holding = e.lock.share(), true
	return open(ctx, n, func(n *Engine) error { return n.locked(n.openLocked) })
}

// Alone says that the engine before this one has been closed. It removes the tables that were kept
// for it.
func (e *Engine) Alone() {
	for _, name := range e.held.end() {
		_ = e.watched.Remove(name) // the next opening removes what stays
	}
}

// held are tables of no use to an engine, which stay because the one before it reads them.
type held struct {
	mu      sync.Mutex
	holding bool
	names   []string
}

// hold keeps a table, if that is necessary.
func (h *held) hold(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.holding {
		h.names = append(h.names, name)
	}
	return h.holding
}

// end returns the tables that have been kept, and keeps no others.
func (h *held) end() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	names := h.names
	h.holding, h.names = false, nil
	return names
}

// NoRoom is the error of a write while there is no space to open the engine for it.
func (e *Engine) NoRoom() error {
	free, missing := e.space.missing(openingBytes(e.fs, e.dir))
	return fmt.Errorf("%w: %d MiB are free, too little to open the store for writing: free %d MiB "+
		"more on the disk of %q; writes resume by themselves when there is room", store.ErrFull,
		free>>20, max(missing, 0)>>20+1, e.dir)
}
