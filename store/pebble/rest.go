package pebble

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/engine"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
)

// restOfHeader returns what can be read of the rows of the store itself, when some cannot. The
// format is taken for that of this program.
func restOfHeader(db *lsm.DB) header {
	h := header{format: formatNumber}
	_ = get(db, row.IdentityKey, func(value []byte) (err error) {
		h.id, err = row.DecodeIdentity(value)
		return err
	})
	var err error
	if h.emptied, err = number(db, row.EmptiedKey); err != nil {
		if h.emptied, err = beforeJournal(db); err != nil {
			h.emptied = 0
		}
	}
	return h
}

// restOfJournal returns a reader of those rows of the journal that are whole. Users with events in
// the others have a gap in their histories, unless these are their last ones.
func restOfJournal(e *engine.Engine) journalReader {
	return func(
		ctx context.Context, db *lsm.DB, after uint64, fn func(key, value []byte) error,
	) error {
		for {
			last := after
			err := eachJournalRow(ctx, db, after, func(key, value []byte) error {
				number, err := row.JournalNumber(key)
				if err == nil {
					last = number
					err = fn(key, value)
				}
				if errors.Is(err, store.ErrCorrupt) {
					return nil // nothing of the row has been taken
				}
				return err
			})
			if !errors.Is(err, store.ErrCorrupt) {
				return err
			}
			next, found, err := behindDamage(e, row.JournalKey(nil, last+1))
			if err != nil || !found {
				return err
			}
			after = next - 1
		}
	}
}

// behindDamage returns the number of the first row of the journal behind the damaged block that
// comes first after a key.
func behindDamage(e *engine.Engine, key []byte) (number uint64, found bool, err error) {
	known, ok := errors.AsType[*store.DamageError](e.Damage())
	if !ok {
		return 0, false, nil
	}
	tables, err := e.Tables()
	if err != nil {
		return 0, false, err
	}
	var first []byte
	for _, t := range tables {
		if !slices.Contains(known.Files, t.Name) {
			continue
		}
		spans, err := damagedSpans(e.FS(), t)
		if err != nil {
			return 0, false, err
		}
		for _, span := range spans {
			behind := bytes.Compare(span.Upper, key) > 0
			if behind && (first == nil || bytes.Compare(span.Upper, first) < 0) {
				first = span.Upper
			}
		}
	}
	digits, inJournal := bytes.CutPrefix(first, row.JournalPrefix)
	if !inJournal {
		return 0, false, nil
	}
	var whole [8]byte
	copy(whole[:], digits)
	number = binary.BigEndian.Uint64(whole[:])
	if len(digits) > len(whole) {
		number++ // the key is above that of the row
	}
	return number, true, nil
}
