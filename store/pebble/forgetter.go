package pebble

import (
	"context"
	"errors"
	"sync"
	"time"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/engine"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
)

// forgetShare bounds the forgetter's share of the time, since it may write much: the time between
// two of its runs is this many times that of the last one, at least.
const forgetShare = 10

// maxForgetting bounds the erased users who are remembered one by one. When there are more, since
// nothing is forgotten on a full disk or beside damage, the tables of everyone are written anew.
const maxForgetting = 4096

// forgetter removes what is left of erased users from all files: rows that are invisible, what
// removed them, and the names of users. It serves the erasures of some time together.
type forgetter struct {
	engine *engine.Engine
	sorter *sorter
	every  time.Duration // from an erasure until its run begins, at least
	wake   chan struct{} // holds a token if there is something to do
	ended  chan struct{} // closed when there are no more runs

	mu       sync.Mutex
	users    []string      // erased, and not yet forgotten
	row      uint64        // of the journal: the last erasure of these
	everyone bool          // all who were erased, not only users
	begun    uint64        // erasures that the committer has planned
	shown    uint64        // those that are in users, or forgotten
	done     uint64        // those that are forgotten
	changed  chan struct{} // closed when done changes
}

// newForgetter returns a forgetter that begins with everyone, if it is told to, who was erased by
// the last row of the journal.
func newForgetter(
	e *engine.Engine, s *sorter, every time.Duration, everyone bool, last uint64,
) *forgetter {
	f := &forgetter{
		engine: e, sorter: s, every: every,
		wake: make(chan struct{}, 1), ended: make(chan struct{}),
		everyone: everyone, row: last, changed: make(chan struct{}),
	}
	if everyone {
		f.begun, f.shown = 1, 1
		f.wake <- struct{}{}
	}
	return f
}

// begin notes that a user is to be erased. The rows must be locked until the erasure is in the
// engine.
func (f *forgetter) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begun++
}

// add notes users who are erased, by the rows of the journal up to a number.
func (f *forgetter) add(users []string, row uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.row = row
	f.shown += uint64(len(users))
	f.remember(users)
}

// remember notes users who are to be forgotten. Requires the lock.
func (f *forgetter) remember(users []string) {
	if f.users = append(f.users, users...); len(f.users) > maxForgetting {
		f.everyone = true
	}
	if f.everyone {
		f.users = nil
	}
	f.nudge()
}

// run forgets users until the context ends or the engine fails. After another error, such as a lack
// of disk space, it tries again.
func (f *forgetter) run(ctx context.Context) {
	defer close(f.ended)
	var took time.Duration
	for {
		select {
		case <-f.wake:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(max(f.every, forgetShare*took)):
		case <-ctx.Done():
			return
		}
		began := time.Now()
		err := f.forget(ctx)
		if ctx.Err() != nil || f.engine.Err() != nil {
			return
		}
		took = time.Since(began)
		if err != nil {
			took = max(took, f.every)
		}
	}
}

// forget forgets the users who are erased by now.
func (f *forgetter) forget(ctx context.Context) (err error) {
	if err := f.engine.Damage(); err != nil { // nothing is compacted: to sort would be in vain
		f.again(nil, false)
		return err
	}
	f.mu.Lock()
	users, last, everyone, shown := f.users, f.row, f.everyone, f.shown
	f.users, f.everyone = nil, false
	f.mu.Unlock()
	defer func() {
		if err != nil {
			f.again(users, everyone)
		}
	}()
	if err := f.sorter.sortUpTo(ctx, last); err != nil {
		return err
	}
	spans := []engine.Span{{First: row.JournalPrefix, End: row.FirstUserKey}}
	for _, user := range users {
		first, end := row.HeadKey(nil, user), row.EndKey(nil, user)
		spans = append(spans, engine.Span{First: first, End: end})
	}
	if everyone {
		spans = append(spans, engine.Span{First: row.FirstUserKey, End: row.LastKey})
	}
	if err := f.engine.Forget(ctx, spans, row.FillerPrefix); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done = shown
	close(f.changed)
	f.changed = make(chan struct{})
	return f.clear()
}

// again notes users once more.
func (f *forgetter) again(users []string, everyone bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.everyone = f.everyone || everyone
	f.remember(users)
}

// nudge requires the lock.
func (f *forgetter) nudge() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// clear removes the note that there are users to be forgotten, unless there are more. Requires the
// lock.
func (f *forgetter) clear() error {
	f.mu.Unlock() // the committer takes the locks in the other order
	err := f.sorter.lockRows()
	f.mu.Lock()
	if err != nil {
		return err
	}
	defer f.sorter.unlockRows()
	if f.begun != f.done {
		return nil
	}
	b := f.engine.DB.NewBatch()
	return errors.Join(setErased(b, false),
		f.engine.Do(func() error { return b.Commit(lsm.NoSync) }))
}

// pending reports whether there are erased users who are not forgotten. The rows must be locked.
func (f *forgetter) pending() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.begun != f.done
}

// wait returns when all users who are erased by now are forgotten.
func (f *forgetter) wait(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for want := f.shown; f.done < want; {
		changed := f.changed
		f.mu.Unlock()
		var err error
		select {
		case <-changed:
		case <-ctx.Done():
			err = ctx.Err()
		case <-f.engine.Failed():
			err = f.engine.Err()
		case <-f.ended:
			err = store.ErrClosed
		}
		f.mu.Lock()
		if err != nil {
			return err
		}
	}
	return nil
}

var (
	_ store.Forgetter = (*Store)(nil)
	_ store.Forgetter = (*waiting)(nil)
)

// Forgotten implements [store.Forgetter]. That takes some more than ten seconds, and longer while a
// reader or a checkpoint still uses a file.
func (s *Store) Forgotten(ctx context.Context) error {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.Done()
	return s.forgetter.wait(ctx)
}

// setErased notes whether there are erased users to forget. The row is never removed: whether it is
// there at all could only be told from all tables of the store's own rows.
func setErased(b *lsm.Batch, erased bool) error {
	var n uint64
	if erased {
		n = 1
	}
	return b.Set(row.ErasedKey, row.EncodeNumber(nil, row.ErasedKey, n), nil)
}

// hasErased reports whether the store was closed before it had forgotten all erased users.
func hasErased(db *lsm.DB) (bool, error) {
	n, err := number(db, row.ErasedKey)
	if errors.Is(err, lsm.ErrNotFound) {
		return false, nil
	}
	return n != 0, err
}
