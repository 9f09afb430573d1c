// Package pebble keeps user histories on disk, in the log-structured storage engine Pebble.
//
// # Promises
//
// An Append that returned nil survives the end of the process and the loss of power, if the disk
// keeps its synced data. Calls that run at the same time share a sync. A history that does not fit
// in memory stays on disk: memory use is bounded by three times Options.CacheBytes plus a constant,
// whatever the number of users and events. (The constant is large when each event in the journal is
// of another user: some 400 bytes for each such user, until the journal has been sorted. And the
// ids of one history may take more than the bound, some 20 bytes for each event.)
//
// # How a write goes
//
// Callers look their users up in memory, and read the missing ones from disk. Then they queue up,
// and one goroutine, the committer, decides in which order. It tells new events from known ones and
// puts the new ones of all callers into a row of the journal, which becomes durable with one sync.
// Until the journal is sorted, readers find these events in memory. When there are many, another
// goroutine, the sorter, moves them to the rows of their users.
//
// Damage and lack of space become errors and never end the process. A damaged block of a table is
// an error of the calls that need it. When the engine can no longer write its log, the store fails:
// every later write returns store.ErrFailed together with the cause, while reads go on as far as
// they can. A failed store is to be opened again in a new process. A mere lack of free space is
// noticed earlier (see Options.ReserveBytes) and is over as soon as there is space again. If the
// log meets it all the same, what is under way waits for room, and writes end in
// store.ErrUnavailable until then.
//
// # Limits
//
// To tell whether an event is new, the ids of all events of its user must be in memory. Those of a
// user who has not written for a while are read from the rows, which takes some ten nanoseconds for
// each event of the history.
//
// One process at a time can open a store. Damage to files of a store that was closed properly is
// noticed, at the latest when the data is needed. After a crash, damage to the end of the newest
// log cannot be told from a write that the crash cut off, except by the mark of durable commits
// (see the package mark): what is lost of the last 100 ms before the crash passes without notice.
// Tables are always checked. A damaged row of the journal holds events of many users, so the store
// is not opened with one.
//
// Opening writes the tables of all events that only stand in the engine's log, so it needs free
// disk space. Without it, [Open] ends in an error that says how much, and [OpenOrWait] reads.
//
// Erased rows are invisible from the sync of the erasure on, before Erase returns. They leave the
// files, together with the user's id, ten seconds later: the journal is sorted, and the tables with
// rows of the users are written anew. That may take a while in a large store, and happens at most a
// tenth of the time, so that erasures may wait for ten times as long as it took. What a reader or a
// checkpoint still uses stays until then. See [Store.Forgotten].
//
// # The rooms
//
// Folders below internal hold the parts: engine makes Pebble safe, table looks at its files one by
// one, row is the format on disk, mark tells a loss from a crash, manifest is the list of a backup,
// mend reads damaged tables for a salvage, smallfile replaces files as a whole, recent is the part
// of the histories in memory. This package ties them together.
package pebble

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/internal/calls"
	"github.com/gsimc/gsimc/store/pebble/internal/engine"
	"github.com/gsimc/gsimc/store/pebble/internal/manifest"
	"github.com/gsimc/gsimc/store/pebble/internal/mark"
	"github.com/gsimc/gsimc/store/pebble/internal/recent"
)

// LossError is the error of opening a store that has lost acknowledged events, or that is not the
// one its mark belongs to. See Options.AcceptLoss.
type LossError = mark.LossError

// SealError is the error of opening a store whose files have changed since it was closed. See
// Options.AcceptLoss.
type SealError = engine.SealError

// SmallError is the error of opening a store on a volume that is too small for its reserve.
type SmallError = engine.SmallError

// ErrInUse is wrapped by the error of opening a store that another process has open.
var ErrInUse = engine.ErrInUse

// Store is a [store.Store] on disk. Use [Open].
type Store struct {
	engine    *engine.Engine
	histories *recent.Histories
	reader    reader
	queue     *queue
	sorter    *sorter
	erasing   chan struct{} // holds a token for each erasure under way
	forgetter *forgetter
	stop      func() // ends what may wait for room
	watch     watchdog

	itemWrites atomic.Uint64 // calls that wrote items, since the opening

	calls   calls.Calls
	workers sync.WaitGroup // the committer, the syncer and the sorter
}

var _ store.Store = (*Store)(nil)

// Open opens the store in the directory, creating both if there is nothing. It refuses a directory
// that holds something else, that another process has open ([ErrInUse]), whose store has another
// format, that has lost acknowledged events ([LossError]), or whose files have changed since it was
// closed ([SealError]). The error wraps
// [store.ErrCorrupt] or [store.ErrFull] if that is the cause.
//
// The end of the context ends the opening. If the disk does not answer, or is full, the directory
// may stay locked until the process ends.
func Open(ctx context.Context, dir string, opts Options) (*Store, error) {
	opts = opts.withDefaults()
	e, err := engine.Open(ctx, dir, opts.engine())
	if err != nil {
		return nil, fmt.Errorf("opening the store in %q: %w", dir, err)
	}
	s, err := start(ctx, e, opts)
	if err != nil {
		return nil, fmt.Errorf("opening the store in %q: %w", dir, err)
	}
	return s, nil
}

// Begins reports whether a directory has neither a store nor what is left of one, so that [Open]
// would begin a new one.
func Begins(dir string) (bool, error) {
	for _, name := range []string{engine.DataName, mark.Name} {
		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}
	return true, nil
}

