package dataset

import (
	"fmt"
	"io"
	"slices"

	"github.com/gsimc/gsimc/internal/fault"
)

// csvRows reads the interactions of a CSV or TSV file.
type csvRows struct {
	table   *table
	cols    [numColumns]int // position of each mapped column, -1: not there
	names   [numColumns]string
	decoder *decoder
}

func newCSVRows(s *source, opt Options, d *decoder) (*csvRows, error) {
	t, err := newTable(s, opt.form())
	if err != nil {
		return nil, err
	}
	c := &csvRows{table: t, decoder: d}
	for i, col := range opt.columns() {
		c.names[i] = col.name
		if c.cols[i], err = t.find(col); err != nil {
			return nil, err
		}
	}
	s.columns = t.header
	first, err := s.head()
	if err != nil {
		return nil, err
	}
	d.recognise(c.over(lineReader{block: first}))
	return c, nil
}

// over implements lineForm.
func (c *csvRows) over(lines lineReader) rowReader {
	t := *c.table
	t.scan = csvScanner{lines: lines, comma: t.scan.comma}
	return &csvRows{table: &t, cols: c.cols, names: c.names, decoder: c.decoder}
}

// multiline implements lineForm: a field in quotes can go on in the next line.
func (c *csvRows) multiline() byte { return '"' }

func (c *csvRows) ticks() int64 {
	if c.cols[timeColumn] < 0 {
		return 0
	}
	return c.decoder.clock.ticks
}

func (c *csvRows) next(r *row) error {
	fields, err := c.table.next()
	if err != nil {
		return err
	}
	r.clear()
	// Ids and times, which nearly every file has, without a call for each field.
	r.user, r.item = fields[c.cols[userColumn]], fields[c.cols[itemColumn]]
	if err := checkID(r.user); err != nil {
		return c.table.bad(c.names[userColumn], err)
	}
	if err := checkID(r.item); err != nil {
		return c.table.bad(c.names[itemColumn], err)
	}
	if at := c.cols[timeColumn]; at >= 0 {
		if r.time, r.dated, err = c.decoder.clock.read(fields[at]); err != nil {
			return c.table.bad(c.names[timeColumn], err)
		}
	}
	for i := weightColumn; i < numColumns; i++ {
		if at := c.cols[i]; at >= 0 {
			if err := c.decoder.take(r, i, fields[at]); err != nil {
				return c.table.bad(c.names[i], err)
			}
		}
	}
	return nil
}

// table reads the rows of a CSV or TSV file.
type table struct {
	path   string
	wrap   func(error) error
	scan   csvScanner
	header []string
	form   tableForm
}

// tableForm is the form of a table as the caller knows it.
type tableForm struct {
	delimiter byte     // 0: recognised, see Options.Delimiter
	names     []string // of the columns of a file without a header; nil: it has one
	wanted    []string // names that the header must have; with names those of user and item first
}

// newTable reads the header of s and sets s.format and s.delimiter.
func newTable(s *source, form tableForm) (*table, error) {
	first, err := s.text.Peek(64 << 10)
	if err != nil && err != io.EOF {
		return nil, s.wrap(err)
	}
	comma := form.delimiter
	if comma == 0 {
		if comma, err = form.guessDelimiter(s.path, first); err != nil {
			return nil, err
		}
	}
	s.delimiter = string(comma)
	if comma == '\t' {
		s.format = formatTSV
	}
	t := &table{path: s.path, wrap: s.wrap, form: form}
	t.scan = csvScanner{lines: lineReader{text: s.text}, comma: comma}
	if form.names != nil {
		t.header = form.names
		return t, t.checkUnnamed(first)
	}
	names, err := t.scan.next()
	switch {
	case err == io.EOF:
		return nil, fmt.Errorf("%s: the file is empty: %w", s.path, ErrNoData)
	case err != nil:
		return nil, t.scanError(err)
	}
	for _, name := range names {
		if !isText(name) {
			return nil, errNotText(s.path)
		}
		t.header = append(t.header, string(name))
	}
	return t, nil
}

