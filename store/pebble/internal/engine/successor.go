package engine

import (
	"context"
	"fmt"

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

// Successor opens the engine of the directory to write, while this one reads in it. On success it
// has taken over the directory, and this one is to be closed soon: until then no table is removed.
func (e *Engine) Successor(ctx context.Context) (*Engine, error) {
	n := newEngine(e.dir, e.opts)
	n.lock, n.waitFor = unlocked{}, e.readers
	n, err := open(ctx, n, (*Engine).openLocked)
	if err != nil {
		return nil, err
	}
	n.lock, e.lock = e.lock, unlocked{}
	return n, nil
}

// NoRoom is the error of a write while there is no space to open the engine for it.
func (e *Engine) NoRoom() error {
	free, missing := e.space.missing(openingBytes(e.fs, e.dir))
	return fmt.Errorf("%w: %d MiB are free, too little to open the store for writing: free %d MiB "+
		"more on the disk of %q; writes resume by themselves when there is room", store.ErrFull,
		free>>20, max(missing, 0)>>20+1, e.dir)
}
