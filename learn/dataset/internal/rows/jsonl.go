package rows

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/gsimc/gsimc/internal/fault"
)

// Objects reads the lines of a JSON Lines file.
type Objects struct {
	source *Source
	lines  lineReader
}

// NewObjects returns a reader of s from where it stands.
func NewObjects(s *Source) *Objects {
	return &Objects{source: s, lines: lineReader{text: s.text}}
}

// Next returns the next object, valid JSON, until the following call. The errors are those of a
// [Reader].
func (o *Objects) Next() (object []byte, err error) {
	line, err := o.nextLine()
	if err != nil {
		return nil, err
	}
	if !json.Valid(line) || line[0] != '{' {
		return nil, o.Bad("", Refusef("not a JSON object: %s", Quote(line)))
	}
	return line, nil
}

// nextLine returns the next line that is not blank, without surrounding space.
func (o *Objects) nextLine() ([]byte, error) {
	for {
		line, err := o.lines.next()
		switch err {
		case nil:
		case io.EOF:
			return nil, err
		case errRowTooLong:
			return nil, fmt.Errorf("%s:%d: %w", o.source.Path, o.lines.line, err)
		default:
			return nil, o.source.wrap(err)
		}
		if line = bytes.Trim(line, " \t\r\n"); len(line) > 0 {
			return line, nil
		}
	}
}

// Line returns the number of the line that was read last, from 1.
func (o *Objects) Line() int64 { return o.lines.line }

// Bad returns the error for a fault in the line that was read last.
func (o *Objects) Bad(column string, err error) error {
	return NewError(o.source.Path, o.lines.line, column, err)
}

// jsonRows reads the interactions of a JSON Lines file: one object a line.
// Ids are strings or integers (an integer stands for its digits), times and
// weights are numbers or strings. Further keys are ignored; of a repeated key
// the last counts.
type jsonRows struct {
	objects Objects
	cols    [NumColumns]Column
	hasTime bool
	decoder *decoder
	values  [NumColumns][]byte // raw JSON values of the row, nil: absent
}

// newJSONRows looks at the first object of s, which decides whether the file has times if
// Form leaves that open.
func newJSONRows(s *Source, form Form, d *decoder) (*jsonRows, error) {
	j := &jsonRows{objects: *NewObjects(s), cols: form.Columns, hasTime: true, decoder: d}
	if err := j.lookAhead(s); err != nil {
		return nil, err
	}
	first, err := s.head()
	if err != nil {
		return nil, err
	}
	return j, fault.In(s.Path, d.recognise(j.over(lineReader{block: first})))
}

// lookAhead checks the members of the first object.
func (j *jsonRows) lookAhead(s *Source) error {
	first, err := s.text.Peek(MaxRowBytes)
	if err != nil && err != io.EOF {
		return s.wrap(err)
	}
	first, _, _ = bytes.Cut(bytes.TrimLeft(first, " \t\r\n"), []byte("\n"))
	if !json.Valid(first) {
		return nil // reading the row reports the fault
	}
	j.find(first)
	s.Columns = memberNames(first)
	var missing error
	for i, col := range j.cols {
		switch {
		case j.values[i] != nil || col.Name == "":
		case !col.Optional:
			missing = errors.Join(missing, fault.In(s.Path, col.missing(s.Columns)))
		case i == TimeColumn:
			j.hasTime = false
		}
	}
	return missing
}

// over implements lineForm.
func (j *jsonRows) over(lines lineReader) Reader {
	return &jsonRows{
		objects: Objects{source: j.objects.source, lines: lines}, cols: j.cols,
		hasTime: j.hasTime, decoder: j.decoder,
	}
}

// multiline implements lineForm.
func (j *jsonRows) multiline() byte { return 0 }

func (j *jsonRows) Ticks() int64 {
	if !j.hasTime {
		return 0
	}
	return j.decoder.clock.ticks
}

