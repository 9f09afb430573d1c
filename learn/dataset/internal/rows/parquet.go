package rows

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/gsimc/gsimc/internal/fault"
)

// parquetRows reads the interactions of a Parquet file. Only the mapped
// columns are read; they must be top-level and not repeated. Ids are strings,
// byte arrays or integers (an integer stands for its digits); times are
// timestamps, dates, numbers of seconds or text as in CSV; weights are numbers.
type parquetRows struct {
	source  *Source
	file    *parquet.File
	cols    [NumColumns]*parquetColumn // nil: not read
	groups  []parquet.RowGroup         // those not opened yet
	left    int64                      // rows left in the open row group
	line    int64                      // number of the row that was read last
	decoder *decoder
}

func newParquetRows(s *Source, form Form, d *decoder) (rows *parquetRows, err error) {
	defer func() {
		if err != nil {
			err = fault.In(s.Path, err)
		}
	}()
	defer recovered(&err)
	if err := checkFooter(s.file, s.Size); err != nil {
		return nil, err
	}
	file, err := parquet.OpenFile(s.file, s.Size,
		parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errCorruptParquet, err)
	}
	p := &parquetRows{source: s, file: file, groups: file.RowGroups(), decoder: d}
	for _, c := range file.Root().Columns() {
		s.Columns = append(s.Columns, c.Name())
	}
	var bad error
	for i, col := range form.Columns {
		if p.cols[i], err = p.open(i, col); err != nil {
			bad = errors.Join(bad, err)
		}
	}
	if bad != nil {
		return nil, bad
	}
	return p, p.recognise()
}

// recognise finds the unit of the times in the first values of their column, or checks the one that
// is given.
func (p *parquetRows) recognise() (err error) {
	if p.cols[TimeColumn] == nil {
		return nil
	}
	given, m := p.decoder.clock.ticks, &magnitude{}
	p.decoder.clock = clock{sample: m}
	if len(p.groups) > 0 && p.groups[0].NumRows() > 0 {
		c := *p.cols[TimeColumn]
		c.pages = p.groups[0].ColumnChunks()[c.index].Pages()
		if err := c.fill(); err != nil {
			return errors.Join(err, c.close())
		}
		for _, v := range c.have {
			_ = c.takeTime(&Row{}, v) // a fault is found again when its row is read
		}
		if err := c.close(); err != nil {
			return err
		}
	}
	p.decoder.clock, err = clockOf(given, m)
	return err
}

// open finds the column mapped at i and checks its type and pages.
func (p *parquetRows) open(i int, col Column) (*parquetColumn, error) {
	if col.Name == "" {
		return nil, nil
	}
	c := p.file.Root().Column(col.Name)
	if c == nil && col.Optional {
		return nil, nil
	}
	if c == nil || !c.Leaf() || c.MaxRepetitionLevel() > 0 {
		f := col.missing(p.source.Columns)
		f.Problem = fmt.Sprintf("no flat column %q", col.Name)
		return nil, f
	}
	pc := &parquetColumn{
		name: col.Name, index: c.Index(), decoder: p.decoder,
		unit: timeUnit(c.Type()), unsigned: unsigned(c.Type()), date: isDate(c.Type()),
	}
	if !pc.readable(i, c.Type()) {
		return nil, fmt.Errorf("column %s has the type %s, which cannot be read as %s",
			col.Name, c.Type(), [...]string{
				"an id: write text or integers", "an id: write text or integers",
				"a time: write timestamps, dates, numbers or text", "a weight: write numbers",
				"an event type: write text"}[i])
	}
	metadata := p.file.Metadata()
	for g := range metadata.RowGroups {
		group := &metadata.RowGroups[g]
		chunk := &group.Columns[pc.index].MetaData
		// The library reads pages of LZ4 wrong: part of such a file counted as good rows.
		if chunk.Codec == format.Lz4Raw || chunk.Codec == format.Lz4 {
			return nil, fmt.Errorf("column %s is compressed with %s, which is not read: write the "+
				"file with snappy, gzip or zstd", col.Name, chunk.Codec)
		}
		if chunk.NumValues != group.NumRows {
			return nil, fmt.Errorf("%w: %d values of column %s in %d rows",
				errCorruptParquet, chunk.NumValues, col.Name, group.NumRows)
		}
		if err := checkPages(p.source.file, p.source.Size, chunk); err != nil {
			return nil, fmt.Errorf("column %s: %w", col.Name, err)
		}
	}
	return pc, nil
}

