package pebble

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/engine"
	"github.com/gsimc/gsimc/store/pebble/internal/mark"
	"github.com/gsimc/gsimc/store/pebble/internal/recent"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
)

// reader reads histories: rows by way of the engine, and newer events from memory.
type reader struct {
	db        *lsm.DB
	histories *recent.Histories
	id        mark.ID
	branch    uint64 // see header
}

// cursor looks rows up as of the moment it was made, or of its snapshot.
type cursor struct {
	it      *lsm.Iterator
	key     []byte // of the last lookup
	bounded bool   // to a part of the rows
}

func (r reader) cursor() (*cursor, error) { return cursorOf(r.db) }

func cursorOf(rows lsm.Reader) (*cursor, error) {
	// The Bloom filters of the lowest level are used too: many lookups are of new users.
	it, err := rows.NewIter(&lsm.IterOptions{UseL6Filters: true})
	if err != nil {
		return nil, engine.ReadError(err)
	}
	return &cursor{it: it}, nil
}

// close releases the cursor. Errors have been returned by the lookups.
func (c *cursor) close() { _ = c.it.Close() }

// get returns the value of c.key, valid until the next call, or nil.
func (c *cursor) get() ([]byte, error) {
	if c.bounded {
		c.it.SetBounds(nil, nil)
		c.bounded = false
	}
	value, err := c.at(c.it.SeekPrefixGE(c.key))
	if !errors.Is(err, store.ErrCorrupt) {
		return value, err
	}
	// A filter may be damaged, which a search in the index can do without.
	c.bound(c.key, append(bytes.Clone(c.key), 0))
	return c.at(c.it.SeekGE(c.key))
}

func (c *cursor) bound(lower, upper []byte) {
	c.it.SetBounds(lower, upper)
	c.bounded = true
}

// at returns the value under the iterator, which found something or not, if it is that of c.key.
func (c *cursor) at(found bool) ([]byte, error) {
	if !found {
		return nil, readIfFailed(c.it)
	}
	if !bytes.Equal(c.it.Key(), c.key) {
		return nil, nil
	}
	value, err := c.it.ValueAndErr()
	if err != nil {
		return nil, engine.ReadError(err)
	}
	return value, nil
}

// head returns the version of the last event in rows.
func (r reader) head(c *cursor, user string) (head store.Version, err error) {
	c.key = row.HeadKey(c.key, user)
	value, err := c.get()
	if value == nil && err == nil {
		return head, nil
	}
	if err == nil {
		head, err = row.DecodeHead(c.key, value)
	}
	if err != nil {
		return store.Version{}, fmt.Errorf("head of a history: %w", err)
	}
	if head.Mark == 0 {
		head.Mark = r.oldMark(user)
	}
	return head, nil
}

// any reports whether there is a row of the user; damage counts as one. Afterwards the cursor is
// good for this user only.
func (c *cursor) any(user string) (bool, error) {
	c.it.SetBounds(row.HeadKey(nil, user), row.EndKey(nil, user))
	there := c.it.First()
	if err := readIfFailed(c.it); err != nil {
		if errors.Is(err, store.ErrCorrupt) {
			return true, nil
		}
		return false, err
	}
	return there, nil
}

// each calls fn with the encoded events in rows of the revisions above after and up to last, which
// there must be. The bytes are valid until fn returns.
func (c *cursor) each(
	ctx context.Context, user string, after, last uint64,
	fn func(revision uint64, event []byte) error,
) error {
	want, err := c.pass(ctx, user, after+1, last, fn)
	switch {
	case err != nil:
		return err
	case want > last:
		return nil
	case c.it.Error() == nil:
		return missing(want)
	}
	if err := readIfFailed(c.it); !errors.Is(err, store.ErrCorrupt) {
		return err
	}
	return c.eachByKey(ctx, user, want, last, fn)
}

