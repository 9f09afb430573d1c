package dataset

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"math"
	"slices"
	"time"
	"unicode"

	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/learn/dataset/internal/rows"
)

// SurveyedRows is the number of bad rows that a Survey holds.
const SurveyedRows = 20

// Survey says what is in the rows of files, the bad ones among them.
type Survey struct {
	*Report

	// Users, Items and Interactions are those of the good rows before the filters, each item of a
	// user once. OneItemUsers are users with a single item, OneUserItems items with a single user.
	Users, Items, Interactions int
	OneItemUsers, OneUserItems int

	// Busiest is the user with the most items, Popular the item with the most users, and their
	// Rows are these numbers; the first in bytewise order of several.
	Busiest, Popular Count

	// Timed tells that there are times, in seconds from Oldest to Newest. Disorder is the number of
	// rows that are older than the row before them in their file. With Report.OrdinalTimes they are
	// positions.
	Timed          bool
	Oldest, Newest int64
	Disorder       int64
	// A server refuses the times of Early rows, which are before 1970, and of Late rows, which are
	// more than event.MaxFuture ahead of now.
	Early, Late int64

	Types []Count // rows of each type, most first; nil without Options.TypeColumn

	Bad        []*RowError // the first SurveyedRows of the bad rows
	BadColumns []Count     // bad rows by column, most first; an empty name: the row as a whole
	LongIDs    int64       // bad rows with an id of more than event.MaxIDBytes
	OddIDs     int64       // good rows with an id such as NULL, NaN or 1.0
	SpacedIDs  int64       // good rows with white space around an id, or a control character in it
}

// Count is how often a name comes.
type Count struct {
	Name string `json:"name"`
	Rows int64  `json:"rows"`
}

// Inspect reads files as Read does and says what is in them. Options.MaxBadRows does not count: bad
// rows are in the survey, however many there are. If no row is good, or the filters leave nothing,
// the error is that of Read and the survey is there all the same. If reading ends early, as at a
// quote that is not closed, it is one of the rows before; after other errors there is none.
func Inspect(data []string, opt Options, now time.Time) (*Survey, *Interactions, error) {
	opt.MaxBadRows = math.MaxInt64
	l, err := newLoader(data, opt)
	if err != nil {
		return nil, nil, err
	}
	w := &surveyor{survey: &Survey{Report: l.report}, columns: map[string]int64{},
		latest: now.Add(event.MaxFuture).Unix()}
	l.surveyor = w
	if err := l.readAll(data); err != nil {
		if l.report.Rows == 0 {
			return nil, nil, err
		}
		w.end(l)
		return w.survey, nil, err
	}
	events, _, err := l.finish()
	w.end(l)
	if err != nil && !errors.Is(err, ErrNoData) {
		return nil, nil, err
	}
	return w.survey, events, err
}

// surveyor makes a survey of what a loader reads. A nil surveyor makes none.
type surveyor struct {
	survey  *Survey
	columns map[string]int64 // bad rows
	kinds   []int64          // rows by number of the type
	last    int64            // time of the row before in this file
	rows    bool             // there is such a row
	latest  int64            // time that a server takes now
}

// begin is called before the first row of a file.
func (w *surveyor) begin() {
	if w != nil {
		w.rows = false
	}
}

// row takes in a row, or the error of a bad one.
func (w *surveyor) row(r *rows.Row, err error, timed bool) {
	if w == nil {
		return
	}
	s := w.survey
	if bad, ok := err.(*RowError); ok { //nolint:errorlint // as loader.tolerate
		w.columns[bad.Column]++
		if errors.As(err, new(*rows.LongIDError)) {
			s.LongIDs++
		}
		if len(s.Bad) < SurveyedRows {
			s.Bad = append(s.Bad, bad)
		}
		return
	}
	for int(r.Kind) >= len(w.kinds) {
		w.kinds = append(w.kinds, 0)
	}
	w.kinds[r.Kind]++
	if oddID(r.User) || oddID(r.Item) {
		s.OddIDs++
	}
	if spacedID(r.User) || spacedID(r.Item) {
		s.SpacedIDs++
	}
	if !timed {
		return
	}
	if w.rows && r.Time < w.last {
		s.Disorder++
	}
	if r.Time < 0 {
		s.Early++
	}
	if r.Time > w.latest {
		s.Late++
	}
	if !s.Timed {
		s.Timed, s.Oldest, s.Newest = true, r.Time, r.Time
	}
	s.Oldest, s.Newest = min(s.Oldest, r.Time), max(s.Newest, r.Time)
	w.last, w.rows = r.Time, true
}

// oddID reports whether an id is what programs write where there is none, or a whole number as they
// write it in a column of floats.
func oddID(id []byte) bool {
	switch string(id) {
	case "NULL", "null", "NaN", "nan", "None", "<NA>", "N/A", `\N`:
		return true
	}
	whole, float := bytes.CutSuffix(id, []byte(".0"))
	return float && len(whole) > 0 && len(bytes.Trim(whole, "0123456789")) == 0
}

func spacedID(id []byte) bool {
	return len(bytes.TrimSpace(id)) < len(id) || bytes.ContainsFunc(id, unicode.IsControl)
}

// whole is called with the interactions before the filters.
func (w *surveyor) whole(d *Interactions) {
	if w == nil {
		return
	}
	s := w.survey
	s.Users, s.Items, s.Interactions = d.NumUsers(), d.NumItems(), d.Len()
	owners := make([]int32, d.NumItems())
	for _, item := range d.Item {
		owners[item]++
	}
	for i, n := range owners {
		if n == 1 {
			s.OneUserItems++
		}
		if int64(n) > s.Popular.Rows {
			s.Popular = Count{d.Items[i], int64(n)}
		}
	}
	for u := range d.Users {
		n := int64(len(d.Of(u)))
		if n == 1 {
			s.OneItemUsers++
		}
		if n > s.Busiest.Rows {
			s.Busiest = Count{d.Users[u], n}
		}
	}
}

// end fills in what is known when all is read.
func (w *surveyor) end(l *loader) {
	w.survey.BadColumns = countsOf(w.columns)
	if l.kinds == nil {
		return
	}
	types := map[string]int64{}
	names := l.kinds.Names()
	for kind, rows := range w.kinds {
		if rows > 0 {
			types[names[kind]] += rows
		}
	}
	w.survey.Types = countsOf(types)
}

// countsOf returns the counts, the largest first and equal ones by name.
func countsOf(rows map[string]int64) []Count {
	var counts []Count
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		counts = append(counts, Count{name, rows[name]})
	}
	slices.SortStableFunc(counts, func(a, b Count) int { return cmp.Compare(b.Rows, a.Rows) })
	return counts
}
