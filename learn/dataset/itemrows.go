package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/learn/dataset/internal/rows"
)

// ItemRow is what a row of a file says of an item.
type ItemRow struct {
	ID, Title          string
	Categories, Labels []string
	Hidden             bool
	From, Until        time.Time // the zero Time: none
	Embedding          []float32
	Numbers            map[string]float64

	// Fields are the columns that the row has besides the id: those of [ItemFields] in that order,
	// and then those of single numbers, such as numbers.price. The others say nothing.
	Fields []string
	// Line is the line at which the row starts, from 1.
	Line int64
}

// ItemFields are the columns of an item besides its id, by the names of their fields in the
// protocol.
var ItemFields = []string{"title", "categories", "labels", "hidden", "available_from",
	"available_until", "embedding", "numbers"}

// numberPrefix begins the columns of single numbers.
const numberPrefix = "numbers."

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
	// Unread, unless nil, is called with the name of each column that is no field, of a table once,
	// of JSON Lines in each row.
	Unread func(name string)
}

// ReadItemRows calls fn for each row of a file of items: CSV or TSV with a header, or JSON Lines,
// plain or compressed, as [Read] recognises them. The column item_id is needed, those of
// [ItemFields] are optional, and others are ignored. hidden is true, false, 1, 0, yes, no or empty;
// times are dates, RFC 3339 or seconds since 1970, or empty; the numbers of an embedding stand in
// brackets or not, with commas or blanks between them; in JSON, lists may be arrays. Columns such
// as numbers.price have a number or a time each, or none; in JSON, numbers is an object of all
// that the item has.
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
	columns []int // of the table: the id and what fields names
	objects *rows.Objects

	unread    func(name string)
	separator string   // empty: the usual ones
	fields    []string // of every row of the table
}

func newItemRows(s *rows.Source, opt ItemRowsOptions) (*itemRows, error) {
	r := &itemRows{separator: opt.Separator, unread: opt.Unread}
	if r.unread == nil {
		r.unread = func(string) {}
	}
	if s.Format == rows.FormatJSONL {
		r.objects = rows.NewObjects(s)
		return r, nil
	}
	var err error
	id := rows.Column{Name: DefaultItemColumn}
	if r.table, r.columns, err = rows.OpenTable(s, "a file of items", id); err != nil {
		return nil, err
	}
	names := slices.Clone(ItemFields)
	for _, name := range r.table.Header() {
		if number, ok := strings.CutPrefix(name, numberPrefix); ok {
			if !event.ValidNumberName(number) {
				return nil, fmt.Errorf("%s: column %s: the name of a number must match %s", s.Path,
					name, event.NumberSpelling)
			}
			names = append(names, name)
		} else if name != DefaultItemColumn && !slices.Contains(ItemFields, name) {
			r.unread(name)
		}
	}
	for _, name := range names {
		at, err := r.table.Find(rows.Column{Name: name, Optional: true})
		if err != nil {
			return nil, err
		}
		if at >= 0 {
			r.columns, r.fields = append(r.columns, at), append(r.fields, name)
		}
	}
	if header := r.table.Header(); len(r.fields) == 0 && len(header) > 1 {
		return nil, fmt.Errorf("%s: the header has %s, want item_id and one of %s", s.Path,
			rows.Quote([]byte(strings.Join(header, ","))), strings.Join(ItemFields, ", "))
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
		name := DefaultItemColumn
		if i > 0 {
			name = r.fields[i-1]
		}
		if err := r.take(&row, name, fields[at]); err != nil {
			return ItemRow{}, r.table.Bad(name, err)
		}
	}
	return row, nil
}

// nextObject is next for JSON Lines.
func (r *itemRows) nextObject() (ItemRow, error) {
	object, err := r.objects.Next()
	if err != nil {
		return ItemRow{}, err
	}
	values := map[string][]byte{}
	rows.EachMember(object, func(key, value []byte) {
		name := string(key)
		if values[name] = value; name != DefaultItemColumn && !slices.Contains(ItemFields, name) {
			r.unread(name)
		}
	})
	row := ItemRow{Line: r.objects.Line()}
	for i, name := range append([]string{DefaultItemColumn}, ItemFields...) {
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
	case value[0] == '[' && name == "embedding", value[0] == '{' && name == "numbers":
		return r.take(row, name, value)
	case name == "numbers":
		return rows.Refusef("%s, want an object of numbers", rows.Quote(value))
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
		row.Embedding, err = parseCoordinates(cell)
	case "numbers":
		err = row.setNumbers(cell)
	default:
		err = row.setNumber(strings.TrimPrefix(name, numberPrefix), cell)
	}
	if err == nil && len(row.Numbers) > event.MaxNumbers {
		err = rows.Refusef("more than %d numbers of one item", event.MaxNumbers)
	}
	return err
}

// setNumbers sets the numbers that a JSON object names.
func (row *ItemRow) setNumbers(cell []byte) error {
	if len(cell) == 0 {
		return nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(cell, &object); err != nil {
		return rows.Refusef("%s, want an object of numbers", rows.Quote(cell))
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !event.ValidNumberName(name) {
			return rows.Refusef("the name %s, which must match %s", rows.Quote([]byte(name)),
				event.NumberSpelling)
		}
		if string(object[name]) == "null" {
			continue
		}
		text, err := rows.Scalar(object[name], false)
		if err == nil {
			err = row.setNumber(name, text)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// setNumber sets a number: the text of one, or of a time; empty is none.
func (row *ItemRow) setNumber(name string, text []byte) error {
	if len(text) == 0 {
		return nil
	}
	x, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		t, err := parseTime(text)
		if err != nil {
			return rows.Refusef("%s, want a number or a time", rows.Quote(text))
		}
		x = float64(t.UnixMicro()) / 1e6
	}
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return rows.Refusef("%s, want a finite number", rows.Quote(text))
	}
	if row.Numbers == nil {
		row.Numbers = map[string]float64{}
	}
	row.Numbers[name] = x
	return nil
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

// parseCoordinates reads an embedding; empty is none.
func parseCoordinates(b []byte) (all []float32, err error) {
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
