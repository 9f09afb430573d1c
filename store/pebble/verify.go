package pebble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/engine"
	"github.com/gsimc/gsimc/store/pebble/internal/mend"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
	"github.com/gsimc/gsimc/store/pebble/internal/table"
)

// Report is the outcome of an inspection of a whole store.
type Report struct {
	// Tables and Bytes are those that were looked at.
	Tables int
	Bytes  int64
	// Damaged are the names of the damaged tables, LeftOut of them those of which nothing can be
	// read: they are cut off, gone, or damaged in their index.
	Damaged []string
	LeftOut int
	// Mendable is the number of flipped bits in tables in which nothing else is damaged. Salvage
	// flips them back in what it reads.
	Mendable int
	// Users is the number of users who were found, Incomplete that of those whose history is not
	// whole, Doubtful of those with a [Doubtful] one, and Events the events that can be read.
	Users, Incomplete, Doubtful, Events int64
	// Items is the number of items of the catalogue, DamagedItems that of those that cannot be
	// read.
	Items, DamagedItems int64
	// DoubtfulItems says that items, or newer rows of some, may be missing: they stood in a table
	// that is left out, or at the end of a log.
	DoubtfulItems bool
	// Unnamed are the damaged ranges of keys of users, as the ids of users between which they lie.
	// Users whose rows all stand in them were not found. Ids are in the order of their length
	// first; an empty one is that of no user.
	Unnamed [][2]string
	// Existed is the number of users that there were at the time AsOf. A zero AsOf stands for the
	// last commit, or the last one that can be read if there is a Loss. A negative Existed is not
	// known: the store was begun by a program that did not count users, or it had lost commits
	// earlier. It is wrong by the users whose heads had been lost to damage earlier.
	Existed int64
	AsOf    time.Time
	// Refusal is why the store cannot be opened, or nil. Loss is why it could not be opened either
	// if its flipped bits were flipped back, or nil: then events are missing that nothing is left
	// of, and histories that seem whole may be without their last ones.
	Refusal, Loss error
	// LostCommits is the number of commits of which that may be so, at most, besides those of the
	// last 100 ms before a crash; negative: not known.
	LostCommits int64
}

// Whole reports whether nothing is damaged.
func (r *Report) Whole() bool {
	return r.Refusal == nil && len(r.Damaged) == 0 && r.Incomplete == 0 && r.DamagedItems == 0
}

// Lost returns the number of users who were not found: they stood only in what cannot be read. It
// is a lower bound, but about right if AsOf is set: users may have begun or been erased since.
// Negative: it is not known.
func (r *Report) Lost() int64 {
	if len(r.Unnamed) == 0 && r.Loss == nil {
		return 0
	}
	if r.Existed < 0 {
		return -1
	}
	return max(0, r.Existed-r.Users)
}

// Condition is that of a history.
type Condition int

// Conditions of histories.
const (
	Whole   Condition = iota
	Damaged           // some of it cannot be read
	// Doubtful histories can be read. But a table that is left out may have had newer rows of the
	// user: the history may be without its last events, or the user may have been erased.
	Doubtful
)

// Verify checks each block of each table, and each history, in a store that no process has open,
// without changing it. It calls progress with the bytes of tables looked at and all, and told with
// each user whose history is not whole. What it says of a store that opens is what a server meets;
// of one that does not, what [Salvage] finds. The error wraps [store.ErrCorrupt] if nothing can be
// read.
func Verify(
	ctx context.Context, dir string, opts Options,
	progress func(done, total int64), told func(user string, c Condition) error,
) (*Report, error) {
	opts = opts.withDefaults()
	r, refusal := OpenReadOnly(dir, opts)
	if refusal != nil {
		var err error
		if r, err = openRest(dir, opts, refusal); err != nil {
			return nil, err
		}
	}
	report, err := r.inspect(ctx, progress, func(user string, c Condition) error {
		if c == Whole {
			return nil
		}
		return told(user, c)
	})
	return report, errors.Join(err, r.Close())
}

// verifyWhole looks at a store that should be whole.
func verifyWhole(
	ctx context.Context, dir string, opts Options, progress func(done, total int64),
) (*Report, error) {
	r, err := Verify(ctx, dir, opts, progress, func(string, Condition) error { return nil })
	if err == nil && r.Refusal != nil {
		return nil, r.Refusal
	}
	return r, err
}

// inspection is a look at a whole store.
type inspection struct {
	*Reader
	report Report
	files  vfs.FS // as they are on disk
	fn     func(user string, c Condition) error
}

