package dataset

import (
	"io"

	"github.com/gsimc/gsimc/internal/event"
)

// row is one interaction as it comes from a file. The ids are valid until the next row is read.
type row struct {
	user, item []byte
	time       int64   // seconds; 0 if the file has no times
	weight     float32 // 1 if no weights are read
	kind       uint16  // number of the type in types; 0 if no types are read
	dated      bool    // the time was a date rather than a number
}

// rowReader reads the interactions of one file.
type rowReader interface {
	// next reads a row into r. The error is io.EOF after the last row, a *RowError if this row is
	// bad but the next can be read, and anything else if reading cannot go on.
	next(r *row) error

	// ticks returns the ticks per second of times that are numbers, 0 if the file has no times.
	ticks() int64
}

// newRowReader opens the reader for the format of s and completes s.format and s.columns. The types
// of the rows, if they have a column, are numbered by kinds.
func newRowReader(s *source, opt Options, kinds *types) (rowReader, error) {
	d := &decoder{kinds: kinds, weights: opt.EventWeights}
	d.clock.ticks = ticksOf[opt.TimeUnit]
	switch s.format {
	case formatParquet:
		return newParquetRows(s, opt, d)
	case formatJSONL:
		j, err := newJSONRows(s, opt, d)
		if err != nil {
			return nil, err
		}
		return newBlockRows(s, j, j.lines), nil
	default:
		c, err := newCSVRows(s, opt, d)
		if err != nil {
			return nil, err
		}
		return newBlockRows(s, c, c.table.scan.lines), nil
	}
}

// A decoder makes the values of rows of the fields of one file. Goroutines share it.
type decoder struct {
	clock   clock
	kinds   *types        // nil: the rows have no types
	weights event.Weights // of the types
}

// clear makes r a row without optional values.
func (r *row) clear() {
	r.time, r.weight, r.kind, r.dated = 0, 1, 0, false
}

// take puts the text of the column mapped at i into r. The type is the last column.
func (d *decoder) take(r *row, i int, text []byte) (err error) {
	switch i {
	case userColumn:
		r.user = text
		return checkID(text)
	case itemColumn:
		r.item = text
		return checkID(text)
	case timeColumn:
		r.time, r.dated, err = d.clock.read(text)
	case weightColumn:
		r.weight, err = parseWeight(text)
	case typeColumn:
		err = d.takeType(r, text)
	}
	return err
}

// takeType puts the type into r, whose weight becomes that of the event.
func (d *decoder) takeType(r *row, text []byte) error {
	number, name, err := d.kinds.of(text)
	if err != nil {
		return err
	}
	r.kind = number
	if d.weights != nil {
		r.weight = d.weights.Of(name, float64(r.weight))
	}
	return nil
}

// recognise finds the unit of the times in the first rows of a text, which rows reads, unless it is
// given.
func (d *decoder) recognise(rows rowReader) {
	if d.clock.ticks != 0 {
		return
	}
	m := &magnitude{}
	d.clock.sample = m
	var r row
	for {
		err := rows.next(&r)
		_, tolerable := err.(*RowError) //nolint:errorlint // as loader.tolerate
		if err != nil && !tolerable {
			break
		}
	}
	d.clock = recognised(m)
}

// head returns whole lines from the beginning of what s has left, for a look ahead.
func (s *source) head() ([]byte, error) {
	const size = 64 << 10
	first, err := s.text.Peek(size)
	if err == io.EOF {
		return first, nil
	}
	if err != nil {
		return nil, s.wrap(err)
	}
	for i := len(first) - 1; i >= 0; i-- {
		if first[i] == '\n' {
			return first[:i+1], nil
		}
	}
	return nil, nil // a longer line
}
