package pebble

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/engine"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
	"github.com/gsimc/gsimc/store/pebble/internal/table"
)

// A walk visits the users of a store as of one moment, each once, in spite of damaged blocks.
//
// It passes over the rows of all users. Where a table is damaged, it skips the damaged range; users
// who also have a row in another table are then looked up one by one. Users whose rows all stand in
// damaged blocks cannot be found.
type walk struct {
	reader  reader
	engine  *engine.Engine
	it      *lsm.Iterator            // of the rows of users
	keys    *cursor                  // of the same moment; nil: not needed so far
	heads   map[string]store.Version // of users for whom the rows are out of date
	visit   visitor
	damaged []table.Span
	seen    map[string]bool // visited out of the order of keys
	last    string          // the last one visited in that order, who may have rows behind damage
	skipped store.SkippedError
}

// A visitor is told of a user, with the iterator at the first row of the user, or nil if there may
// be no row. It must not change the bounds of the iterator. Damage to the rows of the user is no
// error of it.
type visitor func(user string, at *lsm.Iterator) error

// walk begins a walk, which must be closed.
func (r reader) walk(e *engine.Engine) (*walk, error) {
	w := &walk{reader: r, engine: e, seen: map[string]bool{}}
	var err error
	w.heads, err = r.histories.Heads(func() (err error) {
		w.it, err = r.db.NewIter(&lsm.IterOptions{LowerBound: row.FirstUserKey})
		return err
	})
	if err != nil {
		return nil, engine.ReadError(err)
	}
	return w, nil
}

// close releases the walk.
func (w *walk) close() {
	_ = w.it.Close() // its errors are those of it.Error
	if w.keys != nil {
		w.keys.close()
	}
}

// users calls visit for every user who can be found. It returns the first error of visit as it is,
// and at the end a [*store.SkippedError] if users may be missing.
func (w *walk) users(ctx context.Context, visit visitor) error {
	w.visit = visit
	if err := w.rows(ctx); err != nil {
		return err
	}
	for user := range w.heads { // users with nothing in rows
		if err := ctx.Err(); err != nil {
			return err
		}
		if w.seen[user] {
			continue
		}
		if err := visit(user, nil); err != nil {
			return err
		}
	}
	w.skipped.Ranges = len(w.damaged)
	if w.skipped != (store.SkippedError{}) {
		return &w.skipped
	}
	return nil
}

// rows visits the users with rows.
func (w *walk) rows(ctx context.Context) error {
	for lower := row.FirstUserKey; ; {
		gap := w.gap(lower)
		if gap.Lower == nil || bytes.Compare(lower, gap.Lower) < 0 {
			w.it.SetBounds(lower, gap.Lower)
			reached, err := w.pass(ctx, lower)
			if err != nil {
				return err
			}
			if damage := readIfFailed(w.it); damage != nil {
				// A block before the key may be damaged too: a search goes on from where it was.
				advanced := bytes.Compare(lower, reached) < 0
				if found, err := w.locate(ctx, reached); err != nil || !found && !advanced {
					return errors.Join(err, damage)
				}
				lower = reached
				continue
			}
		}
		if gap.Lower == nil {
			return nil
		}
		lower = gap.Upper
	}
}

// gap returns the first damaged range that ends above a key; the zero span if there is none.
func (w *walk) gap(lower []byte) (first table.Span) {
	for _, span := range w.damaged { // in the order of their beginnings
		if bytes.Compare(span.Upper, lower) > 0 {
			return span
		}
	}
	return first
}

// pass visits the users with rows within the bounds of the iterator, and returns the key up to
// which it came, from lower on. The error is that of a visit.
func (w *walk) pass(ctx context.Context, lower []byte) (reached []byte, err error) {
	reached = lower
	var end []byte
	for valid := w.it.First(); valid; valid = w.it.SeekGE(end) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		user, err := row.UserOf(w.it.Key())
		if err != nil {
			return nil, err
		}
		if !w.seen[user] && user != w.last {
			w.last = user
			if err := w.visit(user, w.it); err != nil {
				return nil, err
			}
		}
		delete(w.heads, user)
		end = row.EndKey(end, user)
		reached = end
	}
	return bytes.Clone(reached), nil
}

// locate looks for the damaged blocks that hold keys from one on, in the tables that are known to
// be damaged. It visits the users with rows in their ranges, and reports whether there was a range
// that was not known before.
func (w *walk) locate(ctx context.Context, from []byte) (found bool, err error) {
	spans, err := knownDamage(w.engine)
	if err != nil || len(spans) == 0 {
		return false, err
	}
	return w.leaveOut(ctx, spans, from)
}

