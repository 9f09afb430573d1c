package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gsimc/gsimc/learn/dataset/internal/rows"
)

// ItemRow is what a row of a file says of an item.
type ItemRow struct {
	ID, Title          string
	Categories, Labels []string
	Hidden             bool
	From, Until        time.Time // the zero Time: none
	Embedding          []float32

	// Fields are the columns that the row has besides the id, in the order of [ItemFields]. The
	// others say nothing.
	Fields []string
	// Line is the line at which the row starts, from 1.
	Line int64
}

// ItemFields are the columns of an item besides its id, by the names of their fields in the
// protocol.
var ItemFields = []string{"title", "categories", "labels", "hidden", "available_from",
	"available_until", "embedding"}

// ItemRowsOptions say how to read a file of items.
type ItemRowsOptions struct {
	// Separator stands between the categories, and between the labels, of a cell; empty: ";" and
	// "|" both do.
	Separator string
	// Stdin is read for the path [Stdin].
	Stdin io.Reader
	// Progress, unless nil, is called after each row with the bytes of the file that were read, and
	// with all of them, 0 if that is unknown.
	Progress func(read, total int64)
}

// ReadItemRows calls fn for each row of a file of items: CSV or TSV with a header, or JSON Lines,
// plain or compressed, as [Read] recognises them. The column item_id is needed, those of
// [ItemFields] are optional, and others are ignored. hidden is true, false, 1, 0, yes, no or empty;
// times are dates, RFC 3339 or seconds since 1970, or empty; the numbers of an embedding stand in
// brackets or not, with commas or blanks between them; in JSON, lists may be arrays.
//
// A row with a fault is passed to bad as a [*RowError]. An error of fn or bad ends the reading and
// is returned.
func ReadItemRows(
	path string, opt ItemRowsOptions, fn func(ItemRow) error, bad func(*RowError) error,
) error {
	return rows.With(path, opt.Stdin, func(s *rows.Source) error {
		r, err := newItemRows(s, opt)
		if err != nil {
			return err
		}
		for {
			row, err := r.next()
			rowError := (*RowError)(nil)
			switch {
			case errors.Is(err, io.EOF):
				return nil
			case errors.As(err, &rowError):
				err = bad(rowError)
			case err == nil:
				err = fn(row)
			}
			if err != nil {
				return err
			}
			if opt.Progress != nil {
				opt.Progress(s.BytesRead(), s.Size)
			}
		}
	})
}

// itemRows reads the items of one source: of a table, or of lines of JSON.
type itemRows struct {
	table   *rows.Table
	columns []int // of the table: the id and the fields, -1: not there
	objects *rows.Objects

	separator string   // empty: the usual ones
	fields    []string // of every row of the table
}

func newItemRows(s *rows.Source, opt ItemRowsOptions) (*itemRows, error) {
	r := &itemRows{separator: opt.Separator}
	if s.Format == rows.FormatJSONL {
		r.objects = rows.NewObjects(s)
		return r, nil
	}
	var err error
	id := rows.Column{Name: DefaultItemColumn}
	if r.table, r.columns, err = rows.OpenTable(s, "a file of items", id); err != nil {
		return nil, err
	}
	for _, name := range ItemFields {
		at, err := r.table.Find(rows.Column{Name: name, Optional: true})
		if err != nil {
			return nil, err
		}
		if r.columns = append(r.columns, at); at >= 0 {
			r.fields = append(r.fields, name)
		}
	}
	return r, nil
}

func (r *itemRows) next() (ItemRow, error) {
	if r.table == nil {
		return r.nextObject()
	}
	fields, err := r.table.Next()
	if err != nil {
		return ItemRow{}, err
	}
	row := ItemRow{Fields: r.fields, Line: r.table.Line()}
	for i, at := range r.columns {
		if at < 0 {
			continue
		}
		name := itemColumnName(i)
		if err := r.take(&row, name, fields[at]); err != nil {
			return ItemRow{}, r.table.Bad(name, err)
		}
	}
	return row, nil
}

// itemColumnName is the name of column i of an item: the id, then the fields.
func itemColumnName(i int) string {
	if i == 0 {
		return DefaultItemColumn
	}
	return ItemFields[i-1]
}

