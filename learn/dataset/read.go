package dataset

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/learn/dataset/internal/rows"
)

// progressRows is the number of rows between two calls of Options.Progress.
const progressRows = 1 << 16

// endOf1970 is the number of seconds of the year 1970: see Report.OrdinalTimes.
const endOf1970 = 365 * 24 * 3600

// The days since 1900 of spreadsheets: see Report.SheetDays.
const (
	firstSheetDay  = 36526 // 2000-01-01
	endOfSheetDays = 73051 // 2100-01-01
)

// badRowMessages is the number of bad rows that a Report describes.
const badRowMessages = 5

// Read reads the files of data, one after the other, into one set of interactions. A path is that
// of a file, or "-" for Options.Stdin. All files must have times, or none.
//
// A fault in a row is a *RowError, possibly wrapped; see Options.MaxBadRows. Some faults end
// reading in any case: files that are damaged or not of a known format, columns that are missing,
// rows longer than MaxRowBytes, quotes that are never closed. Options that do not fit the files are
// *fault.Fault of their fields. If nothing is left to return, the error wraps ErrNoData.
func Read(data []string, opt Options) (*Interactions, *Report, error) {
	l, err := newLoader(data, opt)
	if err != nil {
		return nil, nil, err
	}
	if err := l.readAll(data); err != nil {
		return nil, nil, err
	}
	return l.finish()
}

// Events are all events of files. A history holds repeated items too.
type Events struct {
	Histories Interactions
	Kind      []uint16 // for each event the index of its type in Types; nil: without TypeColumn
	Types     []string // names of the types, in bytewise order; nil as Kind
}

// ReadEvents reads files as Read does, for a receiver that takes every event: rows of all types are
// kept and so are those that repeat an item, and nothing is filtered. A weight is that of
// Options.WeightColumn; Options.EventWeights are not applied.
func ReadEvents(data []string, opt Options) (*Events, *Report, error) {
	opt.EventWeights, opt.MinUserEvents, opt.MinItemEvents = nil, 0, 0
	l, err := newLoader(data, opt)
	if err != nil {
		return nil, nil, err
	}
	l.kept.kind, l.kept.repeated = l.kinds != nil, true
	if err := l.readAll(data); err != nil {
		return nil, nil, err
	}
	if err := l.nothingRead(); err != nil {
		return nil, nil, err
	}
	d, kinds := l.sorted()
	e := &Events{Histories: *d, Kind: kinds}
	if l.kinds != nil {
		names, rank := l.kinds.Sorted()
		e.Types = names
		for i, k := range kinds {
			kinds[i] = rank[k]
		}
	}
	l.report.Hash = d.Hash()
	return e, l.report, nil
}

// loader collects the rows of several files.
type loader struct {
	opt          Options
	users, items *index
	kinds        *rows.Types // nil: the rows have no types
	columns      columns
	kept         columnSet
	report       *Report
	surveyor     *surveyor // nil: nobody asks for a survey

	before, total int64 // bytes of the files read before, and of all; total is 0 if unknown

	dated          bool  // a time was a date
	numbered       bool  // a time of this file was a number
	oldest, newest int64 // of the times, if there are any
}

func newLoader(data []string, opt Options) (*loader, error) {
	if len(data) == 0 {
		return nil, fault.New("Data", nil, "at least one file")
	}
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	l := &loader{opt: opt, users: newIndex(), items: newIndex(), report: &Report{}}
	l.oldest, l.newest = math.MaxInt64, math.MinInt64
	l.kept.weight = opt.WeightColumn != "" || len(opt.EventWeights) > 0
	if opt.TypeColumn != "" {
		l.kinds = rows.NewTypes()
	}
	stdin := 0
	for _, path := range data {
		if path == Stdin {
			stdin++
			continue
		}
		// A path that cannot be read is reported when its turn comes.
		if info, err := os.Stat(path); err == nil {
			l.total += info.Size()
		}
	}
	switch {
	case stdin > 1:
		return nil, fault.New("Data", nil, `standard input, "-", once`)
	case stdin > 0 && opt.Stdin == nil:
		return nil, fault.New("Data", Stdin, "a file: there is no standard input")
	case stdin > 0:
		l.total = 0
	}
	return l, nil
}

