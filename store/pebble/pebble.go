// Package pebble keeps user histories on disk, in the log-structured storage engine Pebble.
//
// # Promises
//
// An Append that returned nil survives the end of the process and the loss of power, if the disk keeps what it has
// synced. Calls that run at the same time share a sync. What does not fit in memory stays on disk: memory use is bounded
// by three times Options.CacheBytes plus a constant, whatever the number of users and events. (The constant is large when each
// event in the journal is of another user: some 400 bytes for each such user, until the journal has been sorted.)
//
// # How a write goes
//
// Callers look their users up in memory, and read those who are not there. Then they queue up, and one goroutine, the committer,
// decides in which order: it tells new events from known ones, and puts the new ones of all callers into a row of the journal,
// which becomes durable with one sync. Until they are sorted, readers find these events in memory. The sorter
// moves them to the rows of their users when there are many.
//
// Damage and lack of space become errors and never end the process. When the engine can no longer write its log or finds
// a damaged file, the store fails: every later write returns store.ErrFailed together with the cause, while reads go on
// as far as they can. A failed store is to be opened again in a new process. A mere lack of free space is noticed earlier (see
// Options.ReserveBytes) and is over as soon as there is space again.
//
// # Limits
//
// To tell whether an event is new, the ids of all events of its user must be in memory: those of a user who has not written
// for a while are read from the rows, which takes some ten nanoseconds for each event of the history.
//
// One process at a time can open a store. Damage to files of a store that was closed properly is noticed, at the latest
// when the data is needed. After a crash, damage to the end of the newest log or to the engine's list of tables cannot be
// told from a write that the crash cut off; the events in what is cut off are then lost without notice. Tables are always
// checked. A damaged row of the journal holds events of many users, so the store is not opened with one.
//
// Erased rows are invisible at once and leave the files when the engine compacts the tables they are in, those of the journal
// after it has been sorted, for which an erasure gives ten seconds while the store is open;
// the user id may stay longer in the engine's list of tables, until that has been rewritten twice: every 256 KiB of
// changes, and at each opening.
package pebble

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/store"
)

// formatNumber is the format of keys and values that this program reads and writes.
const formatNumber = 2

// Store is a store.Store on disk. Use Open.
type Store struct {
	opts      Options
	dir       string
	fs        vfs.FS
	engineFS  vfs.FS // fs as the engine sees it
	fsWatch   io.Closer
	lock      io.Closer
	db        *lsm.DB
	histories *histories
	space     *spaceGuard
	failure   failure
	abandoned atomic.Bool // the engine failed and did not close

	checkpoints checkpoints
	logs        sync.Map // name to *logFile, of those being written

	queue     queue
	toSync    chan unsynced
	journal   *writer // of the committer
	gens      generations
	filling   atomic.Int32  // parity of the generation that is being filled
	rows      chan struct{} // holds a token while rows are written; see lockRows
	sorted    chan struct{} // told when a generation has been sorted
	sorting   bool          // of the committer: a generation is being sorted
	sortDue   atomic.Bool   // sort even if there is little
	sortTimer atomic.Bool   // sortDue will be set

	mu      sync.Mutex
	closed  bool
	calls   sync.WaitGroup // calls under way
	workers sync.WaitGroup // the committer, the sorter and what waits for the disk
}

var _ store.Store = (*Store)(nil)

// Open opens the store in the directory, creating both if there is nothing. It refuses a directory that holds something
// else, that another process has open, or whose store has another format. The error wraps store.ErrCorrupt or store.ErrFull
// if that is the cause. The end of the context ends the opening.
func Open(ctx context.Context, dir string, opts Options) (*Store, error) {
	s := newStore(dir, opts)
	if err := s.open(ctx, dir); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the store in %q: %w", dir, err), s.fsWatch.Close())
	}
	return s, nil
}

// newStore returns a store that is not open yet; its fsWatch must be closed.
func newStore(dir string, opts Options) *Store {
	opts = opts.withDefaults()
	s := &Store{
		opts:      opts,
		dir:       dir,
		fs:        opts.FS,
		histories: newHistories(2 * opts.CacheBytes),
		space:     &spaceGuard{fs: opts.FS, dir: dir, reserve: opts.ReserveBytes},
		failure:   failure{ch: make(chan struct{})},
		queue:     queue{wake: make(chan struct{}, 1)},
		toSync:    make(chan unsynced),
		rows:      make(chan struct{}, 1),
		sorted:    make(chan struct{}, 1),
	}
	s.engineFS, s.fsWatch = s.wrapFS(opts.FS)
	return s
}

func (s *Store) open(ctx context.Context, dir string) (err error) {
	if err := makeDir(s.fs, dir); err != nil {
		return err
	}
	if _, err := inspectDir(s.fs, dir); err != nil {
		return err // before a lock file is put into somebody else's directory
	}
	if s.lock, err = lockDir(s.fs, dir); err != nil {
		return err
	}
	if err := s.openLocked(ctx, dir); err != nil {
		return errors.Join(err, s.lock.Close())
	}
	return nil
}

