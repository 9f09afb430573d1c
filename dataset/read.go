package dataset

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/gsimc/gsimc/fault"
)

// progressRows is the number of rows between two calls of Options.Progress.
const progressRows = 1 << 16

// badRowMessages is how many bad rows a Report describes.
const badRowMessages = 5

// Read reads the files of data, one after the other, into one set of
// interactions. All of them must have times, or none.
//
// A fault in a row is a *RowError, possibly wrapped; see Options.MaxBadRows.
// Some faults end reading in any case: files that are damaged or not of a known
// format, columns that are missing, rows longer than MaxRowBytes, quotes that
// are never closed. If nothing is left to return, the error wraps ErrNoData.
func Read(data []string, opt Options) (*Interactions, *Report, error) {
	if len(data) == 0 {
		return nil, nil, fault.New("Data", nil, "at least one file")
	}
	if err := opt.Validate(); err != nil {
		return nil, nil, err
	}
	l := &loader{opt: opt, users: newIndex(), items: newIndex(), report: &Report{}}
	for _, path := range data {
		// A path that cannot be read is reported when its turn comes.
		if info, err := os.Stat(path); err == nil {
			l.total += info.Size()
		}
	}
	for _, path := range data {
		if err := l.readPath(path); err != nil {
			return nil, nil, err
		}
	}
	l.progress(l.before)
	if opt.Sorting != nil {
		opt.Sorting()
	}
	return l.finish()
}

// loader collects the rows of several files.
type loader struct {
	opt          Options
	users, items *index
	columns      columns
	report       *Report

	timed         bool  // whether the files have times, set by the first
	before, total int64 // bytes of the files read before, and of all
}

func (l *loader) readPath(path string) error {
	s, err := openSource(path)
	if err != nil {
		return err
	}
	err = l.readSource(s)
	l.before += s.size
	return errors.Join(err, s.Close())
}

// readSource reads all rows of s.
func (l *loader) readSource(s *source) error {
	rows, err := newRowReader(s, l.opt)
	if err != nil {
		return err
	}
	if err := l.sameTimes(s, rows); err != nil {
		return err
	}
	before := l.report.Rows
	var r row
	for {
		err := rows.next(&r)
		if err == io.EOF {
			break
		}
		if err == nil {
			err = l.columns.add(l.users.of(r.user), l.items.of(r.item), r.time, r.weight, l.timed, l.opt.WeightColumn != "")
			if err != nil {
				return fmt.Errorf("%s: %w", s.path, err)
			}
		} else if err = l.tolerate(err); err != nil {
			return err
		}
		l.report.Rows++
		if l.report.Rows%progressRows == 0 {
			l.progress(l.before + min(s.file.read.Load(), s.size))
		}
	}
	l.report.Files = append(l.report.Files, FileReport{
		Path: s.path, Format: s.format, Compression: s.compression, Rows: l.report.Rows - before,
	})
	return nil
}

// sameTimes checks that s has times if the first file had them.
func (l *loader) sameTimes(s *source, rows rowReader) error {
	if len(l.report.Files) == 0 {
		l.timed = rows.timed()
		return nil
	}
	if l.timed == rows.timed() {
		return nil
	}
	with, without := s.path, l.report.Files[0].Path
	if l.timed {
		with, without = without, with
	}
	return fmt.Errorf("%s has times in column %s and %s has not: files that are read together must all have them, or none",
		with, l.opt.columns()[timeColumn].name, without)
}

// tolerate counts a bad row, or returns the error that ends reading.
func (l *loader) tolerate(err error) error {
	// Only the bare type: a *RowError that is wrapped is final.
	if _, ok := err.(*RowError); !ok { //nolint:errorlint // see above
		return err
	}
	l.report.BadRows++
	if l.opt.MaxBadRows == 0 {
		return errors.Join(err, fault.New("MaxBadRows", 0, "more to skip bad rows"))
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

// finish turns the rows into interactions.
func (l *loader) finish() (*Interactions, *Report, error) {
	rows := int64(l.columns.rows)
	if rows == 0 {
		return nil, nil, fmt.Errorf("%s: %w: %d rows, %d of them bad", l.report.Files[0].Path, ErrNoData, l.report.Rows, l.report.BadRows)
	}
	d := l.columns.interactions(l.users, l.items)
	users, items := d.NumUsers(), d.NumItems()
	l.report.Duplicates = rows - int64(d.Len())
	l.report.Filtered = d.core(l.opt.MinUserEvents, l.opt.MinItemEvents)
	l.report.FilteredUsers, l.report.FilteredItems = users-d.NumUsers(), items-d.NumItems()
	if d.Len() == 0 {
		return nil, nil, l.opt.nothingLeft(users)
	}
	l.report.Hash = d.Hash()
	return d, l.report, nil
}

// nothingLeft returns the fault of filters that removed every user; users is their number before.
func (o Options) nothingLeft(users int) error {
	f := &fault.Fault{
		Field: "MinUserEvents", Got: o.MinUserEvents,
		Problem: fmt.Sprintf("leaves none of the %d users:", users), Err: ErrNoData,
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