func (l *loader) readAll(data []string) error {
	for _, path := range data {
		size := int64(0)
		err := rows.With(path, l.opt.Stdin, func(s *rows.Source) error {
			size = s.Size
			return l.readSource(s)
		})
		if err != nil {
			return err
		}
		l.before += size
	}
	given, _ := rows.TicksOf(l.opt.TimeUnit)
	l.report.IdleTimeUnit = given != 0 && !slices.ContainsFunc(l.report.Files,
		func(f FileReport) bool { return f.TimeUnit != "" })
	l.progress(l.before)
	if l.opt.Sorting != nil {
		l.opt.Sorting()
	}
	return nil
}

// readSource reads all rows of s.
func (l *loader) readSource(s *rows.Source) error {
	from, err := rows.NewReader(s, l.opt.form(), l.kinds)
	if err != nil {
		return err
	}
	if err := l.sameTimes(s, from.Ticks() != 0); err != nil {
		return err
	}
	if l.report.UnusedTypeColumn == "" && l.opt.TypeColumn == "" {
		l.report.UnusedTypeColumn = l.opt.unused(s.Columns, typeNames)
	}
	if l.report.UnusedTimeColumn == "" && from.Ticks() == 0 {
		l.report.UnusedTimeColumn = l.opt.unused(s.Columns, timeNames)
	}
	before := l.report.Rows
	l.numbered = false
	l.surveyor.begin()
	var r rows.Row
	for {
		err := from.Next(&r)
		if err == io.EOF {
			break
		}
		l.surveyor.row(&r, err, l.kept.time)
		if err == nil {
			err = l.add(&r)
		} else {
			err = l.tolerate(err)
		}
		if err != nil {
			return err
		}
		l.report.Rows++
		if l.report.Rows%progressRows == 0 {
			l.progress(l.before + s.BytesRead())
		}
	}
	unit := ""
	if l.numbered {
		unit = rows.UnitName(from.Ticks())
	}
	l.report.Files = append(l.report.Files, FileReport{
		Path: s.Path, Format: s.Format, Compression: s.Compression, Delimiter: s.Delimiter,
		TimeUnit: unit, Rows: l.report.Rows - before,
	})
	return nil
}

// add takes a good row up.
func (l *loader) add(r *rows.Row) error {
	l.numbered = l.numbered || l.kept.time && !r.Dated
	if r.Weight <= 0 {
		l.report.Unliked++
		return nil
	}
	l.dated = l.dated || r.Dated
	l.oldest, l.newest = min(l.oldest, r.Time), max(l.newest, r.Time)
	return l.columns.add(l.users.of(r.User), l.items.of(r.Item), r.Time, r.Weight, r.Kind, l.kept)
}

// sameTimes checks that s has times, which timed tells, if the first file had them.
func (l *loader) sameTimes(s *rows.Source, timed bool) error {
	if len(l.report.Files) == 0 {
		l.kept.time = timed
		return nil
	}
	if l.kept.time == timed {
		return nil
	}
	with, without := s.Path, l.report.Files[0].Path
	if l.kept.time {
		with, without = without, with
	}
	return fmt.Errorf("%s has times in column %s and %s has not: "+
		"files that are read together must all have them, or none", with,
		l.opt.columns()[rows.TimeColumn].Name, without)
}

// tolerate counts a bad row, or returns the error that ends reading.
func (l *loader) tolerate(err error) error {
	// Only the bare type: a *RowError that is wrapped is final.
	if _, ok := err.(*RowError); !ok { //nolint:errorlint // see above
		return err
	}
	l.report.BadRows++
	if l.opt.MaxBadRows == 0 {
		err := errors.Join(err, fault.New("MaxBadRows", 0, "more to skip bad rows"))
		if outside := (*rows.TimeRangeError)(nil); errors.As(err, &outside) && !outside.Mixed() {
			unit := fault.New("TimeUnit", outside.Unit(), "the unit of the times")
			err = errors.Join(err, unit)
		}
		return err
	}
	if l.report.BadRows > l.opt.MaxBadRows {
		return &fault.Fault{
			Field: "MaxBadRows", Got: l.opt.MaxBadRows,
			Problem: "is below the number of bad rows; the last one is", Err: err,
		}
	}
	if len(l.report.BadRowMessages) < badRowMessages {
		l.report.BadRowMessages = append(l.report.BadRowMessages, err.Error())
	}
	return nil
}

