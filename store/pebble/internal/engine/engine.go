// Package engine makes the storage engine Pebble safe for a service. It knows folders, files,
// failure and free space, and nothing of the rows.
//
// # Promises
//
// Damage, errors of the disk and lack of space become errors. They neither end the process nor keep
// a caller waiting for ever. An engine that cannot go on fails: [Engine.Err] says why, and
// [Engine.Failed] is closed. Reads go on as far as they can. A failed engine is to be opened again
// in a new process.
//
// A damaged block of a table is an error of those who read it, and of nobody else: see
// [Engine.Damage].
//
// Lack of space is noticed before it does harm, by [Engine.Admit], and is over when there is space
// again. So it is where a write meets it, which waits: see [Engine.Stuck]. While an engine is
// opened there is no such remedy: it must write tables, so it fails. [CanOpen] tells beforehand,
// and an engine that was opened to read has a [Engine.Successor].
//
// # Conventions
//
// A function of the engine that writes, and that may meet a failed disk, is called by [Engine.Do]
// or [Safely]. Errors contain no keys.
package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/mark"
	"github.com/gsimc/gsimc/store/pebble/internal/smallfile"
)

// An Engine is an open engine in a folder that no other process has open. Use [Open].
type Engine struct {
	// DB is the engine itself.
	DB *lsm.DB

	opts    Options
	dir     string
	fs      vfs.FS
	watched watchedFS // fs, as the engine sees it
	lock    *sharedLock

	space    spaceGuard
	size     size
	failure  failure
	damage   damage
	stuck    stuck
	life     life
	copies   copies
	marked   *mark.Mark   // as found at the opening; nil: there was none
	unsealed bool         // the files differed from the seal, which was accepted
	keeper   *mark.Keeper // nil: the mark is not kept, or not yet
	logs     sync.Map     // name to *logFile, of the logs that are being written

	reads bool // it only reads
	held  held // tables that the engine before this one reads
}

// life says how far an engine has come.
type life struct {
	opening   atomic.Bool
	ending    atomic.Bool // it is being closed
	tables    atomic.Bool // a table has been written
	abandoned atomic.Bool // the engine failed, or its opening was given up, and it did not end
}

func newEngine(dir string, opts Options) *Engine {
	e := &Engine{
		opts:    opts,
		dir:     dir,
		fs:      opts.FS,
		space:   spaceGuard{fs: opts.FS, dir: dir, reserve: opts.ReserveBytes},
		failure: failure{ch: make(chan struct{})},
	}
	e.watched = e.watch(opts.FS)
	return e
}

// Open opens the engine in the directory, creating both if there is nothing. It refuses a directory
// that holds something else, that another process has open ([ErrInUse]), or in which files have
// changed since the engine was closed. The caller is to compare the rows with the mark, see
// [Engine.CheckMark] and [Engine.KeepMark]. The error wraps [store.ErrCorrupt] or [store.ErrFull]
// if that is the cause.
//
// The end of the context ends the opening. If the disk does not answer, or is full, the directory
// may stay locked until the process ends.
func Open(ctx context.Context, dir string, opts Options) (*Engine, error) {
	return open(ctx, newEngine(dir, opts), (*Engine).open)
}

// OpenReadOnly opens an existing engine to read it. Nothing in the directory is changed, the seal
// included, but for an empty lock file.
func OpenReadOnly(ctx context.Context, dir string, opts Options) (*Engine, error) {
	return open(ctx, newEngine(dir, opts), (*Engine).openReadOnly)
}

// open calls how, which may hang on a disk that does not answer.
func open(ctx context.Context, e *Engine, how func(*Engine) error) (*Engine, error) {
	if err := ctx.Err(); err != nil {
		return nil, errors.Join(err, e.watched.Close(), e.unlock())
	}
	e.life.opening.Store(true)
	opened := make(chan error, 1)
	go func() { opened <- how(e) }()
	select {
	case err := <-opened:
		e.life.opening.Store(false)
		if err != nil {
			return nil, errors.Join(e.explain(err), e.watched.Close())
		}
		if reason := e.Err(); reason != nil { // background work has failed since
			_ = e.Close(false)
			return nil, e.explain(reason)
		}
		return e, nil
	case <-ctx.Done():
		e.life.abandoned.Store(true)
		go func() {
			if <-opened == nil {
				_ = e.Close(true)
			} else {
				_ = e.watched.Close()
			}
		}()
		return nil, ctx.Err()
	}
}