// pass calls fn with the events from revision want to last, in one pass over the rows, and returns
// the revision that it could not reach. It may be the error of the iterator that it could not.
func (c *cursor) pass(
	ctx context.Context, user string, want, last uint64,
	fn func(revision uint64, event []byte) error,
) (uint64, error) {
	c.bound(row.EventKey(nil, user, 0), row.EndKey(nil, user))
	c.key = row.EventKey(c.key, user, want+1)
	for valid := c.it.SeekLT(c.key); valid && want <= last; valid = c.it.Next() {
		if err := ctx.Err(); err != nil {
			return want, err
		}
		first, events, err := eventsAt(c.it, len(user))
		if err != nil {
			return want, fmt.Errorf("events from revision %d on: %w", want, err)
		}
		if want, err = eachOf(first, events, want, last, fn); err != nil {
			return want, err
		}
	}
	return want, nil
}

// eachByKey does what each does, in spite of damage to blocks that hold rows of other users. A pass
// over the rows meets those of its neighbours, and looks for rows in every table. Each row has the
// key that follows from the one before it, and by its key a row is found with the filters.
func (c *cursor) eachByKey(
	ctx context.Context, user string, want, last uint64,
	fn func(revision uint64, event []byte) error,
) error {
	for first := uint64(1); want <= last; {
		if err := ctx.Err(); err != nil {
			return err
		}
		c.key = row.EventKey(c.key, user, first)
		value, err := c.get()
		if value == nil && err == nil {
			err = missing(first)
		}
		var events []byte
		if err == nil {
			events, err = row.Events(c.key, value)
		}
		if err != nil {
			return fmt.Errorf("events from revision %d on: %w", first, err)
		}
		if want, err = eachOf(first, events, want, last, fn); err != nil {
			return err
		}
		for len(events) > 0 {
			if _, events, err = row.CutEvent(events); err != nil {
				return err
			}
			first++
		}
	}
	return nil
}

// eventsAt returns the revision of the first event in the row under the iterator, and the encoded
// events.
func eventsAt(it *lsm.Iterator, userLen int) (first uint64, events []byte, err error) {
	if first, err = row.RevisionOf(it.Key(), userLen); err != nil {
		return 0, nil, err
	}
	value, err := it.ValueAndErr()
	if err != nil {
		return 0, nil, engine.ReadError(err)
	}
	events, err = row.Events(it.Key(), value)
	return first, events, err
}

// eachOf calls fn with the events of one row from revision want to last, and returns the revision
// with which the next row is to go on.
func eachOf(
	first uint64, events []byte, want, last uint64, fn func(uint64, []byte) error,
) (uint64, error) {
	if first > want {
		return want, missing(want)
	}
	for revision := first; len(events) > 0 && want <= last; revision++ {
		event, rest, err := row.CutEvent(events)
		if err != nil {
			return want, err
		}
		events = rest
		if revision < want {
			continue
		}
		if err := fn(revision, event); err != nil {
			return want, err
		}
		want++
	}
	return want, nil
}

func missing(revision uint64) error {
	return fmt.Errorf("%w: the event of revision %d is missing", store.ErrCorrupt, revision)
}

// headInRows returns the version of the user's last event in rows, as the engine has them: of
// changes on their way to the disk, only the committer may know.
func (r reader) headInRows(user string) (store.Version, error) {
	c, err := r.cursor()
	if err != nil {
		return store.Version{}, err
	}
	defer c.close()
	return r.head(c, user)
}

// readIDs adds the ids of the events in rows up to a revision, which there must be.
func (r reader) readIDs(ids *recent.IDs, user string, last uint64) error {
	if last == 0 {
		return nil
	}
	c, err := r.cursor()
	if err != nil {
		return err
	}
	defer c.close()
	add := func(_ uint64, event []byte) error { return ids.Add(event) }
	return c.each(context.Background(), user, 0, last, add)
}

// anyInRows reports whether the engine has a row of the user.
func (r reader) anyInRows(user string) (bool, error) {
	c, err := r.cursor()
	if err != nil {
		return false, err
	}
	defer c.close()
	return c.any(user)
}

