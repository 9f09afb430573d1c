package pebble

import (
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
	formatNumber = 3
	// formatWithoutID is the format before it. It has no id, and the numbers of the journal begin
	// anew when it is empty. Opening turns it into the newer one, except to read.
	formatWithoutID = 2
)

// header is what the rows of the store itself say, except the journal.
type header struct {
	format  uint64
	id      mark.ID
	emptied uint64 // number of the last row that was removed from the journal
}

// writeFirstRows makes a new engine a store.
func writeFirstRows(db *lsm.DB, id mark.ID) error { return writeHeader(db, id, 0) }

// writeHeader writes the rows of the store itself, in the newest format.
func writeHeader(db *lsm.DB, id mark.ID, emptied uint64) error {
	b := db.NewBatch()
	return errors.Join(setHeader(b, id, emptied), b.Commit(lsm.Sync))
}

func setHeader(b *lsm.Batch, id mark.ID, emptied uint64) error {
	return errors.Join(
		b.Set(row.FormatKey, row.EncodeNumber(nil, row.FormatKey, formatNumber), nil),
		b.Set(row.IdentityKey, row.EncodeIdentity(id), nil),
		b.Set(row.EmptiedKey, row.EncodeNumber(nil, row.EmptiedKey, emptied), nil),
	)
}

// upgrade gives a store of the older format an id.
func (l *loaded) upgrade(e *engine.Engine) error {
	if l.format == formatNumber {
		return nil
	}
	l.id, l.format = mark.NewID(), formatNumber
	return e.Do(func() error { return writeHeader(e.DB, l.id, l.emptied) })
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
		h.emptied, err = beforeJournal(db)
		return h, err
	case h.format != formatNumber:
		return h, fmt.Errorf("the store has format %d, this program knows format %d: "+
			"use the version of the program that wrote it", h.format, formatNumber)
	}
	if h.emptied, err = number(db, row.EmptiedKey); err != nil {
		return h, missingRow("number of the journal", err)
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
