package dataset

import (
	"fmt"
	"math"

	"github.com/gsimc/gsimc/learn/dataset/internal/rows"
)

// Builder makes interactions of events that come one at a time, from anywhere but files, by the
// rules of [Read]: the histories are sorted by time, with ties in the order of the calls, and each
// item of a user counts at its first place.
//
// Make one with [NewBuilder], call Add for every event and Interactions at the end. It is not safe
// for concurrent use.
type Builder struct {
	source   string
	load     loader
	weighted bool // a weight other than 1 was added
}

// NewBuilder returns a builder without events. source names their origin in errors. Of the options
// the filters and MaxBadRows count.
func NewBuilder(source string, opt Options) (*Builder, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	load := loader{opt: opt, users: newIndex(), items: newIndex(), report: &Report{}, dated: true}
	load.kept = columnSet{time: true, weight: true}
	return &Builder{source: source, load: load}, nil
}

// Add adds an event at a time in seconds since 1970. An event whose weight is not above 0 shows no
// liking: it is left out and counted in Report.Unliked.
//
// A bad id, time or weight is a *RowError, whose line is the number of the event; see
// Options.MaxBadRows.
func (b *Builder) Add(user, item string, time int64, weight float64) error {
	l := &b.load
	l.report.Rows++
	if weight <= 0 {
		l.report.Unliked++
		return nil
	}
	if column, err := checkEvent(user, item, time, weight); err != nil {
		return l.tolerate(rows.NewError(b.source, l.report.Rows, column, err))
	}
	b.weighted = b.weighted || weight != 1
	u, i := l.users.of([]byte(user)), l.items.of([]byte(item))
	if err := l.columns.add(u, i, time, float32(weight), 0, l.kept); err != nil {
		return fmt.Errorf("%s: %w", b.source, err)
	}
	return nil
}

// checkEvent returns why an event of a weight above 0 is refused, or nil.
func checkEvent(user, item string, time int64, weight float64) (column string, err error) {
	if err = rows.CheckID([]byte(user)); err != nil {
		return "user", err
	}
	if err = rows.CheckID([]byte(item)); err != nil {
		return "item", err
	}
	if time < rows.MinTime || time > rows.MaxTime {
		return "time", rows.Refusef("%d seconds since 1970 is outside the years 0 to 9999", time)
	}
	if w := float32(weight); !(w > 0) || math.IsInf(float64(w), 0) {
		return "weight", rows.Refusef("weight %v, want a finite number", weight)
	}
	return "", nil
}

// Interactions returns the events. They have no weights if all of these are 1. The error is that of
// [Read] if nothing is left. The builder is used up.
func (b *Builder) Interactions() (*Interactions, *Report, error) {
	r := b.load.report
	if b.load.columns.rows == 0 {
		return nil, nil, fmt.Errorf(
			"%s: %w: %s, %d of them bad and %d of a weight that is not above 0", b.source,
			ErrNoData, counted(r.Rows, "event"), r.BadRows, r.Unliked)
	}
	if !b.weighted {
		b.load.columns.weight = nil
	}
	return b.load.finish()
}