func (s *Store) openLocked(ctx context.Context, dir string) (err error) {
	state, err := inspectDir(s.fs, dir)
	if err != nil {
		return err
	}
	if state != dirStore {
		if err := s.create(dir); err != nil {
			return err
		}
	}
	if err := s.removeOldCheckpoints(); err != nil {
		return err
	}
	if err := breakSeal(s.fs, dir); err != nil {
		return err
	}
	opts := s.engineOptions()
	opts.ErrorIfNotExists = true
	if s.db, err = s.openEngine(s.fs.PathJoin(dir, dataName), opts); err != nil {
		return err
	}
	if err := s.checkFormat(); err != nil {
		return errors.Join(err, s.closeEngine(s.db))
	}
	if err := s.replay(ctx); err != nil {
		return errors.Join(err, s.closeEngine(s.db))
	}
	s.workers.Go((&committer{Store: s}).run)
	s.workers.Go(s.sync)
	return nil
}

// create makes a new, empty store in the directory. The engine's files appear under their name only when complete, and
// the log that is in use from then on was begun in the engine's newest format, which protects it best.
func (s *Store) create(dir string) error {
	creating := s.fs.PathJoin(dir, creatingName)
	if err := s.fs.RemoveAll(creating); err != nil {
		return fmt.Errorf("removing the rest of an interrupted creation: %w", err)
	}
	opts := s.engineOptions()
	opts.ErrorIfExists = true
	opts.EventListener.BackgroundError = s.fail // the flush below would wait for ever for space
	db, err := s.openEngine(creating, opts)
	if err != nil {
		return err
	}
	err = s.guarded(func() error {
		if err := db.Set(formatKey, encodeNumber(nil, formatKey, formatNumber), lsm.Sync); err != nil {
			return err
		}
		return db.Flush()
	})
	if closeErr := s.closeEngine(db); err == nil {
		err = closeErr
	}
	if reason := s.failure.err(); reason != nil {
		err = reason
	}
	if err != nil {
		return err
	}
	if err := s.fs.Rename(creating, s.fs.PathJoin(dir, dataName)); err != nil {
		return err
	}
	return syncDir(s.fs, dir)
}

func (s *Store) openEngine(dir string, opts *lsm.Options) (*lsm.DB, error) {
	opened := make(chan *lsm.DB, 1)
	err := s.guarded(func() error {
		db, err := lsm.Open(dir, opts)
		if err != nil {
			return describe(err)
		}
		opened <- db
		return nil
	})
	if err != nil {
		return nil, err
	}
	return <-opened, nil
}

// guarded runs a function of the engine that writes. It does not wait for its end if the store fails, for there may be none.
func (s *Store) guarded(fn func() error) error {
	done := make(chan error, 1)
	go func() { done <- safely(fn) }()
	select {
	case err := <-done:
		return err
	case <-s.failure.ch:
		return s.failure.reason
	}
}

// checkFormat refuses a store whose rows this program cannot read.
func (s *Store) checkFormat() error {
	value, closer, err := s.db.Get(formatKey)
	switch {
	case errors.Is(err, lsm.ErrNotFound):
		return fmt.Errorf("%w: the format number is missing: restore the store from a backup", store.ErrCorrupt)
	case err != nil:
		return readError(err)
	}
	defer func() { _ = closer.Close() }() // it only releases memory
	n, err := decodeNumber(formatKey, value)
	switch {
	case err != nil:
		return fmt.Errorf("format number: %w", err)
	case n != formatNumber:
		return fmt.Errorf("the store has format %d, this program knows format %d: use the version of the program that wrote it", n, formatNumber)
	}
	return nil
}

// enter begins a call. Each nil must be followed by s.calls.Done().
func (s *Store) enter(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.calls.Add(1)
	return nil
}

// Stats implements store.Store. The number of users is not known without a scan. A failed store says so here too.
func (s *Store) Stats(ctx context.Context) (store.Stats, error) {
	if err := s.enter(ctx); err != nil {
		return store.Stats{}, err
	}
	defer s.calls.Done()
	if err := s.failure.err(); err != nil {
		return store.Stats{}, err
	}
	return store.Stats{Users: -1, Bytes: int64(s.db.Metrics().DiskSpaceUsage())}, nil
}

// closePatience is how long closing waits for an engine that has failed and may never finish. Tests shorten it.
var closePatience = 5 * time.Second

// Close implements store.Store. It returns an error if the store has failed, because then the last writes may be lost.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return store.ErrClosed
	}
	s.closed = true
	s.mu.Unlock()

	s.calls.Wait()
	s.queue.close()
	s.awaitWorkers()
	err := s.closeEngine(s.db)
	if errors.Is(err, errNotClosed) {
		return errors.Join(s.failure.err(), err) // keep others out of the directory until the process ends
	}
	if failed := s.failure.err(); failed != nil {
		err = failed // closing a failed engine ends in consequential errors
	}
	if err == nil {
		_ = writeSeal(s.fs, s.dir) // without a seal the next opening is not checked, and that is all
	}
	return errors.Join(err, s.lock.Close(), s.fsWatch.Close())
}

// awaitWorkers waits for the goroutines of the store; in a failed store some may never end.
func (s *Store) awaitWorkers() {
	done := make(chan struct{})
	go func() {
		s.workers.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-s.failure.ch:
		select {
		case <-done:
		case <-time.After(closePatience / 10):
		}
	}
}

// errNotClosed is the error of closing an engine that does not react any more.
var errNotClosed = errors.New("the failed storage engine did not close: end the process")

// closeEngine closes the engine. In a failed store that may never end, so the waiting does.
func (s *Store) closeEngine(db *lsm.DB) error {
	done := make(chan error, 1)
	go func() { done <- safely(db.Close) }()
	select {
	case err := <-done:
		return err
	case <-s.failure.ch:
	}
	select {
	case err := <-done:
		return err
	case <-time.After(closePatience):
		s.abandoned.Store(true)
		return errNotClosed
	}
}
