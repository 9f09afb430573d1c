package pebble

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/engine"
)

// roomInterval is how often a store that waits for space looks for it.
const roomInterval = time.Second

// OpenOrWait opens a store like [Open]. If the disk is too full for that, it opens the store to
// read, and opens it to write by itself when there is room. Until then Append, Erase and Checkpoint
// return [store.ErrFull], and Stats says why. While it changes over it needs the memory for what
// stands in the engine's log twice.
//
// If the disk fills up while the store is opened to write, it fails ([store.ErrFailed]), and reads
// go on.
func OpenOrWait(ctx context.Context, dir string, opts Options) (store.Checkpointer, error) {
	opts = opts.withDefaults()
	if engine.CanOpen(opts.FS, dir) {
		s, err := Open(ctx, dir, opts)
		if err != nil {
			return nil, err // no nil store in an interface
		}
		return s, nil
	}
	if err := engine.CheckVolume(opts.FS, dir, opts.ReserveBytes); err != nil {
		return nil, fmt.Errorf("opening the store in %q: %w", dir, err)
	}
	e, l, err := openToRead(ctx, dir, opts)
	if err != nil {
		return nil, fmt.Errorf("opening the store in %q to read: %w", dir, err)
	}
	w := &waiting{dir: dir, opts: opts, ended: make(chan struct{})}
	w.refuse(e.NoRoom())
	w.reads = &Store{engine: e, histories: l.histories, reader: l.reader(e)}
	waits, stop := context.WithCancel(context.WithoutCancel(ctx))
	w.stop = stop
	go w.run(waits)
	return w, nil
}

// waiting is a store that is opened to write when there is space for it.
type waiting struct {
	dir   string
	opts  Options
	reads *Store                // only reads; closed when whole is set
	whole atomic.Pointer[Store] // nil: not yet
	why   atomic.Pointer[error] // it cannot be written to; an ErrFailed: and never will be
	stop  context.CancelFunc
	ended chan struct{} // closed when nobody waits for space any more
}

// run waits for space and opens the store to write.
func (w *waiting) run(ctx context.Context) {
	defer close(w.ended)
	tick := time.NewTicker(w.opts.roomEvery)
	defer tick.Stop()
	for !engine.CanOpen(w.opts.FS, w.dir) {
		w.refuse(w.reads.engine.NoRoom())
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
	s, err := w.open(ctx)
	switch {
	case err == nil:
		w.whole.Store(s)
		_ = w.reads.closeReading() // nothing of it is needed any more
		s.engine.Alone()
	case ctx.Err() == nil:
		w.fail(err)
	}
}

func (w *waiting) open(ctx context.Context) (*Store, error) {
	e, err := w.reads.engine.Successor(ctx)
	if err != nil {
		return nil, err
	}
	return start(ctx, e, w.opts)
}

// fail notes that the store cannot be opened to write by this process any more.
func (w *waiting) fail(err error) {
	if errors.Is(err, store.ErrFailed) { // reported by the engine
		w.refuse(err)
		return
	}
	err = fmt.Errorf("%w: %w", store.ErrFailed, err)
	w.refuse(err)
	w.opts.Events.Failed(err)
}

// closeReading closes a store that only reads, and drops what it has in memory.
func (s *Store) closeReading() error {
	if err := s.calls.Close(); err != nil {
		return err
	}
	s.calls.Wait()
	e := s.engine
	s.engine, s.histories, s.reader = nil, nil, reader{} // every later call finds it closed
	return e.Close(false)
}

// refuse notes why writes are refused.
func (w *waiting) refuse(err error) { w.why.Store(&err) }

// refused is the error of a write.
func (w *waiting) refused(ctx context.Context) error {
	if err := w.reads.calls.Begin(ctx); err != nil {
		return err
	}
	w.reads.calls.Done()
	return *w.why.Load()
}

// write calls fn with the store, once it can be written to.
func (w *waiting) write(ctx context.Context, fn func(*Store) error) error {
	if s := w.whole.Load(); s != nil {
		return fn(s)
	}
	err := w.refused(ctx)
	if s := w.whole.Load(); s != nil { // it has just been opened
		return fn(s)
	}
	return err
}

// read calls fn with the store to read from. A store that is closed because of the other one has
// not begun to answer.
func (w *waiting) read(fn func(*Store) error) error {
	if s := w.whole.Load(); s != nil {
		return fn(s)
	}
	err := fn(w.reads)
	if s := w.whole.Load(); s != nil && errors.Is(err, store.ErrClosed) {
		return fn(s)
	}
	return err
}

// Append implements [store.Store].
func (w *waiting) Append(
	ctx context.Context, records []store.Record,
) (results []store.Result, err error) {
	err = w.write(ctx, func(s *Store) error { results, err = s.Append(ctx, records); return err })
	return results, err
}

// Erase implements [store.Store], but for a full disk, which refuses it too.
func (w *waiting) Erase(ctx context.Context, user string) (n uint64, err error) {
	err = w.write(ctx, func(s *Store) error { n, err = s.Erase(ctx, user); return err })
	return n, err
}

// Rewrite implements [store.Store].
func (w *waiting) Rewrite(
	ctx context.Context, users []string, fn func([][]store.Event) [][]store.Event,
) (versions []store.Version, err error) {
	err = w.write(ctx, func(s *Store) error {
		versions, err = s.Rewrite(ctx, users, fn)
		return err
	})
	return versions, err
}

// Forgotten implements [store.Forgetter].
func (w *waiting) Forgotten(ctx context.Context) error {
	return w.write(ctx, func(s *Store) error { return s.Forgotten(ctx) })
}

// Checkpoint implements [store.Checkpointer].
func (w *waiting) Checkpoint(ctx context.Context) (dir string, err error) {
	err = w.write(ctx, func(s *Store) error { dir, err = s.Checkpoint(ctx); return err })
	return dir, err
}

// RemoveCheckpoint implements [store.Checkpointer].
func (w *waiting) RemoveCheckpoint(ctx context.Context, dir string) error {
	return w.write(ctx, func(s *Store) error { return s.RemoveCheckpoint(ctx, dir) })
}

// Each implements [store.Store].
func (w *waiting) Each(
	ctx context.Context, shard, of int, fn func(user string, head store.Version) error,
) error {
	return w.read(func(s *Store) error { return s.Each(ctx, shard, of, fn) })
}

// Since implements [store.Store].
func (w *waiting) Since(
	ctx context.Context, user string, known store.Version,
	fn func(store.Version, store.Event) error,
) (head store.Version, same bool, err error) {
	err = w.read(func(s *Store) error {
		head, same, err = s.Since(ctx, user, known, fn)
		return err
	})
	return head, same, err
}

// Identity implements [store.Store].
func (w *waiting) Identity() store.Identity {
	if s := w.whole.Load(); s != nil {
		return s.Identity()
	}
	return w.reads.Identity()
}

// Stats implements [store.Store].
func (w *waiting) Stats(ctx context.Context) (stats store.Stats, err error) {
	err = w.read(func(s *Store) error { stats, err = s.Stats(ctx); return err })
	if err == nil && w.whole.Load() == nil {
		if stats.Refusal = *w.why.Load(); errors.Is(stats.Refusal, store.ErrFailed) {
			return store.Stats{}, stats.Refusal
		}
	}
	return stats, err
}

// Close implements [store.Store].
func (w *waiting) Close() error {
	w.stop()
	<-w.ended
	if s := w.whole.Load(); s != nil {
		return s.Close()
	}
	return w.reads.closeReading()
}
