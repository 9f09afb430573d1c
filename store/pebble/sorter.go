package pebble

import (
	"context"
	"sync/atomic"
	"time"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/gsimc/gsimc/internal/num/prefetch"
	"github.com/gsimc/gsimc/store/pebble/internal/engine"
	"github.com/gsimc/gsimc/store/pebble/internal/recent"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
)

const (
	// rowEvents and rowBytes bound a row of events: large enough that its key costs little, small
	// enough that one event of it is found soon.
	rowEvents = 64
	rowBytes  = 4 << 10
	// eraseDelay is how long the journal may keep the events of an erased user, while the store is
	// open.
	eraseDelay = 10 * time.Second
	// sortPatience is how often it is looked whether the journal has been sorted.
	sortPatience = 20 * time.Millisecond
)

// sorter writes the events of a generation to the rows of their users, and then removes that part
// of the journal, in a goroutine of its own for each generation.
//
// Its batches are not synced. Until the last of them removes the journal, the journal has the same
// events, and the log of the engine keeps the order of the batches. After a crash between two
// batches the revision in the head says which events are in rows.
type sorter struct {
	engine     *engine.Engine
	header     header       // of the store, but for what is emptied
	bytes      int          // of a generation that is to be sorted
	batchBytes int          // about how much is given to the engine at once
	wake       func()       // wakes the committer
	start      func(func()) // starts a goroutine
	closing    <-chan struct{}
	forgetting func() bool   // there are erased users to forget; called with locked rows
	rows       chan struct{} // holds a token while rows are written; see lockRows
	sorted     chan struct{} // told when a generation has been sorted
	due        atomic.Bool   // sort even if there is little
	timer      atomic.Bool   // due will be set
	emptied    atomic.Uint64 // number of the last row removed from the journal
	trim       atomic.Bool   // histories may have become free to go
	running    bool          // of the committer: a generation is being sorted
}

// newSorter returns the sorter of a store, which is being closed once the channel is.
func newSorter(
	e *engine.Engine, h header, opts Options, wake func(), start func(func()),
	closing <-chan struct{},
) *sorter {
	return &sorter{
		engine: e, header: h, bytes: opts.sortBytes, batchBytes: opts.sortBatch,
		wake: wake, start: start, closing: closing,
		rows: make(chan struct{}, 1), sorted: make(chan struct{}, 1),
	}
}

// isDue reports whether there is enough to sort, or it is time, and no other sort is under way. It
// belongs to the committer.
func (s *sorter) isDue(e *recent.Editor) bool {
	due := e.Full(s.bytes) || s.due.Load()
	return due && (!s.running || s.done()) && s.engine.Err() == nil
}

// mustBegin reports whether the journal is so large that writers must wait for the sorter. It
// belongs to the committer.
func (s *sorter) mustBegin(e *recent.Editor) bool { return e.Full(2 * s.bytes) }

// begin waits for the generation before to be sorted, and begins to sort. There must be no open
// row, and readers must see all groups. It belongs to the committer.
func (s *sorter) begin(e *recent.Editor) {
	if s.running {
		select {
		case <-s.sorted:
			s.running = false
		case <-s.engine.Failed():
			return
		}
	}
	s.sortNext(e)
}

// done reports whether the generation before has been sorted.
func (s *sorter) done() bool {
	select {
	case <-s.sorted:
		s.running = false
	default:
	}
	return !s.running
}

// sortNext takes the generation over. There must be no open row and no other sort, and readers must
// see all groups.
func (s *sorter) sortNext(e *recent.Editor) {
	s.due.Store(false)
	g := e.Next()
	if g == nil {
		return
	}
	s.running = true
	s.start(func() { s.sort(g) })
}

// soon makes the committer sort, even if there is little, within eraseDelay.
func (s *sorter) soon() {
	if s.timer.CompareAndSwap(false, true) {
		time.AfterFunc(eraseDelay, func() {
			s.timer.Store(false)
			s.due.Store(true)
			s.wake()
		})
	}
}

// sort sorts a generation. When it fails, so does the engine, and the journal keeps everything.
func (s *sorter) sort(g *recent.Generation) {
	w := sorting{sorter: s, gen: g}
	if err := w.run(); err != nil {
		s.engine.Fail(err)
		return
	}
	s.sorted <- struct{}{}
	s.trim.Store(true)
	s.wake() // there may be the next to sort, and no writer
}

