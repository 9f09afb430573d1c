package pebble

import (
	"context"

	"errors"
	"fmt"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/engine"
	"github.com/gsimc/gsimc/store/pebble/internal/mark"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
)

const (
	// formatNumber is the format of keys and values that this program writes.
	formatNumber = 4
	// formatWithoutMarks is the format before it: the heads of histories and the first events in
	// the journal have no marks. Opening turns it into the newest one, except to read. That changes
	// the number alone: a head gets its mark when it is written again, and until then the mark
	// follows from the user, see [reader.oldMark].
	formatWithoutMarks = 3
	// formatWithoutID is the format before that. It has no id, and the numbers of the journal begin
	// anew when it is empty. Opening turns it into the newest one too.
	formatWithoutID = 2
)

// header is what the rows of the store itself say, except the journal.
type header struct {
	format  uint64
	id      mark.ID
	emptied uint64 // number of the last row that was removed from the journal
	branch  uint64 // changes the marks of all histories; 0: nothing was ever lost
	users   int64  // with events, as of the row emptied; negative: not known
	rest    bool   // it was damaged, see [restOfHeader]
}

// write writes the rows of the store itself, in the newest format.
func (h header) write(db *lsm.DB) error {
	b := db.NewBatch()
	return errors.Join(h.set(b), b.Commit(lsm.Sync))
}

func (h header) set(b *lsm.Batch) error {
	err := errors.Join(
		b.Set(row.FormatKey, row.EncodeNumber(nil, row.FormatKey, formatNumber), nil),
		b.Set(row.IdentityKey, row.EncodeIdentity(h.id), nil),
		b.Set(row.EmptiedKey, row.EncodeNumber(nil, row.EmptiedKey, h.emptied), nil),
	)
	if h.branch != 0 {
		err = errors.Join(err,
			b.Set(row.BranchKey, row.EncodeNumber(nil, row.BranchKey, h.branch), nil))
	}
	if h.users < 0 {
		return errors.Join(err, b.Delete(row.UsersKey, nil))
	}
	return errors.Join(err, b.Set(row.UsersKey, row.EncodeUsers(h.emptied, h.users), nil))
}

// upgrade brings a store to the newest format, and lets it branch off if it may have lost events.
func (l *loaded) upgrade(ctx context.Context, e *engine.Engine) error {
	last := l.editor.LastRow()
	branches := last > 0 && (l.gap || !e.Unbroken(l.id, last))
	if l.format == formatNumber && !branches {
		return nil
	}
	if branches {
		l.branch = store.DrawMark()
	}
	l.format = formatNumber
	return e.DoOpening(ctx, func() error { return l.write(e.DB) })
}

// readHeader reads the rows of the store itself. It refuses a store whose rows this program cannot
// read.
func readHeader(db *lsm.DB) (h header, err error) {
	h.format, err = number(db, row.FormatKey)
	switch {
	case errors.Is(err, lsm.ErrNotFound):
		return h, fmt.Errorf("%w: the format number is missing: restore the store from a backup",
			store.ErrCorrupt)
	case err != nil:
		return h, fmt.Errorf("format number: %w", err)
	case h.format == formatWithoutID:
		h.users = -1
		h.id = mark.NewID() // the marks of histories follow from it
		h.emptied, err = beforeJournal(db)
		return h, err
	case h.format != formatNumber && h.format != formatWithoutMarks:
		return h, fmt.Errorf("the store has format %d, this program knows format %d: "+
			"use the version of the program that wrote it", h.format, formatNumber)
	}
	if h.emptied, err = number(db, row.EmptiedKey); err != nil {
		return h, missingRow("number of the journal", err)
	}
	if h.users, err = users(db, h.emptied); err != nil {
		return h, fmt.Errorf("number of users: %w", err)
	}
	h.branch, err = number(db, row.BranchKey)
	if err != nil && !errors.Is(err, lsm.ErrNotFound) {
		return h, fmt.Errorf("branch of the store: %w", err)
	}
	err = get(db, row.IdentityKey, func(value []byte) (err error) {
		h.id, err = row.DecodeIdentity(value)
		return err
	})
	return h, missingRow("id", err)
}

// missingRow words the error of a row that every store has.
func missingRow(what string, err error) error {
	if errors.Is(err, lsm.ErrNotFound) {
		return fmt.Errorf("%w: the %s of the store is missing: restore the store from a backup",
			store.ErrCorrupt, what)
	}
	if err != nil {
		return fmt.Errorf("%s of the store: %w", what, err)
	}
	return nil
}

// beforeJournal returns the number before that of the first row of the journal.
func beforeJournal(db *lsm.DB) (uint64, error) {
	it, err := db.NewIter(&lsm.IterOptions{
		LowerBound: row.JournalPrefix, UpperBound: row.FirstUserKey,
	})
	if err != nil {
		return 0, engine.ReadError(err)
	}
	defer func() { _ = it.Close() }() // its errors are those of it.Error
	if !it.First() {
		return 0, readIfFailed(it)
	}
	first, err := row.JournalNumber(it.Key())
	return max(first, 1) - 1, err
}

// number returns the number in a row.
func number(db *lsm.DB, key []byte) (n uint64, err error) {
	err = get(db, key, func(value []byte) (err error) {
		n, err = row.DecodeNumber(key, value)
		return err
	})
	return n, err
}

// users returns the number of users as of the row of the journal that was removed last; negative:
// it is not known, because the store was begun by a program that did not count them.
func users(db *lsm.DB, emptied uint64) (n int64, err error) {
	err = get(db, row.UsersKey, func(value []byte) error {
		at, counted, err := row.DecodeUsers(value)
		if n = counted; at != emptied {
			n = -1
		}
		return err
	})
	if errors.Is(err, lsm.ErrNotFound) {
		return -1, nil
	}
	return n, err
}

// get calls fn with the value of a row. The error is [lsm.ErrNotFound] if there is none.
func get(db *lsm.DB, key []byte, fn func(value []byte) error) error {
	value, closer, err := db.Get(key)
	if errors.Is(err, lsm.ErrNotFound) {
		return err
	}
	if err != nil {
		return engine.ReadError(err)
	}
	defer func() { _ = closer.Close() }() // it only releases memory
	return fn(value)
}
