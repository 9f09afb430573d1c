package rows

import (
	"io"

	"github.com/gsimc/gsimc/internal/event"
)

// Row is one interaction as it comes from a file. The ids are valid until the next row is read.
type Row struct {
	User, Item []byte
	Time       int64   // seconds; 0 if the file has no times
	Weight     float32 // 1 if no weights are read
	Kind       uint16  // number of the type in [Types]; 0 if no types are read
	Dated      bool    // the time was a date rather than a number
}

// Reader reads the interactions of one file.
type Reader interface {
	// Next reads a row into r. The error is io.EOF after the last row, a bare *[Error] if this row
	// is bad but the next can be read, and anything else if reading cannot go on.
	Next(r *Row) error

	// Ticks returns the ticks per second of times that are numbers, 0 if the file has no times.
	Ticks() int64
}

// NewReader opens the reader for the format of s and completes s.Format and s.Columns. The types
// of the rows, if they have a column, are numbered by kinds.
func NewReader(s *Source, form Form, kinds *Types) (Reader, error) {
	d := &decoder{kinds: kinds, weights: form.Weights}
	d.clock.ticks = ticksOf[form.TimeUnit]
	switch s.Format {
	case FormatParquet:
		return newParquetRows(s, form, d)
	case FormatJSONL:
		j, err := newJSONRows(s, form, d)
		if err != nil {
			return nil, err
		}
		return newBlockRows(s, j, j.objects.lines), nil
	default:
		c, err := newCSVRows(s, form, d)
		if err != nil {
			return nil, err
		}
		return newBlockRows(s, c, c.table.scan.lines), nil
	}
}

// A decoder makes the values of rows of the fields of one file. Goroutines share it.
type decoder struct {
	clock   clock
	kinds   *Types        // nil: the rows have no types
	weights event.Weights // of the types
}

// clear makes r a row without optional values.
func (r *Row) clear() {
	r.Time, r.Weight, r.Kind, r.Dated = 0, 1, 0, false
}

// take puts the text of the column mapped at i into r. The type is the last column.
func (d *decoder) take(r *Row, i int, text []byte) (err error) {
	switch i {
	case UserColumn:
		r.User = text
		return CheckID(text)
	case ItemColumn:
		r.Item = text
		return CheckID(text)
	case TimeColumn:
		r.Time, r.Dated, err = d.clock.read(text)
	case WeightColumn:
		r.Weight, err = parseWeight(text)
	case TypeColumn:
		err = d.takeType(r, text)
	}
	return err
}

// takeType puts the type into r, whose weight becomes that of the event.
func (d *decoder) takeType(r *Row, text []byte) error {
	number, name, err := d.kinds.of(text)
	if err != nil {
		return err
	}
	r.Kind = number
	if d.weights != nil {
		r.Weight = d.weights.Of(name, float64(r.Weight))
	}
	return nil
}

// recognise finds the unit of the times in the first rows of a text, which rows reads, or checks
// the one that is given.
func (d *decoder) recognise(rows Reader) (err error) {
	given, m := d.clock.ticks, &magnitude{}
	d.clock.ticks = 0
	d.clock.sample = m
	var r Row
	for {
		err := rows.Next(&r)
		_, tolerable := err.(*Error) //nolint:errorlint // as loader.tolerate
		if err != nil && !tolerable {
			break
		}
	}
	d.clock, err = clockOf(given, m)
	return err
}

// head returns whole lines from the beginning of what s has left, for a look ahead.
func (s *Source) head() ([]byte, error) {
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