func (p *parquetRows) Ticks() int64 {
	switch c := p.cols[TimeColumn]; {
	case c == nil:
		return 0
	case c.unit != 0:
		return c.unit
	case c.date:
		return 1 // they become seconds
	}
	return p.decoder.clock.ticks
}

func (p *parquetRows) Next(r *Row) error {
	for p.left == 0 {
		if len(p.groups) == 0 {
			return io.EOF
		}
		if err := p.nextGroup(); err != nil {
			return fmt.Errorf("%s: %w", p.source.Path, err)
		}
	}
	p.left--
	p.line++
	r.clear()
	var bad *Error
	for i, c := range p.cols {
		if c == nil {
			continue
		}
		// Every column moves on, also behind a fault, or the next row would be
		// put together from different ones.
		value, err := c.next()
		if err != nil {
			return fmt.Errorf("%s: row %d, column %s: %w", p.source.Path, p.line, c.name, err)
		}
		if err := c.take(r, i, value); err != nil && bad == nil {
			bad = NewError(p.source.Path, p.line, c.name, err)
		}
	}
	if bad != nil {
		return bad
	}
	return nil
}

// nextGroup opens the next row group.
func (p *parquetRows) nextGroup() (err error) {
	defer recovered(&err)
	group := p.groups[0]
	p.groups = p.groups[1:]
	p.left = group.NumRows()
	for _, c := range p.cols {
		if c == nil {
			continue
		}
		if err := c.close(); err != nil {
			return err
		}
		c.pages = group.ColumnChunks()[c.index].Pages()
	}
	return nil
}

// parquetColumn reads the values of one column.
type parquetColumn struct {
	name     string
	index    int   // leaf index
	unit     int64 // ticks per second of a timestamp, 0 for plain numbers
	decoder  *decoder
	unsigned bool // integers are unsigned
	date     bool // times are days since 1970, or those of INT96
	pages    parquet.Pages
	page     parquet.Page
	values   parquet.ValueReader
	batch    [256]parquet.Value
	have     []parquet.Value // part of batch that is not used yet
	text     []byte          // text of a number, reused
}

// timeUnit returns the ticks per second of a timestamp type, else 0.
func timeUnit(t parquet.Type) int64 {
	if logical := t.LogicalType(); logical != nil {
		if stamp, ok := logical.Value.(*format.TimestampType); ok && stamp.Unit.Value != nil {
			return int64(1e9 / stamp.Unit.Value.Duration())
		}
	}
	return 0
}

// isDate reports whether t is a type of days since 1970, or INT96, the older form of timestamps:
// the nanoseconds of a day and its number.
func isDate(t parquet.Type) bool {
	if logical := t.LogicalType(); logical != nil {
		if _, ok := logical.Value.(*format.DateType); ok {
			return true
		}
	}
	return t.Kind() == parquet.Int96
}

const (
	secondsOfDay = 86_400
	firstDay     = 2_440_588 // Julian number of 1970-01-01
)

// unsigned reports whether t is an unsigned integer type.
func unsigned(t parquet.Type) bool {
	if logical := t.LogicalType(); logical != nil {
		n, ok := logical.Value.(*format.IntType)
		return ok && !n.IsSigned
	}
	return false
}

// readable reports whether values of type t can stand in mapped column i.
func (c *parquetColumn) readable(i int, t parquet.Type) bool {
	kind := t.Kind()
	number := kind == parquet.Int32 || kind == parquet.Int64
	if logical := t.LogicalType(); logical != nil {
		switch logical.Value.(type) {
		case *format.DateType:
			return i == TimeColumn
		case *format.TimeType, *format.DecimalType:
			return false // numbers in units of their own
		}
	}
	switch i {
	case UserColumn, ItemColumn:
		return number || kind == parquet.ByteArray
	case TypeColumn:
		return kind == parquet.ByteArray
	case TimeColumn:
		return number || kind == parquet.ByteArray || kind == parquet.Int96 ||
			kind == parquet.Float || kind == parquet.Double
	}
	return number || kind == parquet.Float || kind == parquet.Double
}

