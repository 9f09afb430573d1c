package pebble

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/store"
)

// failure is the state of a store that takes no more writes. It is entered once and never left.
type failure struct {
	once   sync.Once
	ch     chan struct{} // closed when failed
	reason error         // set before ch is closed; wraps store.ErrFailed and, where known, the kind of the cause
}

// err returns the reason if the store has failed.
func (f *failure) err() error {
	select {
	case <-f.ch:
		return f.reason
	default:
		return nil
	}
}

// fail puts the store into the failed state because of an error of the engine.
func (s *Store) fail(cause error) { s.failWith(describe(cause)) }

// failWith puts the store into the failed state. The engine may call it while holding its locks, so it does not block.
func (s *Store) failWith(reason error) {
	s.failure.once.Do(func() {
		s.failure.reason = fmt.Errorf("%w: %w", store.ErrFailed, reason)
		close(s.failure.ch)
		go s.opts.Events.Failed(s.failure.reason)
	})
}

// describe gives the kind of an error of the engine and says what to do about it.
func describe(err error) error {
	switch {
	case vfs.IsNoSpaceError(err):
		return fmt.Errorf("%w: free some space and restart: %w", store.ErrFull, err)
	case lsm.IsCorruptionError(err): // its text may contain keys
		return fmt.Errorf("%w: a file of the store is damaged: restore the store from a backup", store.ErrCorrupt)
	default:
		return fmt.Errorf("check the disk and restart: %w", err)
	}
}

// outcomeOpen is the error of a write that was under way when the store failed. It hides the kind of the reason, because
// that would tell the caller that nothing was applied.
func outcomeOpen(reason error) error {
	return fmt.Errorf("%w while the write was under way; the outcome is open, the call may be repeated: %v", store.ErrFailed, reason) //nolint:errorlint // see above
}

// readError is the error of a read that the engine ended.
func readError(err error) error {
	if lsm.IsCorruptionError(err) { // its text may contain keys
		return fmt.Errorf("%w: a file of the store is damaged", store.ErrCorrupt)
	}
	return fmt.Errorf("reading a history: %w", err)
}

// safely turns a panic of the engine into an error.
func safely(fn func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("storage engine: %v", r)
		}
	}()
	return fn()
}

// logger is what the engine logs to. Its messages may contain keys, which contain user ids, so none is passed on.
type logger struct{ s *Store }

func (logger) Infof(string, ...any)  {}
func (logger) Errorf(string, ...any) {}

// Fatalf is called by the engine when it cannot go on; by default that ends the process. Here it ends the writes.
func (l logger) Fatalf(format string, args ...any) {
	for _, a := range args {
		if err, ok := a.(error); ok {
			// A failed write of the manifest, for example. The engine passes the error on when Fatalf returns.
			l.s.fail(err)
			return
		}
	}
	// The engine contradicts itself. Whatever this goroutine would do next could damage data, so it stops here.
	l.s.fail(errors.New("internal error of the storage engine: " + format))
	select {}
}

// listener makes errors of background work, damage and slowness known.
func (s *Store) listener() *lsm.EventListener {
	var stallBegan atomic.Int64
	return &lsm.EventListener{
		BackgroundError: func(err error) {
			if vfs.IsNoSpaceError(err) {
				s.space.exhausted()
				return
			}
			s.fail(err)
		},
		DataCorruption: func(info lsm.DataCorruptionInfo) {
			// info.Details contains keys.
			s.failWith(fmt.Errorf("%w: file %s is damaged: restore the store from a backup", store.ErrCorrupt, info.Path))
		},
		WriteStallBegin: func(lsm.WriteStallBeginInfo) { stallBegan.Store(time.Now().UnixNano()) },
		WriteStallEnd: func() {
			s.opts.Events.Slow("write stall", time.Duration(time.Now().UnixNano()-stallBegan.Load()))
		},
	}
}
