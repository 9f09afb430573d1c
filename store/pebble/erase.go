package pebble

import (
	"context"
	"errors"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/engine"
	"github.com/gsimc/gsimc/store/pebble/internal/recent"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
)

// maxErasing bounds the erasures under way, so that they leave the processors to others.
const maxErasing = 16

// Erase implements [store.Store]. Nothing is written for a user without history.
func (s *Store) Erase(ctx context.Context, user string) (uint64, error) {
	if err := s.calls.Begin(ctx); err != nil {
		return 0, err
	}
	defer s.calls.Done()
	if !row.Possible(user) {
		return 0, nil
	}
	if err := s.engine.Err(); err != nil {
		return 0, err
	}
	select {
	case s.erasing <- struct{}{}:
		defer func() { <-s.erasing }()
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-s.engine.Failed():
		return 0, s.engine.Err()
	}
	if there, err := s.reader.prepareErasure(user); !there || err != nil {
		return 0, err
	}
	c := &call{erase: user, done: make(chan error, 1)}
	if err := s.submit(ctx, c); err != nil {
		return 0, err
	}
	return c.erased, nil
}

// prepareErasure reports whether there may be something of a user. It reads the head of the history
// if it is not in memory, so that the committer need not.
func (r reader) prepareErasure(user string) (there bool, err error) {
	c, ticket, err := r.absentCursor(user)
	if errors.Is(err, errPresent) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer c.close()
	if there, err := c.any(user); !there || err != nil {
		return there, err
	}
	if head, err := r.head(c, user); err == nil && head.Revision > 0 {
		r.histories.Offer(recent.NewHistory(user, head), ticket)
	}
	return true, nil // even if it is damaged
}

// planErasure empties the history of a user. Its rows are removed together with the group. There is
// a group to wait for unless there is no history and that is durable.
func (c *committer) planErasure(erasure *call) (wait bool, err error) {
	user := erasure.erase
	h := c.histories.Get(user)
	if h == nil {
		if h, err = c.findErased(user); h == nil || err != nil {
			return false, err
		}
	}
	if c.editor.Empty(h) && !c.editor.Durable(h) {
		return true, nil
	}
	if c.editor.Empty(h) {
		if there, err := c.reader.anyInRows(user); !there || err != nil {
			return false, err // rows without a head are damage, which goes too
		}
	}
	if err := c.beginRemoval(); err != nil {
		return false, err
	}
	erasure.erased = c.erase(h)
	return true, nil
}

// beginRemoval lets the group remove rows.
func (c *committer) beginRemoval() error {
	if c.removal != nil {
		return nil
	}
	if err := c.sorter.lockRows(); err != nil {
		return err
	}
	c.removal = &removal{rows: c.engine.DB.NewSnapshot()}
	return nil
}

// erase empties a history, once the group may remove rows, and returns how many events there were.
func (c *committer) erase(h *recent.History) uint64 {
	c.removal.users = append(c.removal.users, h.User())
	c.forgetter.begin()
	c.sorter.soon()
	return c.editor.Erase(h, c.removal.rows)
}

// findErased brings a history into memory that is to be erased. It returns nil if there is none.
func (c *committer) findErased(user string) (*recent.History, error) {
	cursor, err := c.reader.cursor()
	if err != nil {
		return nil, err
	}
	defer cursor.close()
	if there, err := cursor.any(user); !there || err != nil {
		return nil, err
	}
	head, err := c.reader.head(cursor, user)
	if errors.Is(err, store.ErrCorrupt) || err == nil && head.Revision == 0 {
		// there is something, which need not be read to be removed
		head, err = store.Version{Revision: 1, Mark: c.reader.oldMark(user)}, nil
	}
	if err != nil {
		return nil, err
	}
	return c.editor.Put(recent.NewHistory(user, head)), nil
}

// removal removes the rows of the users who are erased by one group.
type removal struct {
	users []string
	rows  *lsm.Snapshot // from before; the sorter writes none meanwhile
}

// maxRowDeletes is the number of rows of a user that are removed one by one. A range would do for
// all. But with each new range the engine sorts those of its table in memory anew, for the next
// reader, so that many erasures would hold everybody up.
const maxRowDeletes = 64

// fill puts the removal of the rows into the batch.
func (r *removal) fill(b *lsm.Batch) error {
	it, err := r.rows.NewIter(nil)
	if err != nil {
		return engine.ReadError(err)
	}
	defer func() { _ = it.Close() }() // its errors are those of it.Error
	for _, user := range r.users {
		if err := remove(b, it, user); err != nil {
			return err
		}
	}
	return setErased(b, true)
}

// remove puts the removal of a user's rows into the batch. Rows that cannot be read are removed
// too.
func remove(b *lsm.Batch, it *lsm.Iterator, user string) error {
	first, end := row.HeadKey(nil, user), row.EndKey(nil, user)
	it.SetBounds(first, end)
	var keys [][]byte
	for valid := it.First(); valid; valid = it.Next() {
		if len(keys) == maxRowDeletes {
			return b.DeleteRange(first, end, nil)
		}
		keys = append(keys, append([]byte(nil), it.Key()...))
	}
	if it.Error() != nil {
		return b.DeleteRange(first, end, nil)
	}
	for _, key := range keys {
		if err := b.Delete(key, nil); err != nil {
			return err
		}
	}
	return nil
}
