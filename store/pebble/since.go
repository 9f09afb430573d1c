package pebble

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/recent"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
)

// Identity implements [store.Store].
func (s *Store) Identity() store.Identity {
	return store.Identity{ID: s.reader.id}
}

// version turns a version that is stored into the one that users of the store know, and back. The
// marks of a store that may have lost events differ from those before: a history may have got
// others in place of those that it lost.
func (r reader) version(v store.Version) store.Version {
	if v.Revision > 0 {
		v.Mark ^= r.branch
	}
	return v
}

// oldMark is the mark of a history without a stored one: those of format 3, and those whose head is
// damaged while the journal has later events. It is the same at every opening, and is stored when
// the head is written. An erasure ends it, since the next life draws a mark.
func (r reader) oldMark(user string) uint64 {
	sum := sha256.Sum256(append(r.id[:], user...))
	return max(binary.BigEndian.Uint64(sum[:]), 1)
}

// Since implements [store.Store].
func (s *Store) Since(
	ctx context.Context, user string, known store.Version,
	fn func(store.Version, store.Event) error,
) (head store.Version, same bool, err error) {
	if err := s.calls.Begin(ctx); err != nil {
		return head, false, err
	}
	defer s.calls.Done()
	if !row.Possible(user) {
		return head, known.Revision == 0, nil
	}
	if stored, present := s.histories.Head(user); present {
		head = s.reader.version(stored)
		if fn == nil || head == known {
			return head, recent.Begins(head, known), nil
		}
	}
	return s.reader.since(ctx, user, known, fn)
}

// snapshot returns what known lacks of a history, as of one moment, with a cursor of its rows. That
// is nil if none are wanted, and else must be closed. The marks are those that are stored.
func (r reader) snapshot(
	user string, known store.Version,
) (v recent.View, c *cursor, err error) {
	pin := func(rows recent.Rows) (err error) {
		if rows == nil {
			c, err = r.cursor()
		} else {
			c, err = cursorOf(rows.(*lsm.Snapshot))
		}
		return err
	}
	for {
		v, present, err := r.histories.View(user, known, pin)
		if present || err != nil {
			return v, c, err
		}
		c, _, err = r.absentCursor(user)
		if err == nil {
			v.Head, err = r.head(c, user)
			v.Rows = v.Head.Revision
		}
		if recent.Begins(v.Head, known) {
			v.After = known.Revision
		}
		if !errors.Is(err, errPresent) {
			return v, c, err
		}
	}
}

// since does what [store.Store.Since] says.
func (r reader) since(
	ctx context.Context, user string, known store.Version,
	fn func(store.Version, store.Event) error,
) (head store.Version, same bool, err error) {
	v, c, err := r.snapshot(user, r.version(known))
	if c != nil {
		defer c.close()
	}
	if err != nil {
		return head, false, err
	}
	head, same = r.version(v.Head), v.After == known.Revision
	if fn == nil {
		return head, same, nil
	}
	err = r.rest(ctx, user, v, c, func(revision uint64, e store.Event) error {
		return fn(store.Version{Revision: revision, Mark: head.Mark}, e)
	})
	return head, same, err
}

// read calls fn for the events of a user above a revision.
func (r reader) read(
	ctx context.Context, user string, after uint64, fn func(uint64, store.Event) error,
) error {
	v, c, err := r.snapshot(user, store.Version{})
	if c != nil {
		defer c.close()
	}
	if err != nil {
		return err
	}
	if v.After = after; after > v.Rows {
		v.Pending = v.Pending[min(after-v.Rows, uint64(len(v.Pending))):]
	}
	return r.rest(ctx, user, v, c, fn)
}

// rest calls fn for the events of a view.
func (r reader) rest(
	ctx context.Context, user string, v recent.View, c *cursor,
	fn func(uint64, store.Event) error,
) error {
	decode := decoded(fn)
	if v.After < v.Rows {
		if err := c.each(ctx, user, v.After, v.Rows, decode); err != nil {
			return err
		}
	}
	revision := max(v.After, v.Rows)
	for _, e := range v.Pending {
		if err := ctx.Err(); err != nil {
			return err
		}
		revision++
		if err := decode(revision, e.Bytes()); err != nil {
			return err
		}
	}
	return nil
}