// sortUpTo makes the committer sort, until a row of the journal has been removed.
func (s *sorter) sortUpTo(ctx context.Context, row uint64) error {
	for s.emptied.Load() < row {
		s.due.Store(true)
		s.wake()
		select {
		case <-time.After(sortPatience):
		case <-ctx.Done():
			return ctx.Err()
		case <-s.engine.Failed():
			return s.engine.Err()
		}
	}
	return nil
}

// lockRows locks the rows: the sorter and an erasure must not change them at the same time. It
// returns an error if the engine has failed.
func (s *sorter) lockRows() error {
	select {
	case s.rows <- struct{}{}:
	case <-s.engine.Failed():
		return s.engine.Err()
	}
	if err := s.engine.Err(); err != nil {
		s.unlockRows()
		return err
	}
	return nil
}

func (s *sorter) unlockRows() { <-s.rows }

// sorting is the sorting of one generation.
type sorting struct {
	sorter     *sorter
	gen        *recent.Generation
	batch      *lsm.Batch
	written    []*recent.History // in the batch
	key, value []byte
}

func (w *sorting) run() error {
	for users := w.gen.Histories(); len(users) > 0; {
		var err error
		if users, err = w.some(users); err != nil {
			return err
		}
	}
	return w.removeJournal()
}

// some writes the rows of some of the users and returns the others.
func (w *sorting) some(users []*recent.History) (rest []*recent.History, err error) {
	w.sorter.engine.Pace(w.sorter.closing)
	if err := w.sorter.lockRows(); err != nil {
		return nil, err
	}
	defer w.sorter.unlockRows()
	w.batch, w.written = w.sorter.engine.DB.NewBatch(), w.written[:0]
	for i := range prefetch.Ahead(len(users), w.gen.Stages(users)...) {
		if len(w.written) > 0 && w.batch.Len() >= w.sorter.batchBytes {
			rest = users[i:]
			break
		}
		h := users[i]
		if tail := w.gen.Tail(h); len(tail) > 0 {
			if err := w.history(h, tail); err != nil {
				return nil, err
			}
			w.written = append(w.written, h)
		}
	}
	if err := w.write(); err != nil {
		return nil, err
	}
	for _, h := range w.written {
		w.gen.Moved(h)
	}
	return rest, nil
}

// history writes the rows of a user to the batch.
func (w *sorting) history(h *recent.History, tail []recent.Place) error {
	head := h.InRows()
	for len(tail) > 0 {
		w.key = row.EventKey(w.key, h.User(), head.Revision+1)
		w.value = row.BeginEvents(w.value)
		n := 0
		for n < len(tail) && n < rowEvents && len(w.value) < rowBytes {
			w.value = row.AppendEncoded(w.value, w.gen.Event(tail[n]))
			n++
		}
		w.value = row.End(w.value, 0, w.key)
		if err := w.batch.Set(w.key, w.value, nil); err != nil {
			return err
		}
		tail, head.Revision = tail[n:], head.Revision+uint64(n)
	}
	w.key = row.HeadKey(w.key, h.User())
	w.value = row.EncodeHead(w.value, w.key, head)
	return w.batch.Set(w.key, w.value, nil)
}

func (w *sorting) write() error {
	err := engine.Safely(func() error { return w.sorter.engine.DB.Apply(w.batch, lsm.NoSync) })
	if err == nil {
		err = w.batch.Close()
	}
	return err
}

func (w *sorting) removeJournal() error {
	if err := w.sorter.lockRows(); err != nil {
		return err
	}
	defer w.sorter.unlockRows()
	w.batch = w.sorter.engine.DB.NewBatch()
	end := row.JournalKey(nil, w.gen.Last()+1)
	if err := w.batch.DeleteRange(row.JournalPrefix, end, nil); err != nil {
		return err
	}
	// All rows of the store itself, so that an opening needs none of the older tables of them.
	header := w.sorter.header
	header.emptied, header.users = w.gen.Last(), w.gen.Users()
	if err := header.set(w.batch); err != nil {
		return err
	}
	if err := setErased(w.batch, w.sorter.forgetting()); err != nil {
		return err
	}
	if err := w.write(); err != nil {
		return err
	}
	w.sorter.emptied.Store(w.gen.Last())
	return nil
}