// leaveOut makes ranges of keys known as damaged, and visits the users with rows in them, if they
// are not before a key. It reports whether a range is new.
func (w *walk) leaveOut(
	ctx context.Context, spans []table.Span, from []byte,
) (found bool, err error) {
	for _, span := range spans {
		isKnown := func(known table.Span) bool {
			return bytes.Equal(known.Lower, span.Lower) && bytes.Equal(known.Upper, span.Upper)
		}
		if bytes.Compare(span.Upper, from) <= 0 || slices.ContainsFunc(w.damaged, isKnown) {
			continue
		}
		found = true
		w.damaged = append(w.damaged, span)
		if err := w.within(ctx, span, from); err != nil {
			return false, err
		}
	}
	slices.SortFunc(w.damaged, func(a, b table.Span) int {
		return cmp.Or(bytes.Compare(a.Lower, b.Lower), bytes.Compare(a.Upper, b.Upper))
	})
	return found, nil
}

// within visits the users with rows in a damaged range that stand in whole blocks.
func (w *walk) within(ctx context.Context, span table.Span, from []byte) error {
	const attempts = 3
	for attempt := 1; ; attempt++ {
		err := w.withinTables(ctx, span, from)
		if !errors.Is(err, fs.ErrNotExist) || attempt == attempts {
			return err
		}
		// A merging that began before the damage was known has just replaced a table.
	}
}

func (w *walk) withinTables(ctx context.Context, span table.Span, from []byte) error {
	tables, err := w.engine.Tables()
	if err != nil {
		return err
	}
	for _, t := range tables {
		if bytes.Compare(t.Largest, span.Lower) < 0 || bytes.Compare(t.Smallest, span.Upper) >= 0 {
			continue
		}
		var visiting error
		_, err := table.Keys(w.engine.FS(), t.Path, span, func(key []byte) error {
			visiting = w.one(ctx, key, from)
			return visiting
		})
		if visiting != nil {
			return visiting
		}
		if err != nil && !engine.Damaged(err) {
			return err
		}
	}
	return nil
}

// one visits the user of a row in a table, if that has not been done. The row may have been removed
// since.
func (w *walk) one(ctx context.Context, key, from []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	user, err := row.UserOf(key)
	if err != nil || w.seen[user] || bytes.Compare(row.HeadKey(nil, user), from) < 0 {
		return nil // it is no row of a user, or of one who was visited
	}
	w.seen[user] = true
	return w.visit(user, nil)
}

// head returns the version of a user who is visited; the zero version: there is no history.
func (w *walk) head(user string, at *lsm.Iterator) (store.Version, error) {
	if newer, ok := w.heads[user]; ok {
		return newer, nil
	}
	if at != nil {
		if head, err := w.reader.headAt(at); err == nil {
			return head, nil
		}
	}
	if w.keys == nil {
		it, err := w.it.Clone(lsm.CloneOptions{IterOptions: &lsm.IterOptions{UseL6Filters: true}})
		if err != nil {
			return store.Version{}, engine.ReadError(err)
		}
		w.keys = &cursor{it: it}
	}
	head, err := w.reader.head(w.keys, user)
	if err == nil && head.Revision == 0 && at != nil {
		err = missing(1)
	}
	return head, err
}

// above returns the key after another one.
func above(key []byte) []byte { return append(bytes.Clone(key), 0) }

// knownDamage returns the ranges of keys of the damaged blocks in the tables that are known to be
// damaged.
func knownDamage(e *engine.Engine) (spans []table.Span, err error) {
	known, ok := errors.AsType[*store.DamageError](e.Damage())
	if !ok {
		return nil, nil
	}
	tables, err := e.Tables()
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		if slices.Contains(known.Files, t.Name) {
			of, err := damagedSpans(e.FS(), t)
			if err != nil {
				return nil, err
			}
			spans = append(spans, of...)
		}
	}
	return spans, nil
}

// damagedSpans returns the ranges of keys of the damaged blocks of a table, or of all of it if its
// index is damaged.
func damagedSpans(files vfs.FS, t engine.Table) ([]table.Span, error) {
	after := above(t.Largest)
	spans, err := table.Keys(files, t.Path, table.Span{}, func([]byte) error { return nil })
	switch {
	case engine.Damaged(err):
		return []table.Span{{Lower: t.Smallest, Upper: after}}, nil
	case err != nil:
		return nil, err
	}
	for n := range spans {
		spans[n].Lower = slices.MaxFunc([][]byte{spans[n].Lower, t.Smallest}, bytes.Compare)
		if spans[n].Upper == nil {
			spans[n].Upper = after
		}
	}
	return spans, nil
}
