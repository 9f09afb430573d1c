package dataset

import (
	"fmt"
	"io"

	"github.com/gsimc/gsimc/fault"
)

// row is one interaction as it comes from a file. The ids are valid until the
// next row is read.
type row struct {
	user, item []byte
	time       int64   // seconds; 0 if the file has no times
	weight     float32 // 1 if no weights are read
}

// rowReader reads the interactions of one file.
type rowReader interface {
	// next reads a row into r. The error is io.EOF after the last row, a
	// *RowError if this row is bad but the next can be read, and anything else
	// if reading cannot go on.
	next(r *row) error

	// timed reports whether the file has times.
	timed() bool
}

// newRowReader opens the reader for the format of s and completes s.format.
func newRowReader(s *source, opt Options) (rowReader, error) {
	switch s.format {
	case formatParquet:
		return newParquetRows(s, opt)
	case formatJSONL:
		j, err := newJSONRows(s, opt)
		if err != nil {
			return nil, err
		}
		return newBlockRows(s, j, j.lines), nil
	default:
		c, err := newCSVRows(s, opt)
		if err != nil {
			return nil, err
		}
		return newBlockRows(s, c, c.table.scan.lines), nil
	}
}

// csvRows reads the interactions of a CSV or TSV file.
type csvRows struct {
	table *table
	cols  [numColumns]int // position of each mapped column, -1: not there
	names [numColumns]string
}

func newCSVRows(s *source, opt Options) (*csvRows, error) {
	t, err := newTable(s, opt.Delimiter)
	if err != nil {
		return nil, err
	}
	c := &csvRows{table: t}
	for i, col := range opt.columns() {
		c.names[i] = col.name
		if c.cols[i], err = t.find(col); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// over implements lineForm.
func (c *csvRows) over(lines lineReader) rowReader {
	t := *c.table
	t.scan = csvScanner{lines: lines, comma: t.scan.comma}
	return &csvRows{table: &t, cols: c.cols, names: c.names}
}

// multiline implements lineForm: what is in quotes can go on in the next line.
func (c *csvRows) multiline() byte { return '"' }

func (c *csvRows) timed() bool { return c.cols[timeColumn] >= 0 }

func (c *csvRows) next(r *row) error {
	fields, err := c.table.next()
	if err != nil {
		return err
	}
	r.user, r.item = fields[c.cols[userColumn]], fields[c.cols[itemColumn]]
	r.time, r.weight = 0, 1
	if reason := checkID(r.user); reason != "" {
		return c.bad(userColumn, reason)
	}
	if reason := checkID(r.item); reason != "" {
		return c.bad(itemColumn, reason)
	}
	var reason string
	if i := c.cols[timeColumn]; i >= 0 {
		if r.time, reason = parseTime(fields[i]); reason != "" {
			return c.bad(timeColumn, reason)
		}
	}
	if i := c.cols[weightColumn]; i >= 0 {
		if r.weight, reason = parseWeight(fields[i]); reason != "" {
			return c.bad(weightColumn, reason)
		}
	}
	return nil
}

func (c *csvRows) bad(col int, reason string) error {
	return c.table.bad(c.names[col], reason)
}

// table reads the rows of a CSV or TSV file that has a header.
type table struct {
	path   string
	wrap   func(error) error
	scan   csvScanner
	header []string
}

// newTable reads the header of s. A delimiter of 0 is found out, see
// Options.Delimiter; s.format is set to what was found.
func newTable(s *source, delimiter byte) (*table, error) {
	first, err := s.text.Peek(64 << 10)
	if err != nil && err != io.EOF {
		return nil, s.wrap(err)
	}
	if delimiter == 0 {
		delimiter = guessDelimiter(s.path, first)
	}
	if delimiter == '\t' {
		s.format = formatTSV
	}
	t := &table{path: s.path, wrap: s.wrap, scan: csvScanner{lines: lineReader{text: s.text}, comma: delimiter}}
	names, err := t.scan.next()
	switch {
	case err == io.EOF:
		return nil, fmt.Errorf("%s: the file is empty: %w", s.path, ErrNoData)
	case err != nil:
		return nil, t.scanError(err)
	}
	for _, name := range names {
		if !isText(name) {
			return nil, fmt.Errorf("%s: the header is not text: want CSV, TSV, JSON Lines or Parquet, plain or compressed with gzip or zstd", s.path)
		}
		t.header = append(t.header, string(name))
	}
	return t, nil
}

// find returns the position of a column, -1 if it is not mapped or may be and is absent.
func (t *table) find(c column) (int, error) {
	if c.name == "" {
		return -1, nil
	}
	at := -1
	for i, name := range t.header {
		switch {
		case name != c.name:
		case at >= 0:
			return -1, fmt.Errorf("%s: the header has column %q twice: rename or remove one of them", t.path, c.name)
		default:
			at = i
		}
	}
	if at < 0 && !c.optional {
		return -1, fault.In(t.path, c.missing(t.header))
	}
	return at, nil
}

// next returns the fields of the next row, as many as the header has. The
// fields are valid until the following call; errors are those of a rowReader.
func (t *table) next() ([][]byte, error) {
	fields, err := t.scan.next()
	if err != nil {
		return nil, t.scanError(err)
	}
	if len(fields) != len(t.header) {
		return nil, t.bad("", fmt.Sprintf("the row has %d fields, the header has %d", len(fields), len(t.header)))
	}
	return fields, nil
}

// bad returns the error for a fault in the row that was read last.
func (t *table) bad(column, reason string) error {
	return &RowError{File: t.path, Line: t.scan.start, Column: column, Reason: reason}
}

// scanError turns an error of the scanner into one that names file and line.
func (t *table) scanError(err error) error {
	switch err {
	case io.EOF:
		return err
	case errBareQuote, errAfterQuote:
		return &RowError{File: t.path, Line: t.scan.start, Reason: err.Error(), Err: err}
	case errOpenQuote, errRowTooLong:
		// Where the row ends is not known, so reading cannot go on: wrapped,
		// the fault is no *RowError that may be tolerated.
		return fmt.Errorf("%s:%d: %w; check the quotes and the delimiter", t.path, t.scan.start, err)
	}
	return t.wrap(err)
}
