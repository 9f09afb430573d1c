package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/gsimc/gsimc/fault"
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
	values  [numColumns][]byte // raw JSON values of the row, nil: absent
}

// newJSONRows looks at the first object of s, which decides whether the file
// has times if Options.TimeColumn leaves that open.
func newJSONRows(s *source, opt Options) (*jsonRows, error) {
	j := &jsonRows{source: s, lines: lineReader{text: s.text}, cols: opt.columns(), hasTime: true}
	first, err := s.text.Peek(MaxRowBytes)
	if err != nil && err != io.EOF {
		return nil, s.wrap(err)
	}
	first, _, _ = bytes.Cut(bytes.TrimLeft(first, " \t\r\n"), []byte("\n"))
	if !json.Valid(first) {
		return j, nil // reading the row reports the fault
	}
	j.find(first)
	for i, col := range j.cols {
		switch {
		case j.values[i] != nil || col.name == "":
		case !col.optional:
			return nil, fault.In(s.path, col.missing(memberNames(first)))
		case i == timeColumn:
			j.hasTime = false
		}
	}
	return j, nil
}

// over implements lineForm.
func (j *jsonRows) over(lines lineReader) rowReader {
	return &jsonRows{source: j.source, lines: lines, cols: j.cols, hasTime: j.hasTime}
}

// multiline implements lineForm.
func (j *jsonRows) multiline() byte { return 0 }

func (j *jsonRows) timed() bool { return j.hasTime }

func (j *jsonRows) next(r *row) error {
	line, err := j.nextLine()
	if err != nil {
		return err
	}
	if !json.Valid(line) || line[0] != '{' {
		return j.bad("", fmt.Sprintf("not a JSON object: %s", quote(line)))
	}
	j.find(line)
	r.time, r.weight = 0, 1
	for i, value := range j.values {
		if reason := j.take(r, i, value); reason != "" {
			return j.bad(j.cols[i].name, reason)
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

// take puts the JSON value of mapped column i into r.
func (j *jsonRows) take(r *row, i int, value []byte) (reason string) {
	switch {
	case i == timeColumn && !j.hasTime:
		if value != nil {
			return "a time, although the first row of the file has none"
		}
		return ""
	case j.cols[i].name == "":
		return ""
	case value == nil:
		return "missing"
	}
	text, isString, reason := jsonScalar(value)
	if reason != "" {
		return reason
	}
	switch i {
	case userColumn, itemColumn:
		if _, isInt := parseInt(text); !isString && !isInt {
			return fmt.Sprintf("id %s, want a string or an integer", quote(value))
		}
		if i == userColumn {
			r.user = text
		} else {
			r.item = text
		}
		return checkID(text)
	case timeColumn:
		r.time, reason = parseTime(text)
	case weightColumn:
		r.weight, reason = parseWeight(text)
	}
	return reason
}

func (j *jsonRows) bad(column, reason string) error {
	return &RowError{File: j.source.path, Line: j.lines.line, Column: column, Reason: reason}
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
func jsonScalar(value []byte) (text []byte, isString bool, reason string) {
	switch c := value[0]; {
	case c == '"':
		text, reason = jsonString(value)
		return text, true, reason
	case c == '-', c >= '0' && c <= '9':
		return value, false, ""
	}
	return nil, false, fmt.Sprintf("%s, want a string or a number", quote(value))
}

// jsonString returns the text of a valid JSON string literal, without a copy
// if it has no escapes.
func jsonString(literal []byte) (text []byte, reason string) {
	text = literal[1 : len(literal)-1]
	if bytes.IndexByte(text, '\\') < 0 {
		return text, ""
	}
	var s string
	if err := json.Unmarshal(literal, &s); err != nil || !utf8.Valid(literal) {
		return nil, fmt.Sprintf("string %s is not valid UTF-8", quote(literal))
	}
	// Two ids must not become one because both held half a surrogate pair.
	if bytes.ContainsRune([]byte(s), utf8.RuneError) && !bytes.ContainsRune(literal, utf8.RuneError) {
		return nil, fmt.Sprintf("string %s has an unpaired surrogate", quote(literal))
	}
	return []byte(s), ""
}

// eachMember calls fn with the key (escapes resolved) and the raw value of
// each member of an object. The object must be valid JSON; then its structure
// can be followed without a parser.
func eachMember(object []byte, fn func(key, value []byte)) {
	for i := skipSpace(object, 1); object[i] != '}'; {
		end := skipValue(object, i)
		key, _ := jsonString(object[i:end])
		i = skipSpace(object, end) + 1 // the colon
		i = skipSpace(object, i)
		end = skipValue(object, i)
		fn(key, object[i:end])
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
