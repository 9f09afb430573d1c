package pebble

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/engine"
	"github.com/gsimc/gsimc/store/pebble/internal/mend"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
	"github.com/gsimc/gsimc/store/pebble/internal/table"
)

// left says how what is left of a damaged store was opened.
type left struct {
	files   vfs.FS // as they are on disk
	mend    *mend.FS
	refusal error // why the store cannot be opened; nil: it can
	loss    error // why it could not either if its flipped bits were flipped back
	out     []table.Span
}

// openRest opens what is left of a damaged store, to read it. refusal is why [OpenReadOnly] did
// not, or nil. Flipped bits of tables are flipped back in what is read. Only if that is not enough,
// tables are left out, and it is read on behind damage to the log and to the store's own rows.
func openRest(dir string, opts Options, refusal error) (*Reader, error) {
	m := mend.New(opts.FS, opts.FS.PathJoin(dir, engine.DataName))
	l := &left{files: opts.FS, mend: m, refusal: refusal}
	opts.FS, opts.AcceptLoss = m, false
	for {
		r, err := OpenReadOnly(dir, opts)
		more, failed := leaveOut(r, m, err) // an opening that failed left none open
		switch {
		case failed != nil || more:
		case err == nil:
			return r, l.of(r)
		case !opts.rest && errors.Is(err, store.ErrCorrupt):
			l.loss, opts.AcceptLoss, opts.rest = err, true, true
			opts.FS, failed = engine.CutLogs(m, dir)
		default:
			failed = err
		}
		if r != nil {
			failed = errors.Join(failed, r.Close())
		}
		if failed != nil {
			return nil, failed
		}
	}
}

// openDamaged opens what can be read of a store. An opening replays the journal, so a store that
// nothing had to be mended of is not opened again as it is: that would do.
func openDamaged(dir string, opts Options) (*Reader, error) {
	r, err := openRest(dir, opts, nil)
	if err != nil || r.left.loss == nil && len(r.left.out) == 0 && r.left.mend.Bits() == 0 {
		return r, err
	}
	if err := r.Close(); err != nil {
		return nil, err
	}
	r, refusal := OpenReadOnly(dir, opts)
	if refusal == nil {
		if err := r.Close(); err != nil {
			return nil, err
		}
	}
	return openRest(dir, opts, refusal)
}

// of notes what the reader of a store does without.
func (l *left) of(r *Reader) error {
	r.left = l
	tables, err := r.engine.Tables()
	if err != nil {
		return errors.Join(err, r.Close())
	}
	for _, t := range tables {
		if l.mend.LeftOut(t.Name) {
			l.out = append(l.out, table.Span{Lower: t.Smallest, Upper: above(t.Largest)})
		}
	}
	return nil
}

// leaveOut leaves those tables out without which an opening that failed may do better; and those of
// an open store of which nothing can be known. It reports whether there are more than before.
func leaveOut(r *Reader, m *mend.FS, opening error) (more bool, err error) {
	if opening != nil {
		return m.LeaveOutMissing(opening)
	}
	tables, err := r.engine.Tables()
	if err != nil {
		return false, err
	}
	for _, t := range tables {
		err := table.Readable(m, t.Path)
		switch {
		case err == nil || m.LeftOut(t.Name):
		case !engine.Damaged(err):
			return false, fmt.Errorf("reading a table: %w", err)
		default:
			more = true
			if err := m.LeaveOut(t.Name, t.Bytes); err != nil {
				return false, err
			}
		}
	}
	return more, nil
}

// restOfHeader returns what can be read of the rows of the store itself, when some cannot. The
// format is taken for that of this program.
func restOfHeader(db *lsm.DB) header {
	h := header{format: formatNumber, users: -1, rest: true}
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
	spans, err := knownDamage(e)
	if err != nil {
		return 0, false, err
	}
	var first []byte
	for _, span := range spans {
		behind := bytes.Compare(span.Upper, key) > 0
		if behind && (first == nil || bytes.Compare(span.Upper, first) < 0) {
			first = span.Upper
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