// Around returns the folder of a store or of a backup that a path is or lies in, and what of the
// path is inside of it. Both are empty if there is none. A copy lies in the folder of its store,
// which is the one returned.
func Around(path string) (dir, inside string) {
	real, err := filepath.EvalSymlinks(path)
	for ; err != nil; real, err = filepath.EvalSymlinks(path) { // it is not there
		up := filepath.Dir(path)
		if up == path {
			return "", ""
		}
		path, inside = up, filepath.Join(filepath.Base(path), inside)
	}
	at, err := filepath.Abs(real)
	if err != nil {
		return "", ""
	}
	rest := inside
	for inside = ""; ; {
		if isStore(at) {
			dir, inside = at, rest
		}
		up := filepath.Dir(at)
		if up == at {
			return dir, inside
		}
		at, rest = up, filepath.Join(filepath.Base(at), rest)
	}
}

// Owns reports whether a path inside of the folder of a store is one of the folders that the store
// makes there, or lies in it.
func Owns(inside string) bool {
	first, _, _ := strings.Cut(inside, string(filepath.Separator))
	return first == engine.DataName || first == engine.CreatingName || first == engine.CopiesName
}

// isStore reports whether a folder has two of the names that a store or a backup has: other folders
// may have one of them.
func isStore(dir string) bool {
	found := 0
	for _, name := range []string{engine.DataName, engine.LockName, mark.Name, manifest.Name} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			found++
		}
	}
	return found > 1
}

// start makes an engine a store. It closes the engine if there is an error.
func start(ctx context.Context, e *engine.Engine, opts Options) (*Store, error) {
	l, err := load(ctx, e, opts)
	if err == nil {
		err = l.upgrade(ctx, e)
	}
	if err == nil {
		err = e.KeepMark(l.id, l.editor.LastRow(), l.editor.Users())
	}
	var erased bool
	if err == nil {
		erased, err = hasErased(e.DB)
	}
	if err != nil {
		return nil, errors.Join(err, e.Close(false))
	}
	histories, editor := l.histories, l.editor
	s := &Store{
		engine: e, histories: histories, reader: l.reader(e),
		queue: &queue{wake: make(chan struct{}, 1)}, erasing: make(chan struct{}, maxErasing),
	}
	s.watch.after = opts.stallAfter
	background, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.sorter = newSorter(e, l.header, opts, s.queue.nudge, s.workers.Go, background.Done())
	s.sorter.emptied.Store(l.emptied)
	s.forgetter = newForgetter(e, s.sorter, opts.eraseDelay, erased, editor.LastRow())
	s.sorter.forgetting = s.forgetter.pending
	if l.erased {
		s.sorter.soon()
	}
	if l.gap { // until it is sorted, the journal tells of the loss that was accepted
		s.sorter.due.Store(true)
		s.queue.nudge()
	}
	toSync, shown := make(chan unsynced), make(chan struct{}, 1)
	c := &committer{
		engine: e, histories: histories, reader: s.reader, editor: editor,
		planner: newPlanner(histories, s.reader, editor),
		queue:   s.queue, sorter: s.sorter, toSync: toSync, shown: shown,
		watch: &s.watch, forgetter: s.forgetter, itemWrites: &s.itemWrites,
	}
	s.workers.Go(c.run)
	s.workers.Go((&syncer{
		engine: e, histories: histories, queue: s.queue, groups: toSync, shown: shown,
		watch: &s.watch, forgetter: s.forgetter, synced: opts.Events.Synced,
	}).run)
	s.workers.Go(func() { s.forgetter.run(background) })
	return s, nil
}

// Stats implements [store.Store]. The number of users is not known without a scan. The bytes are
// those of the whole directory, with the space that is reserved for logs. A failed store says so
// here too.
func (s *Store) Stats(ctx context.Context) (store.Stats, error) {
	if err := s.calls.Begin(ctx); err != nil {
		return store.Stats{}, err
	}
	defer s.calls.Done()
	if err := s.engine.Err(); err != nil {
		return store.Stats{}, err
	}
	refusal := s.engine.StuckRefusal()
	if refusal == nil {
		refusal = s.watch.stalled()
	}
	if refusal != nil { // to ask the disk would take long
		return store.Stats{Users: -1, Bytes: s.engine.LastBytes(), Room: -1, Free: -1, Reserve: -1,
			Debt: -1, Refusal: refusal, Damage: s.engine.Damage()}, nil
	}
	bytes, err := s.engine.Bytes(ctx)
	if err != nil {
		return store.Stats{}, err
	}
	free, reserve, room := s.engine.Room()
	return store.Stats{Users: -1, Bytes: bytes, Room: room, Free: free, Reserve: reserve,
		Debt: s.engine.LastDebt(), Refusal: s.engine.Refusal(), Damage: s.engine.Damage()}, nil
}

// Close implements [store.Store]. It returns an error if the store has failed, because then the
// last writes may be lost.
func (s *Store) Close() error {
	if err := s.calls.Close(); err != nil {
		return err
	}
	s.stop()
	s.engine.Ends() // else a call may wait for room
	s.calls.Wait()
	s.queue.close()
	ended := make(chan struct{})
	go func() {
		s.workers.Wait()
		close(ended)
	}()
	s.engine.Wait(ended)
	return s.engine.Close(true)
}