// inspect calls fn for every user who can be found.
func (r *Reader) inspect(
	ctx context.Context, progress func(done, total int64),
	fn func(user string, c Condition) error,
) (*Report, error) {
	i := &inspection{Reader: r, files: r.engine.FS(), fn: fn}
	if r.left != nil {
		i.files, i.report.Refusal, i.report.Loss = r.left.files, r.left.refusal, r.left.loss
		seal, _ := errors.AsType[*SealError](r.left.loss)
		i.report.DoubtfulItems = r.left.loss != nil && (seal == nil || !seal.Tables) // in no commit
	}
	damaged, err := i.tables(ctx, progress)
	if err != nil {
		return nil, err
	}
	w, err := r.reader.walk(r.engine)
	if err != nil {
		return nil, err
	}
	defer w.close()
	w.visit = func(user string, at *lsm.Iterator) error { return i.user(ctx, user, at != nil) }
	if _, err := w.leaveOut(ctx, damaged, row.FirstUserKey); err != nil {
		return nil, err
	}
	err = w.users(ctx, w.visit)
	if _, ok := errors.AsType[*store.SkippedError](err); err != nil && !ok {
		return nil, err
	}
	i.unnamed(w.damaged)
	i.counts()
	return &i.report, i.items(ctx)
}

// tables looks at each table and returns the damaged ranges of keys.
func (i *inspection) tables(
	ctx context.Context, progress func(done, total int64),
) (damaged []table.Span, err error) {
	tables, err := i.engine.Tables()
	if err != nil {
		return nil, err
	}
	total := int64(0)
	for _, t := range tables {
		total += t.Bytes
	}
	for _, t := range tables {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		spans, err := i.table(t)
		if err != nil {
			return nil, err
		}
		damaged = append(damaged, spans...)
		progress(i.report.Bytes, total)
	}
	return damaged, nil
}

// items reads the catalogue. Damage that hides the items behind it counts as one of them.
func (i *inspection) items(ctx context.Context) error {
	err := i.reader.eachItem(ctx, "", func(_ store.Item, damage error) error {
		if damage != nil {
			i.report.DamagedItems++
		} else {
			i.report.Items++
		}
		return nil
	})
	if errors.Is(err, store.ErrCorrupt) {
		i.report.DamagedItems++
		return nil
	}
	return err
}

// table looks at one table and returns the damaged ranges of keys.
func (i *inspection) table(t engine.Table) ([]table.Span, error) {
	i.report.Tables++
	i.report.Bytes += t.Bytes
	err := table.Whole(i.files, t.Path)
	if err == nil {
		return nil, nil
	}
	if !engine.Damaged(err) && (i.left == nil || !i.left.mend.LeftOut(t.Name)) {
		return nil, fmt.Errorf("reading a table: %w", err)
	}
	i.report.Damaged = append(i.report.Damaged, t.Name)
	if m := mend.New(i.files, i.files.PathDir(t.Path)); table.Whole(m, t.Path) == nil {
		i.report.Mendable += m.Bits()
	}
	return damagedSpans(i.engine.FS(), t)
}

// user reads the history of a user. There must be one if there are rows that no erasure removed.
func (i *inspection) user(ctx context.Context, user string, rows bool) error {
	events := int64(0)
	err := i.reader.read(ctx, user, 0, func(uint64, store.Event) error { events++; return nil })
	if rows && err == nil && events == 0 {
		err = missing(1)
	}
	c := Whole
	switch {
	case errors.Is(err, store.ErrCorrupt):
		i.report.Incomplete++
		c = Damaged
	case err != nil:
		return err
	case events == 0:
		return nil // erased
	case i.leftOut(row.HeadKey(nil, user), row.EndKey(nil, user)):
		i.report.Doubtful++
		c = Doubtful
	}
	i.report.Users++
	i.report.Events += events
	return i.fn(user, c)
}

// leftOut reports whether a table that is left out may have had rows from a key up to another one.
func (i *inspection) leftOut(first, last []byte) bool {
	return i.left != nil && slices.ContainsFunc(i.left.out, func(s table.Span) bool {
		return bytes.Compare(first, s.Upper) < 0 && bytes.Compare(s.Lower, last) <= 0
	})
}

// unnamed notes the ranges in which users may stand who were not found.
func (i *inspection) unnamed(damaged []table.Span) {
	if i.left != nil {
		i.report.LeftOut = len(i.left.out)
		damaged = append(damaged, i.left.out...)
	}
	for _, span := range damaged {
		if i.leftOut(span.Lower, span.Upper) && bytes.Compare(span.Lower, row.ItemEnd) < 0 {
			i.report.DoubtfulItems = true
		}
		if bytes.Compare(span.Upper, row.FirstUserKey) > 0 {
			ids := [2]string{row.Near(span.Lower), row.Near(span.Upper)}
			i.report.Unnamed = append(i.report.Unnamed, ids)
		}
	}
}

// counts says how many users and commits there were. The mark knows of commits that the store has
// lost.
func (i *inspection) counts() {
	i.report.Existed, i.report.LostCommits = i.users, -1
	m := i.engine.Marked()
	if m == nil || !i.header.rest && m.ID != i.header.id {
		return
	}
	if m.Users >= 0 && (i.users < 0 || m.Commit > i.commit) {
		i.report.Existed, i.report.AsOf = m.Users, m.At
	}
	first := i.header.emptied // the rows up to it are in those of users
	if i.header.rest {
		first = 0
	}
	i.report.LostCommits = int64(max(m.Commit, i.commit) - first - i.journal)
	if _, sealed := errors.AsType[*SealError](i.report.Loss); sealed && i.report.LostCommits == 0 {
		i.report.Loss = nil // the mark of a store that was closed is that of its last commit
	}
}