func (l *loader) progress(readBytes int64) {
	if l.opt.Progress != nil {
		l.opt.Progress(readBytes, l.total, l.report.Rows)
	}
}

// absentTypes returns the types of Options.EventWeights that no row has.
func (l *loader) absentTypes() (absent []string) {
	for _, name := range slices.Sorted(maps.Keys(l.opt.EventWeights)) {
		if !slices.Contains(l.kinds.Names(), name) { // weights need a column of types
			absent = append(absent, name)
		}
	}
	return absent
}

// finish turns the rows into interactions.
func (l *loader) finish() (*Interactions, *Report, error) {
	if err := l.nothingRead(); err != nil {
		return nil, nil, err
	}
	read := int64(l.columns.rows)
	d, _ := l.sorted()
	l.surveyor.whole(d)
	users, items := d.NumUsers(), d.NumItems()
	l.report.Duplicates = read - int64(d.Len())
	l.report.AbsentTypes = l.absentTypes()
	if l.opt.LeaveOutRare {
		filter := 0
		l.report.Filtered, filter = d.leaveOutRare()
		l.report.MinUserEvents, l.report.MinItemEvents = filter, filter
	} else {
		l.report.Filtered = d.core(l.opt.MinUserEvents, l.opt.MinItemEvents)
		l.report.MinUserEvents, l.report.MinItemEvents = l.opt.MinUserEvents, l.opt.MinItemEvents
	}
	l.report.FilteredUsers, l.report.FilteredItems = users-d.NumUsers(), items-d.NumItems()
	if d.Len() == 0 {
		return nil, nil, l.opt.nothingLeft(users)
	}
	l.report.Hash = d.Hash()
	return d, l.report, nil
}

// nothingRead returns an error if there are no rows to go on with.
func (l *loader) nothingRead() error {
	if l.columns.rows > 0 {
		return nil
	}
	r := l.report
	text := fmt.Sprintf("%s, %d of them bad", counted(r.Rows, "row"), r.BadRows)
	if r.Unliked > 0 {
		text += fmt.Sprintf(" and %d of a weight that is not above 0", r.Unliked)
	}
	return fmt.Errorf("%s: %w: %s", r.Files[0].Path, ErrNoData, text)
}

// counted is a number of things: 1 row, 2 rows.
func counted(n int64, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// sorted returns the interactions of the rows and their kinds. Times that are ordinals have served
// with that.
func (l *loader) sorted() (d *Interactions, kinds []uint16) {
	read := int64(l.columns.rows)
	d, kinds = l.columns.interactions(l.users, l.items, l.kept.repeated)
	ticks, _ := rows.TicksOf(l.opt.TimeUnit)
	open := l.kept.time && ticks == 0 && !l.dated
	if open && l.oldest >= 0 && l.newest < max(endOf1970, read+1) {
		l.report.OrdinalTimes, d.Time, d.Repeats = true, nil, nil
		l.report.SheetDays = l.oldest >= firstSheetDay && l.newest < endOfSheetDays
	}
	return d, kinds
}

// nothingLeft returns the fault of filters that removed every user; users is their number before.
func (o Options) nothingLeft(users int) error {
	f := &fault.Fault{
		Field: "MinUserEvents", Got: o.MinUserEvents,
		Problem: fmt.Sprintf("leaves no user of %d:", users), Err: ErrNoData,
		Advice: []fault.Change{{Verb: "lower", Field: "MinUserEvents"}},
	}
	if o.MinItemEvents > 1 {
		f.Advice = append(f.Advice, fault.Change{Verb: "lower", Field: "MinItemEvents"})
	}
	if o.MinUserEvents <= 1 {
		f.Field, f.Got, f.Advice = "MinItemEvents", o.MinItemEvents, f.Advice[1:]
	}
	return f
}