func (e *Engine) open() error {
	if err := smallfile.MakeDir(e.fs, e.dir); err != nil {
		return err
	}
	if _, err := inspectDir(e.fs, e.dir); err != nil {
		return err // before a lock file is put into a foreign directory
	}
	if err := CheckVolume(e.fs, e.dir, e.opts.ReserveBytes); err != nil {
		return err
	}
	return e.locked(e.openLocked)
}

func (e *Engine) openReadOnly() error {
	if _, err := e.fs.Stat(e.dir); err != nil {
		return err
	}
	state, err := inspectDir(e.fs, e.dir)
	if err != nil {
		return err
	}
	if state != dirStore {
		return fmt.Errorf("there is no store in the directory (no %q in it): give the data folder "+
			"of a server",
			DataName)
	}
	return e.locked(e.openLockedReadOnly)
}

// locked locks the directory, unless it shares a lock, and calls fn. If fn returns an error, it
// unlocks the directory.
func (e *Engine) locked(fn func() error) error {
	if e.lock == nil {
		lock, err := lockDir(e.fs, e.dir)
		if err != nil {
			return err
		}
		e.lock = newSharedLock(lock)
	}
	err := fn()
	if err == nil {
		return nil
	}
	_ = e.end(func() error { e.damage.noting.Wait(); return nil })
	if e.life.abandoned.Load() {
		return err // an engine that did not end may still write
	}
	return errors.Join(err, e.unlock())
}

// unlock lets go of the lock of the directory, if there is one.
func (e *Engine) unlock() error {
	if e.lock == nil {
		return nil
	}
	return e.lock.Close()
}

func (e *Engine) openLocked() error {
	if err := e.readMark(); err != nil {
		return err
	}
	there, err := e.dataThere()
	if err != nil {
		return err
	}
	if !there {
		if err := e.create(); err != nil {
			return err
		}
	}
	if err := e.removeOldCopies(); err != nil {
		return err
	}
	if e.unsealed, err = breakSeal(e.fs, e.dir, e.opts.AcceptLoss); err != nil {
		return err
	}
	if err := e.recallDamage(); err != nil {
		return err
	}
	opts := e.engineOptions()
	opts.ErrorIfNotExists = true
	e.DB, err = e.openDB(e.fs.PathJoin(e.dir, DataName), opts)
	return err
}

func (e *Engine) openLockedReadOnly() (err error) {
	if err := e.readMark(); err != nil {
		return err
	}
	err = checkSeal(e.fs, e.dir)
	if err != nil && (!e.opts.AcceptLoss || !errors.Is(err, store.ErrCorrupt)) {
		return err
	}
	opts := e.engineOptions()
	opts.ReadOnly = true
	e.reads = true
	e.DB, err = e.openDB(e.fs.PathJoin(e.dir, DataName), opts)
	return err
}

// create makes a new engine in the directory. Its files appear under their name only when they are
// complete. The log that is in use from then on was begun in the engine's newest format, which
// protects it best.
func (e *Engine) create() error {
	creating := e.fs.PathJoin(e.dir, CreatingName)
	if err := e.fs.RemoveAll(creating); err != nil {
		return fmt.Errorf("removing the rest of an interrupted creation: %w", err)
	}
	opts := e.engineOptions()
	opts.ErrorIfExists = true
	db, err := e.openDB(creating, opts)
	if err != nil {
		return err
	}
	id := mark.NewID()
	err = e.Do(func() error {
		if err := e.opts.Create(db, id); err != nil {
			return err
		}
		return db.Flush()
	})
	if closeErr := e.closeDB(db); err == nil {
		err = closeErr
	}
	if reason := e.Err(); reason != nil {
		err = reason
	}
	if err != nil {
		return err
	}
	// Before the folder gets its name: a mark of no commits does not say that there is a folder.
	e.marked = &mark.Mark{ID: id, At: time.Now()}
	if err := mark.Write(e.fs, e.dir, *e.marked); err != nil {
		return err
	}
	if err := e.fs.Rename(creating, e.fs.PathJoin(e.dir, DataName)); err != nil {
		return err
	}
	return smallfile.SyncDir(e.fs, e.dir)
}