func errNotText(path string) error {
	return fmt.Errorf("%s: the header is not text: want CSV, TSV, JSON Lines or Parquet, "+
		"plain or compressed with gzip, zstd or zip", path)
}

// checkUnnamed refuses a text that has a header although the columns are named by the caller.
func (t *table) checkUnnamed(first []byte) error {
	fields := splitFirst(first, t.scan.comma)
	switch {
	case len(fields) == 0:
		return fmt.Errorf("%s: the file is empty: %w", t.path, ErrNoData)
	case !slices.ContainsFunc(fields, func(f string) bool { return !isText([]byte(f)) }):
	default:
		return errNotText(t.path)
	}
	named := func(name string) bool { return slices.Contains(fields, name) }
	if !slices.ContainsFunc(t.form.wanted, func(name string) bool { return !named(name) }) {
		return fault.In(t.path, &fault.Fault{
			Field: "Columns", Problem: "the first row names the columns already",
			Advice: []fault.Change{{Verb: "leave out", Field: "Columns"}},
		})
	}
	if t.form.isHeader(fields) {
		return fault.In(t.path, &fault.Fault{
			Field: "Columns", Problem: "the first row, " + quoteList(fields) + ", names columns",
			Advice: []fault.Change{{Verb: "leave out", Field: "Columns"}},
		})
	}
	return nil
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
			return -1,
				fmt.Errorf("%s: the header has column %q twice: rename or remove one of them",
					t.path, c.name)
		default:
			at = i
		}
	}
	if at < 0 && !c.optional {
		return -1, fault.In(t.path, t.missing(c))
	}
	return at, nil
}

// missing returns the fault of a column that the header lacks: perhaps there is no header, or
// another delimiter.
func (t *table) missing(c column) *fault.Fault {
	known := func(name string) bool { return slices.Contains(t.form.wanted, name) }
	if !slices.ContainsFunc(t.header, known) && slices.ContainsFunc(t.header, looksLikeData) {
		return &fault.Fault{
			Field: "Columns",
			Problem: "the first row, " + quoteList(t.header) +
				", looks like data and not like a header",
			Want: "the names of the columns in their order, such as user_id,item_id,timestamp",
		}
	}
	f := c.missing(t.header)
	if len(t.header) == 1 {
		f.Problem += fmt.Sprintf(" where %q separates", t.scan.comma)
		f.Advice = []fault.Change{{Verb: "set", Field: c.field}, {Verb: "set", Field: "Delimiter"}}
	}
	return f
}

// next returns the fields of the next row, as many as the header has. The fields are valid until
// the following call; errors are those of a rowReader.
func (t *table) next() ([][]byte, error) {
	fields, err := t.scan.next()
	if err != nil {
		return nil, t.scanError(err)
	}
	if len(fields) == len(t.header) {
		return fields, nil
	}
	reason := "the row has %d fields, the header has %d"
	if t.form.names != nil {
		reason = "the row has %d fields, there are names of %d columns"
	}
	return nil, t.bad("", refusef(reason, len(fields), len(t.header)))
}

// bad returns the error for a fault in the row that was read last.
func (t *table) bad(column string, err error) error {
	return newRowError(t.path, t.scan.start, column, err)
}

// scanError turns an error of the scanner into one that names file and line.
func (t *table) scanError(err error) error {
	switch err {
	case io.EOF:
		return err
	case errBareQuote, errAfterQuote:
		return newRowError(t.path, t.scan.start, "", err)
	case errOpenQuote, errRowTooLong:
		// The end of the row is not known, so reading cannot go on: wrapped, the error is no
		// *RowError that may be tolerated.
		return fmt.Errorf("%s:%d: %w; check the quotes and the delimiter",
			t.path, t.scan.start, err)
	}
	return t.wrap(err)
}
