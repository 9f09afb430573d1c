package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/gsimc/gsimc/internal/fault"
)

// jsonRows reads the interactions of a JSON Lines file: one object a line.
// Ids are strings or integers (an integer stands for its digits), times and
// weights are numbers or strings. Further keys are ignored; of a repeated key
// the last counts.
type jsonRows struct {
	source  *source
	lines   lineReader
	cols    [numColumns]column
	hasTime bool
	decoder *decoder
	values  [numColumns][]byte // raw JSON values of the row, nil: absent
}

// newJSONRows looks at the first object of s, which decides whether the file has times if
// Options.TimeColumn leaves that open.
func newJSONRows(s *source, opt Options, d *decoder) (*jsonRows, error) {
	j := &jsonRows{source: s, cols: opt.columns(), hasTime: true, decoder: d}
	j.lines.text = s.text
	if err := j.lookAhead(s); err != nil {
		return nil, err
	}
	first, err := s.head()
	if err != nil {
		return nil, err
	}
	d.recognise(j.over(lineReader{block: first}))
	return j, nil
}

// lookAhead checks the members of the first object.
func (j *jsonRows) lookAhead(s *source) error {
	first, err := s.text.Peek(MaxRowBytes)
	if err != nil && err != io.EOF {
		return s.wrap(err)
	}
	first, _, _ = bytes.Cut(bytes.TrimLeft(first, " \t\r\n"), []byte("\n"))
	if !json.Valid(first) {
		return nil // reading the row reports the fault
	}
	j.find(first)
	s.columns = memberNames(first)
	for i, col := range j.cols {
		switch {
		case j.values[i] != nil || col.name == "":
		case !col.optional:
			return fault.In(s.path, col.missing(s.columns))
		case i == timeColumn:
			j.hasTime = false
		}
	}
	return nil
}

// over implements lineForm.
func (j *jsonRows) over(lines lineReader) rowReader {
	return &jsonRows{
		source: j.source, lines: lines, cols: j.cols, hasTime: j.hasTime, decoder: j.decoder,
	}
}

// multiline implements lineForm.
func (j *jsonRows) multiline() byte { return 0 }

func (j *jsonRows) ticks() int64 {
	if !j.hasTime {
		return 0
	}
	return j.decoder.clock.ticks
}

func (j *jsonRows) next(r *row) error {
	line, err := j.nextLine()
	if err != nil {
		return err
	}
	if !json.Valid(line) || line[0] != '{' {
		return j.bad("", refusef("not a JSON object: %s", quote(line)))
	}
	j.find(line)
	r.clear()
	for i, value := range j.values {
		if err := j.take(r, i, value); err != nil {
			return j.bad(j.cols[i].name, err)
		}
	}
	return nil
}

// nextLine returns the next line that is not blank, without surrounding space.
func (j *jsonRows) nextLine() ([]byte, error) {
	for {
		line, err := j.lines.next()
		switch err {
		case nil:
		case io.EOF:
			return nil, err
		case errRowTooLong:
			return nil, fmt.Errorf("%s:%d: %w", j.source.path, j.lines.line, err)
		default:
			return nil, j.source.wrap(err)
		}
		if line = bytes.Trim(line, " \t\r\n"); len(line) > 0 {
			return line, nil
		}
	}
}

// take puts the JSON value of the column mapped at i into r.
func (j *jsonRows) take(r *row, i int, value []byte) error {
	switch {
	case i == timeColumn && !j.hasTime:
		if value != nil {
			return reason("a time, although the first row of the file has none")
		}
		return nil
	case j.cols[i].name == "":
		return nil
	case value == nil:
		return reason("missing")
	}
	text, isString, err := jsonScalar(value)
	if err != nil {
		return err
	}
	if i == userColumn || i == itemColumn {
		if _, isInt := parseInt(text); !isString && !isInt {
			return refusef("id %s, want a string or an integer", quote(value))
		}
	}
	return j.decoder.take(r, i, text)
}

func (j *jsonRows) bad(column string, err error) error {
	return newRowError(j.source.path, j.lines.line, column, err)
}

// find sets j.values to the values of the mapped columns in a valid JSON object.
func (j *jsonRows) find(object []byte) {
	clear(j.values[:])
	eachMember(object, func(key, value []byte) {
		for i := range j.cols {
			if name := j.cols[i].name; name != "" && string(key) == name {
				j.values[i] = value
				return
			}
		}
	})
}

// memberNames returns the keys of a valid JSON object, for an error message.
func memberNames(object []byte) (names []string) {
	eachMember(object, func(key, _ []byte) { names = append(names, string(key)) })
	return names
}

// jsonScalar returns the text of a JSON string or number.
func jsonScalar(value []byte) (text []byte, isString bool, err error) {
	switch c := value[0]; {
	case c == '"':
		text, err = jsonString(value)
		return text, true, err
	case c == '-', c >= '0' && c <= '9':
		return value, false, nil
	}
	return nil, false, refusef("%s, want a string or a number", quote(value))
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
		return nil, refusef("string %s is not valid UTF-8", quote(literal))
	}
	// Two ids must not become one because both held half a surrogate pair.
	if bytes.ContainsRune([]byte(s), utf8.RuneError) &&
		!bytes.ContainsRune(literal, utf8.RuneError) {
		return nil, refusef("string %s has an unpaired surrogate", quote(literal))
	}
	return []byte(s), nil
}

// eachMember calls fn with the key (escapes resolved) and the raw value of
// each member of an object. The object must be valid JSON; then its structure
// can be followed without a parser.
func eachMember(object []byte, fn func(key, value []byte)) {
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