// eventInRows returns the event of a revision that is in rows.
func (r reader) eventInRows(user string, revision uint64) (e store.Event, err error) {
	c, err := r.cursor()
	if err != nil {
		return e, err
	}
	defer c.close()
	take := func(_ uint64, event []byte) (err error) {
		e, err = row.DecodeEvent(event)
		return err
	}
	err = c.each(context.Background(), user, revision-1, revision, take)
	return e, err
}

// load reads the history of a user who has no events in the journal.
func (r reader) load(user string) (*recent.History, error) {
	head, err := r.headInRows(user)
	if err != nil {
		return nil, err
	}
	ids := r.histories.NewIDs(head.Revision)
	if err := r.readIDs(&ids, user, head.Revision); err != nil {
		return nil, err
	}
	h := recent.NewHistory(user, head)
	h.SetIDs(ids)
	return h, nil
}

// prefetch brings the history of a user into memory if it is not there. Errors are left to the
// committer, which will meet them. If memory is full, the committer reads the history and lets go
// of others then: the call may be given up before.
func (r reader) prefetch(user string) {
	ticket, absent := r.histories.Absent(user)
	if !absent {
		return
	}
	if h, err := r.load(user); err == nil {
		r.histories.Offer(h, ticket)
	}
}

// errPresent says that a history that was not in memory has come there.
var errPresent = errors.New("the history is in memory")

// absentCursor returns a cursor for a history that is not in memory, and so wholly in rows. The
// rows may not be believed if the history came to memory before they were looked at: an erasure
// that removed them may not be durable yet.
// An offer of the history with the ticket is taken only if that still holds.
func (r reader) absentCursor(user string) (c *cursor, ticket uint64, err error) {
	ticket, absent := r.histories.Absent(user)
	if !absent {
		return nil, 0, errPresent
	}
	if c, err = r.cursor(); err != nil {
		return nil, 0, err
	}
	if now, absent := r.histories.Absent(user); !absent || now != ticket {
		c.close()
		return nil, 0, errPresent
	}
	return c, ticket, nil
}

// decoded returns a function that calls fn with the decoded event.
func decoded(fn func(uint64, store.Event) error) func(revision uint64, event []byte) error {
	return func(revision uint64, event []byte) error {
		e, err := row.DecodeEvent(event)
		if err != nil {
			return fmt.Errorf("event of revision %d: %w", revision, err)
		}
		return fn(revision, e)
	}
}

// Each implements [store.Store]. The versions are of one moment.
func (s *Store) Each(
	ctx context.Context, shard, of int, fn func(string, store.Version) error,
) error {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.Done()
	w, err := s.reader.walk(s.engine)
	if err != nil {
		return err
	}
	defer w.close()
	return w.users(ctx, func(user string, at *lsm.Iterator) error {
		if store.Shard(user, of) != shard {
			return nil
		}
		head, err := w.head(user, at)
		switch {
		case errors.Is(err, store.ErrCorrupt):
			w.skipped.Users++
			return nil
		case err != nil || head.Revision == 0:
			return err
		}
		return fn(user, s.reader.version(head))
	})
}

// headAt returns the version of the head row under the iterator.
func (r reader) headAt(it *lsm.Iterator) (head store.Version, err error) {
	user, err := row.UserOfHead(it.Key())
	if err != nil {
		return head, err
	}
	value, err := it.ValueAndErr()
	if err != nil {
		return head, engine.ReadError(err)
	}
	if head, err = row.DecodeHead(it.Key(), value); err == nil && head.Revision == 0 {
		err = errors.New("the head of a history says it is empty")
	}
	if err != nil {
		return head, fmt.Errorf("%w: head of a history: %w", store.ErrCorrupt, err)
	}
	if head.Mark == 0 {
		head.Mark = r.oldMark(user)
	}
	return head, nil
}