func (j *jsonRows) Next(r *Row) error {
	object, err := j.objects.Next()
	if err != nil {
		return err
	}
	j.find(object)
	r.clear()
	for i, value := range j.values {
		if err := j.take(r, i, value); err != nil {
			return j.objects.Bad(j.cols[i].Name, err)
		}
	}
	return nil
}

// take puts the JSON value of the column mapped at i into r.
func (j *jsonRows) take(r *Row, i int, value []byte) error {
	switch {
	case i == TimeColumn && !j.hasTime:
		if value != nil {
			return reason("a time, although the first row of the file has none")
		}
		return nil
	case j.cols[i].Name == "":
		return nil
	case value == nil:
		return reason("missing")
	}
	text, err := Scalar(value, i == UserColumn || i == ItemColumn)
	if err != nil {
		return err
	}
	return j.decoder.take(r, i, text)
}

// find sets j.values to the values of the mapped columns in a valid JSON object.
func (j *jsonRows) find(object []byte) {
	clear(j.values[:])
	EachMember(object, func(key, value []byte) {
		for i := range j.cols {
			if name := j.cols[i].Name; name != "" && string(key) == name {
				j.values[i] = value // two columns may be one member
			}
		}
	})
}

// memberNames returns the keys of a valid JSON object, for an error message.
func memberNames(object []byte) (names []string) {
	EachMember(object, func(key, _ []byte) { names = append(names, string(key)) })
	return names
}

// Scalar returns the text of a JSON string or number. An id must be a string or an integer.
func Scalar(value []byte, id bool) (text []byte, err error) {
	switch c := value[0]; {
	case c == '"':
		return jsonString(value)
	case c != '-' && (c < '0' || c > '9'):
		return nil, Refusef("%s, want a string or a number", Quote(value))
	}
	if _, isInt := parseInt(value); id && !isInt {
		return nil, Refusef("id %s, want a string or an integer", Quote(value))
	}
	return value, nil
}

// jsonString returns the text of a valid JSON string literal, without a copy
// if it has no escapes.
func jsonString(literal []byte) (text []byte, err error) {
	text = literal[1 : len(literal)-1]
	if bytes.IndexByte(text, '\\') < 0 {
		return text, nil
	}
	var s string
	if err := json.Unmarshal(literal, &s); err != nil || !utf8.Valid(literal) {
		return nil, Refusef("string %s is not valid UTF-8", Quote(literal))
	}
	// Two ids must not become one because both held half a surrogate pair.
	if bytes.ContainsRune([]byte(s), utf8.RuneError) &&
		!bytes.ContainsRune(literal, utf8.RuneError) {
		return nil, Refusef("string %s has an unpaired surrogate", Quote(literal))
	}
	return []byte(s), nil
}

// EachMember calls fn with the key (escapes resolved) and the raw value of
// each member of an object. The object must be valid JSON; then its structure
// can be followed without a parser.
func EachMember(object []byte, fn func(key, value []byte)) {
	for i := skipSpace(object, 1); object[i] != '}'; {
		end := skipValue(object, i)
		key, err := jsonString(object[i:end])
		i = skipSpace(object, end) + 1 // the colon
		i = skipSpace(object, i)
		end = skipValue(object, i)
		if err == nil { // no column has a name that is not text
			fn(key, object[i:end])
		}
		if i = skipSpace(object, end); object[i] == ',' {
			i = skipSpace(object, i+1)
		}
	}
}

func skipSpace(b []byte, i int) int {
	for b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n' {
		i++
	}
	return i
}

// skipValue returns the end of the JSON value that starts at i.
func skipValue(b []byte, i int) int {
	for depth := 0; ; i++ {
		switch b[i] {
		case '"':
			for i++; b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		default:
			if depth > 0 {
				continue
			}
			for b[i] != ',' && b[i] != '}' && b[i] != ']' && b[i] > ' ' {
				i++ // a number, true, false or null
			}
			return i
		}
		if depth == 0 {
			return i + 1
		}
	}
}
