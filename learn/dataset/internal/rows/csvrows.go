package rows

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gsimc/gsimc/internal/fault"
)

// csvRows reads the interactions of a CSV or TSV file.
type csvRows struct {
	table   *Table
	cols    [NumColumns]int // position of each mapped column, -1: not there
	names   [NumColumns]string
	decoder *decoder
}

func newCSVRows(s *Source, form Form, d *decoder) (*csvRows, error) {
	t, err := newTable(s, form.table())
	if err != nil {
		return nil, err
	}
	c := &csvRows{table: t, decoder: d}
	var missing error
	for i, col := range form.Columns {
		c.names[i] = col.Name
		if c.cols[i], err = t.Find(col); err != nil {
			missing = errors.Join(missing, err)
			if f, is := errors.AsType[*fault.Fault](err); is && f.Field != col.Field {
				break // the fault of the header, whichever column is looked for
			}
		}
	}
	if missing != nil {
		return nil, missing
	}
	s.Columns = t.header
	first, err := s.head()
	if err != nil {
		return nil, err
	}
	return c, fault.In(s.Path, d.recognise(c.over(lineReader{block: first})))
}

// over implements lineForm.
func (c *csvRows) over(lines lineReader) Reader {
	t := *c.table
	t.scan = csvScanner{lines: lines, comma: t.scan.comma}
	return &csvRows{table: &t, cols: c.cols, names: c.names, decoder: c.decoder}
}

// multiline implements lineForm: a field in quotes can go on in the next line.
func (c *csvRows) multiline() byte { return '"' }

func (c *csvRows) Ticks() int64 {
	if c.cols[TimeColumn] < 0 {
		return 0
	}
	return c.decoder.clock.ticks
}

func (c *csvRows) Next(r *Row) error {
	fields, err := c.table.Next()
	if err != nil {
		return err
	}
	r.clear()
	// Ids and times, which nearly every file has, without a call for each field.
	r.User, r.Item = fields[c.cols[UserColumn]], fields[c.cols[ItemColumn]]
	if err := CheckID(r.User); err != nil {
		return c.table.Bad(c.names[UserColumn], err)
	}
	if err := CheckID(r.Item); err != nil {
		return c.table.Bad(c.names[ItemColumn], err)
	}
	if at := c.cols[TimeColumn]; at >= 0 {
		if r.Time, r.Dated, err = c.decoder.clock.read(fields[at]); err != nil {
			return c.table.Bad(c.names[TimeColumn], err)
		}
	}
	for i := WeightColumn; i < NumColumns; i++ {
		if at := c.cols[i]; at >= 0 {
			if err := c.decoder.take(r, i, fields[at]); err != nil {
				return c.table.Bad(c.names[i], err)
			}
		}
	}
	return nil
}

// Table reads the rows of a CSV or TSV file.
type Table struct {
	path   string
	wrap   func(error) error
	scan   csvScanner
	header []string
	form   tableForm
}

// tableForm is the form of a table as the caller knows it.
type tableForm struct {
	delimiter byte     // 0: recognised
	names     []string // of the columns of a file without a header; nil: it has one
	wanted    []string // names that the header must have; with names those of user and item first
}

// newTable reads the header of s and sets s.Format and s.Delimiter.
func newTable(s *Source, form tableForm) (*Table, error) {
	first, err := s.text.Peek(64 << 10)
	if err != nil && err != io.EOF {
		return nil, s.wrap(err)
	}
	if err := form.checkLines(s.Path, first); err != nil {
		return nil, err
	}
	comma := form.delimiter
	if comma == 0 {
		if comma, err = form.guessDelimiter(s.Path, first); err != nil {
			return nil, err
		}
	}
	s.Delimiter = string(comma)
	if comma == '\t' {
		s.Format = FormatTSV
	}
	t := &Table{path: s.Path, wrap: s.wrap, form: form}
	t.scan = csvScanner{lines: lineReader{text: s.text}, comma: comma}
	if form.names != nil {
		t.header = form.names
		return t, t.checkUnnamed(first)
	}
	names, err := t.scan.next()
	switch {
	case err == io.EOF:
		return nil, s.empty()
	case err != nil:
		return nil, t.scanError(err)
	}
	for _, name := range names {
		if !isText(name) {
			return nil, errNotText(s.Path)
		}
		t.header = append(t.header, string(name))
	}
	return t, nil
}

func errNotText(path string) error {
	return fmt.Errorf("%s: the header is not text: want CSV, TSV, JSON Lines or Parquet, "+
		"plain or compressed with gzip or zstd", path)
}