// nextObject is next for JSON Lines.
func (r *itemRows) nextObject() (ItemRow, error) {
	object, err := r.objects.Next()
	if err != nil {
		return ItemRow{}, err
	}
	values := map[string][]byte{}
	rows.EachMember(object, func(key, value []byte) { values[string(key)] = value })
	row := ItemRow{Line: r.objects.Line()}
	for i := range len(ItemFields) + 1 {
		name := itemColumnName(i)
		value, there := values[name]
		switch {
		case there:
			err = r.takeJSON(&row, name, value)
		case i == 0:
			err = rows.Refusef("missing")
		}
		if err != nil {
			return ItemRow{}, r.objects.Bad(name, err)
		}
		if there && i > 0 {
			row.Fields = append(row.Fields, name)
		}
	}
	return row, nil
}

// takeJSON puts a JSON value into a row: an array of strings, or what a cell of a table may have.
func (r *itemRows) takeJSON(row *ItemRow, name string, value []byte) error {
	switch {
	case string(value) == "null":
		return r.take(row, name, nil)
	case string(value) == "true" || string(value) == "false":
		return r.take(row, name, value)
	case value[0] == '[' && name == "embedding":
		return r.take(row, name, value)
	case value[0] == '[':
		var names []string
		if err := json.Unmarshal(value, &names); err != nil {
			return rows.Refusef("%s, want an array of strings", rows.Quote(value))
		}
		return row.setNames(name, names)
	}
	text, err := rows.Scalar(value, name == DefaultItemColumn)
	if err != nil {
		return err
	}
	return r.take(row, name, text)
}

// take puts a cell into a row.
func (r *itemRows) take(row *ItemRow, name string, cell []byte) (err error) {
	switch name {
	case DefaultItemColumn:
		row.ID = string(cell)
		return rows.CheckID(cell)
	case "title":
		if row.Title = string(cell); !utf8.Valid(cell) {
			return rows.Refusef("%s is not valid UTF-8", rows.Quote(cell))
		}
	case "categories", "labels":
		text, separator, names := string(cell), r.separator, []string(nil)
		if separator == "" {
			text, separator = strings.ReplaceAll(text, "|", ";"), ";"
		}
		for _, part := range strings.Split(text, separator) {
			if part = strings.TrimSpace(part); part != "" {
				names = append(names, part)
			}
		}
		return row.setNames(name, names)
	case "hidden":
		row.Hidden, err = parseBool(cell)
	case "available_from":
		row.From, err = parseTime(cell)
	case "available_until":
		row.Until, err = parseTime(cell)
	case "embedding":
		row.Embedding, err = parseNumbers(cell)
	}
	return err
}

// setNames sets the categories or labels.
func (row *ItemRow) setNames(name string, names []string) error {
	for _, text := range names {
		if err := rows.CheckID([]byte(text)); err != nil {
			return fmt.Errorf("a name in it: %w", err)
		}
	}
	switch name {
	case "categories":
		row.Categories = names
	case "labels":
		row.Labels = names
	default:
		return rows.Refusef("a list, want one value")
	}
	return nil
}

// parseBool reads a yes or no; empty is no.
func parseBool(b []byte) (bool, error) {
	switch text := string(bytes.ToLower(b)); {
	case slices.Contains([]string{"true", "1", "yes"}, text):
		return true, nil
	case slices.Contains([]string{"", "false", "0", "no"}, text):
		return false, nil
	}
	return false, rows.Refusef("%s, want true or false", rows.Quote(b))
}

// parseNumbers reads an embedding; empty is none.
func parseNumbers(b []byte) (all []float32, err error) {
	text := strings.TrimSpace(string(b))
	if inner, array := strings.CutPrefix(text, "["); array {
		text = strings.TrimSuffix(inner, "]")
	}
	between := func(r rune) bool { return strings.ContainsRune(", \t\n\r", r) }
	for _, number := range strings.FieldsFunc(text, between) {
		x, err := strconv.ParseFloat(number, 32)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, rows.Refusef("%s, want numbers", rows.Quote([]byte(number)))
		}
		all = append(all, float32(x))
	}
	return all, nil
}

// parseTime reads a time; empty is none.
func parseTime(b []byte) (time.Time, error) {
	if len(b) == 0 {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339Nano, string(b)); err == nil {
		return t.UTC(), nil
	}
	seconds, err := rows.ReadTime(b)
	return time.Unix(seconds, 0).UTC(), err
}