// next returns the next value, valid until the following call.
func (c *parquetColumn) next() (parquet.Value, error) {
	if len(c.have) == 0 {
		if err := c.fill(); err != nil {
			return parquet.Value{}, err
		}
	}
	v := c.have[0]
	c.have = c.have[1:]
	return v, nil
}

// fill reads the next batch of values.
func (c *parquetColumn) fill() (err error) {
	defer recovered(&err)
	for {
		if c.values != nil {
			n, err := c.values.ReadValues(c.batch[:])
			if err != nil && err != io.EOF {
				return fmt.Errorf("%w: %w", errCorruptParquet, err)
			}
			if n > 0 {
				c.have = c.batch[:n]
				return nil
			}
			parquet.Release(c.page)
			c.page, c.values = nil, nil
		}
		page, err := c.pages.ReadPage()
		if err == io.EOF {
			return fmt.Errorf("%w: fewer values than rows", errCorruptParquet)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errCorruptParquet, err)
		}
		c.page, c.values = page, page.Values()
	}
}

func (c *parquetColumn) close() error {
	if c.page != nil {
		parquet.Release(c.page)
	}
	c.page, c.values, c.have = nil, nil, nil
	if c.pages == nil {
		return nil
	}
	err := c.pages.Close()
	c.pages = nil
	return err
}

// take puts value v of the column mapped at i into r.
func (c *parquetColumn) take(r *Row, i int, v parquet.Value) (err error) {
	if v.IsNull() {
		return reason("null")
	}
	switch i {
	case UserColumn, ItemColumn:
		return c.decoder.take(r, i, c.id(v))
	case TimeColumn:
		return c.takeTime(r, v)
	case WeightColumn:
		x := c.number(v)
		c.text = strconv.AppendFloat(c.text[:0], x, 'g', -1, 64)
		r.Weight, err = checkWeight(x, c.text)
		return err
	}
	return c.decoder.take(r, i, v.ByteArray())
}

// takeTime puts a time into r.
func (c *parquetColumn) takeTime(r *Row, v parquet.Value) (err error) {
	r.Dated = c.unit != 0 || c.date
	switch {
	case v.Kind() == parquet.Int96:
		x := v.Int96()
		day, nanos := int64(x[2])-firstDay, uint64(x[1])<<32|uint64(x[0])
		if nanos >= secondsOfDay*1e9 {
			return Refusef("%d nanoseconds of a day, want fewer", nanos)
		}
		t := day*secondsOfDay + int64(nanos/1e9)
		r.Time, err = checkTime(t, strconv.AppendInt(c.text[:0], t, 10))
		return err
	case v.Kind() == parquet.ByteArray:
		return c.decoder.take(r, TimeColumn, v.ByteArray())
	case v.Kind() == parquet.Float || v.Kind() == parquet.Double:
		x := c.number(v)
		c.text = strconv.AppendFloat(c.text[:0], x, 'g', -1, 64)
		r.Time, err = c.decoder.clock.decimal(x, c.text)
		return err
	}
	t := c.integer(v)
	c.text = strconv.AppendInt(c.text[:0], t, 10)
	if c.date {
		r.Time, err = checkTime(t*secondsOfDay, c.text)
		return err
	}
	if c.unit != 0 {
		r.Time, err = checkTime(t/c.unit, c.text)
		return err
	}
	r.Time, err = c.decoder.clock.whole(t, c.text)
	return err
}

// id returns an id, valid until the following call of next.
func (c *parquetColumn) id(v parquet.Value) []byte {
	switch {
	case v.Kind() == parquet.ByteArray:
		return v.ByteArray()
	case c.unsigned && v.Kind() == parquet.Int64:
		c.text = strconv.AppendUint(c.text[:0], v.Uint64(), 10)
	default:
		c.text = strconv.AppendInt(c.text[:0], c.integer(v), 10)
	}
	return c.text
}

// integer returns an integer value; an unsigned one beyond int64 wraps round.
func (c *parquetColumn) integer(v parquet.Value) int64 {
	switch {
	case v.Kind() == parquet.Int64:
		return v.Int64()
	case c.unsigned:
		return int64(v.Uint32())
	}
	return int64(v.Int32())
}

// number returns a numeric value.
func (c *parquetColumn) number(v parquet.Value) float64 {
	switch v.Kind() {
	case parquet.Float:
		return float64(v.Float())
	case parquet.Double:
		return v.Double()
	}
	return float64(c.integer(v))
}
