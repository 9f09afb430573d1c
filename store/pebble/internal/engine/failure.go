package engine

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/gsimc/gsimc/store"
)

// failure is the state of an engine that takes no more writes. It is entered once and never left.
type failure struct {
	once   sync.Once
	ch     chan struct{} // closed when failed
	reason error         // set before ch is closed; see Err
}

// Failed returns a channel that is closed when the engine fails.
func (e *Engine) Failed() <-chan struct{} { return e.failure.ch }

// Err returns why the engine has failed, or nil. The error wraps [store.ErrFailed] and, where
// known, the kind of the cause.
func (e *Engine) Err() error {
	select {
	case <-e.failure.ch:
		return e.failure.reason
	default:
		return nil
	}
}

// Fail makes the engine fail because of an error of one of its functions.
func (e *Engine) Fail(cause error) { e.failWith(describe(cause)) }

// failWith makes the engine fail. Pebble may call it while it holds its locks, so it does not
// block.
func (e *Engine) failWith(reason error) {
	e.failure.once.Do(func() {
		e.failure.reason = fmt.Errorf("%w: %w", store.ErrFailed, reason)
		close(e.failure.ch)
		go e.opts.Failed(e.failure.reason)
	})
}

// describe gives the kind of an error of Pebble and a way out.
func describe(err error) error {
	switch {
	case lackOfSpace(err):
		return fmt.Errorf("%w: free some space and restart: %w", store.ErrFull, err)
	case lackOfFiles(err):
		return fmt.Errorf("raise the limit of open files (ulimit -n) and restart: %w", err)
	case lsm.IsCorruptionError(err): // its text may contain keys
		return fmt.Errorf("%w: a file of the store is damaged: restore the store from a backup",
			store.ErrCorrupt)
	default:
		return fmt.Errorf("check the disk and restart: %w", err)
	}
}

// OutcomeOpen is the error of a write that was under way when the engine failed. It hides the kind
// of the reason, because the kind would tell the caller that nothing was applied.
func OutcomeOpen(reason error) error {
	//nolint:errorlint // see above
	return fmt.Errorf("%w while the write was under way; the outcome is open, the call may be "+
		"repeated: %v",
		store.ErrFailed, reason)
}

// ReadError is the error of a read that Pebble ended.
func ReadError(err error) error {
	if lsm.IsCorruptionError(err) { // its text may contain keys
		return fmt.Errorf("%w: a file of the store is damaged", store.ErrCorrupt)
	}
	return fmt.Errorf("reading a history: %w", err)
}

// Safely calls a function of Pebble and turns its panic into an error.
func Safely(fn func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("storage engine: %v", r)
		}
	}()
	return fn()
}

// logger is the logger of Pebble. Its messages may contain keys, which contain user ids, so none is
// passed on.
type logger struct{ e *Engine }

func (logger) Infof(string, ...any)  {}
func (logger) Errorf(string, ...any) {}

// Fatalf is called by Pebble when it cannot go on. By default that ends the process; here it ends
// the writes.
func (l logger) Fatalf(format string, args ...any) {
	for _, a := range args {
		if err, ok := a.(error); ok {
			// A failed write of the manifest, for example. Pebble passes the error on when Fatalf
			// returns.
			l.e.Fail(err)
			return
		}
	}
	// Pebble contradicts itself. This goroutine could damage data if it went on, so it stops here.
	l.e.Fail(errors.New("internal error of the storage engine: " + format))
	select {}
}

// listener makes errors of background work, damage and slowness known.
func (e *Engine) listener() *lsm.EventListener {
	var stallBegan atomic.Int64
	return &lsm.EventListener{
		BackgroundError: func(err error) {
			if what := shortage(err); what != "" && !e.life.opening.Load() {
				e.space.exhausted("a table could not be written: " + what)
				return
			}
			if lsm.ExtractDataCorruptionInfo(err) != nil {
				return // a compaction that met a damaged table, which was noted
			}
			e.Fail(err)
		},
		DataCorruption:  e.damagedRead,
		WriteStallBegin: func(lsm.WriteStallBeginInfo) { stallBegan.Store(time.Now().UnixNano()) },
		WriteStallEnd: func() {
			e.opts.Slow("write stall", time.Duration(time.Now().UnixNano()-stallBegan.Load()))
		},
	}
}