// checkLines refuses a header with a zero byte, and lines that end as nothing here reads them.
func (f tableForm) checkLines(path string, first []byte) error {
	line, _, _ := bytes.Cut(first, []byte{'\n'})
	if f.names == nil && bytes.IndexByte(line, 0) >= 0 { // of a model, say, quotes and all
		return errNotText(path)
	}
	alone := bytes.IndexByte(first, '\r')
	if alone >= 0 && alone < len(first)-1 && bytes.IndexByte(first, '\n') < 0 {
		return fmt.Errorf("%s: lines end with a carriage return alone: write line feeds, as "+
			"tr '\\r' '\\n' does", path)
	}
	return nil
}

// checkUnnamed refuses a text that has a header although the columns are named by the caller.
func (t *Table) checkUnnamed(first []byte) error {
	fields := splitFirst(first, t.scan.comma)
	switch {
	case len(fields) == 0:
		return &emptyError{t.path}
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

// Find returns the position of a column, -1 if it is not mapped or may be and is absent.
func (t *Table) Find(c Column) (int, error) {
	if c.Name == "" {
		return -1, nil
	}
	at := -1
	for i, name := range t.header {
		switch {
		case name != c.Name:
		case at >= 0:
			return -1,
				fmt.Errorf("%s: the header has column %q twice: rename or remove one of them",
					t.path, c.Name)
		default:
			at = i
		}
	}
	if at < 0 && !c.Optional {
		return -1, fault.In(t.path, t.missing(c))
	}
	return at, nil
}

// missing returns the fault of a column that the header lacks: perhaps there is no header, or
// another delimiter.
func (t *Table) missing(c Column) *fault.Fault {
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
		f.Advice = []fault.Change{{Verb: "set", Field: c.Field}, {Verb: "set", Field: "Delimiter"}}
	}
	return f
}

// Header returns the names of the columns.
func (t *Table) Header() []string { return t.header }

// Next returns the fields of the next row, as many as the header has. The fields are valid until
// the following call; errors are those of a [Reader].
func (t *Table) Next() ([][]byte, error) {
	fields, err := t.scan.next()
	if err != nil {
		return nil, t.scanError(err)
	}
	if len(fields) == len(t.header) {
		return fields, nil
	}
	has := fmt.Sprintf("the row has %d fields", len(fields))
	if len(fields) == 1 {
		has = "the row has 1 field"
	}
	want := ", the header has %d"
	if t.form.names != nil {
		want = ", there are names of %d columns"
	}
	return nil, t.Bad("", Refusef(has+want, len(t.header)))
}

// Line returns the line at which the row that was read last starts, from 1.
func (t *Table) Line() int64 { return t.scan.start }

// Bad returns the error for a fault in the row that was read last. A row of several lines may come
// of a quote that is closed too late.
func (t *Table) Bad(column string, err error) error {
	e := NewError(t.path, t.scan.start, column, err)
	if last := t.scan.lines.line; last > t.scan.start {
		e.Reason += fmt.Sprintf(" (quotes make one row of the lines %d to %d)", t.scan.start, last)
	}
	return e
}

// scanError turns an error of the scanner into one that names file and line.
func (t *Table) scanError(err error) error {
	switch err {
	case io.EOF:
		return err
	case errBareQuote, errAfterQuote:
		return t.Bad("", err)
	case errOpenQuote:
		// The end of the row is not known, so reading cannot go on: wrapped, the error is no
		// *Error that may be tolerated.
		return fmt.Errorf("%s:%d: %w", t.path, t.scan.opened, err)
	case errRowTooLong:
		return fmt.Errorf("%s:%d: %w; check the quotes and the delimiter",
			t.path, t.scan.start, err)
	}
	return t.wrap(err)
}

// OpenTable opens s as a CSV or TSV file with the given columns and returns their positions; kind
// names the kind of file in errors.
func OpenTable(s *Source, kind string, columns ...Column) (t *Table, at []int, err error) {
	if s.text == nil || s.Format == FormatJSONL {
		return nil, nil, fmt.Errorf("%s: %s must be CSV or TSV, not %s", s.Path, kind, s.Format)
	}
	var form tableForm
	for _, c := range columns {
		form.wanted = append(form.wanted, c.Name)
	}
	if t, err = newTable(s, form); err != nil {
		return nil, nil, err
	}
	for _, c := range columns {
		c.Optional = c.Field == "" // a name that no option changes has an error of its own
		i, err := t.Find(c)
		if err != nil {
			return nil, nil, err
		}
		if i < 0 {
			return nil, nil, fmt.Errorf("%s: no column %q; the file has %s: %s needs %s",
				s.Path, c.Name, quoteList(t.header), kind, strings.Join(form.wanted, ", "))
		}
		at = append(at, i)
	}
	return t, at, nil
}