// openDB opens the engine's files. On a full disk Pebble would try for ever to write the tables of
// the events in its log (https://github.com/cockroachdb/pebble/issues/6139), so a failed opening is
// not waited for.
func (e *Engine) openDB(dir string, opts *lsm.Options) (*lsm.DB, error) {
	type result struct {
		db  *lsm.DB
		err error
	}
	opened := make(chan result, 1)
	go func() {
		var r result
		r.err = Safely(func() (err error) {
			r.db, err = lsm.Open(dir, opts)
			return err
		})
		opened <- r
	}()
	select {
	case r := <-opened:
		reason := e.Err()
		switch {
		case reason == nil && r.err != nil:
			return nil, describe(r.err)
		case reason == nil:
			return r.db, nil
		case r.err == nil:
			_ = e.closeDB(r.db) // the reason tells more
		}
		return nil, reason
	case <-e.failure.ch:
		e.life.abandoned.Store(true)
		return nil, e.failure.reason
	}
}

// Do calls a function that writes by the engine. It does not wait for its end if the engine fails,
// for there may be none.
func (e *Engine) Do(fn func() error) error {
	done := make(chan error, 1)
	go func() { done <- Safely(fn) }()
	select {
	case err := <-done:
		return err
	case <-e.failure.ch:
		return e.failure.reason
	}
}

// DoOpening is [Engine.Do] for a write that still belongs to the opening: it does not wait for
// room, and ends with the context. After an error the engine is to be closed.
func (e *Engine) DoOpening(ctx context.Context, fn func() error) error {
	e.life.opening.Store(true)
	defer e.life.opening.Store(false)
	defer context.AfterFunc(ctx, func() { e.failWith(ctx.Err()) })()
	return e.explain(e.Do(fn))
}

// ErrNotClosed is wrapped by the error of closing an engine that does not react any more.
var ErrNotClosed = errors.New("the failed storage engine did not close: end the process")

// Close closes the engine. It returns an error if the engine has failed, because then the last
// writes may be lost. If seal is true, the files of an engine that is in order are sealed: the next
// opening notices any damage to them.
func (e *Engine) Close(seal bool) error {
	e.Ends()
	err := e.end(func() error {
		err := Safely(e.DB.Close)
		e.damage.noting.Wait()
		if e.keeper != nil {
			err = errors.Join(err, e.keeper.Close())
		}
		return err
	})
	if errors.Is(err, ErrNotClosed) {
		return errors.Join(e.Err(), err) // the lock keeps others out until the process ends
	}
	if failed := e.Err(); failed != nil {
		err = failed // to close a failed engine ends in consequential errors
	}
	if err == nil && seal {
		// without a seal the next opening is not checked, and that is all
		_ = writeSeal(e.fs, e.dir)
	}
	return errors.Join(err, e.unlock(), e.watched.Close())
}

// Ends says that the engine will be closed. No write waits for room from now on: it fails.
func (e *Engine) Ends() { e.life.ending.Store(true) }

// Wait waits until done is closed, or if the engine has failed, for a short time only. It is called
// after Ends and before Close.
func (e *Engine) Wait(done <-chan struct{}) {
	select {
	case <-done:
	case <-e.failure.ch:
		select {
		case <-done:
		case <-time.After(e.opts.ClosePatience / 10):
		}
	}
}

// closeDB closes the engine's files.
func (e *Engine) closeDB(db *lsm.DB) error { return e.end(db.Close) }

// end calls a function that ends something of the engine. In a failed engine that may never end, so
// the waiting does, with [ErrNotClosed].
func (e *Engine) end(fn func() error) error {
	done := make(chan error, 1)
	go func() { done <- Safely(fn) }()
	select {
	case err := <-done:
		return err
	case <-e.failure.ch:
	}
	select {
	case err := <-done:
		return err
	case <-time.After(e.opts.ClosePatience):
		e.life.abandoned.Store(true)
		return ErrNotClosed
	}
}

// explain says of an opening that met a full disk how much space there must be.
func (e *Engine) explain(err error) error {
	if !errors.Is(err, store.ErrFull) {
		return err
	}
	free, missing := e.space.missing(openingBytes(e.fs, e.dir))
	if missing <= 0 {
		return err
	}
	return fmt.Errorf("%w: %d MiB are free: free %d MiB more on the disk of %q and restart: %w",
		store.ErrFull, free>>20, (missing+1<<20-1)>>20, e.dir, err)
}
