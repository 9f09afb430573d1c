package rows

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

var (
	errBareQuote = errors.New(`a quote inside an unquoted field; ` +
		`put the field in quotes and double the quotes in it`)
	errAfterQuote = errors.New(`text after a closing quote; ` +
		`double the quotes inside a quoted field`)
	errOpenQuote = fmt.Errorf("a quote opens in this line and is not closed within %d bytes, so "+
		"no row from here on was read; close it, or put the field in quotes and double the quotes "+
		"in it", MaxRowBytes)
)

// csvScanner cuts CSV text (RFC 4180) into rows of fields. It accepts what
// encoding/csv accepts with its default settings, skips blank lines too, and
// differs in three points: it allocates nothing for a row, so that reading
// leaves no garbage and keeps its promise about memory; a row has at most
// MaxRowBytes; and "\r\n" inside a quoted field is kept as it is.
type csvScanner struct {
	lines  lineReader
	comma  byte
	start  int64 // line at which the last row starts
	opened int64 // line of the last quote that opened a field
	fields [][]byte

	unquoted []byte // the fields of a row with quotes, one after the other
	ends     []int  // where in unquoted each field ends
}

// next returns the fields of the next row, valid until the following call.
// After errBareQuote and errAfterQuote reading can go on with the next line;
// errOpenQuote, errRowTooLong and errors of the underlying reader are final.
func (s *csvScanner) next() ([][]byte, error) {
	for {
		line, err := s.lines.next()
		s.start = s.lines.line
		if err != nil {
			return nil, err
		}
		text := trimEOL(line)
		switch {
		case len(text) == 0:
			continue // blank line
		case bytes.IndexByte(text, '"') >= 0:
			return s.splitQuoted(line)
		}
		return s.split(text), nil
	}
}

// split cuts a row without quotes.
func (s *csvScanner) split(text []byte) [][]byte {
	s.fields = s.fields[:0]
	for {
		i := bytes.IndexByte(text, s.comma)
		if i < 0 {
			s.fields = append(s.fields, text)
			return s.fields
		}
		s.fields = append(s.fields, text[:i])
		text = text[i+1:]
	}
}

// splitQuoted cuts a row with quotes, which may go on over further lines.
func (s *csvScanner) splitQuoted(line []byte) ([][]byte, error) {
	s.unquoted, s.ends = s.unquoted[:0], s.ends[:0]
	for more := true; more; {
		var err error
		if len(line) > 0 && line[0] == '"' {
			line, more, err = s.quotedField(line[1:])
		} else {
			line, more, err = s.plainField(line)
		}
		if err != nil {
			return nil, err
		}
		s.ends = append(s.ends, len(s.unquoted))
	}
	s.fields = s.fields[:0]
	from := 0
	for _, to := range s.ends {
		s.fields = append(s.fields, s.unquoted[from:to:to])
		from = to
	}
	return s.fields, nil
}

// plainField appends a field without quotes and returns what follows its
// delimiter; more is false if the field was the last of the row.
func (s *csvScanner) plainField(line []byte) (rest []byte, more bool, err error) {
	field := trimEOL(line)
	if i := bytes.IndexByte(field, s.comma); i >= 0 {
		field, rest, more = field[:i], line[i+1:], true
	}
	if bytes.IndexByte(field, '"') >= 0 {
		return nil, false, errBareQuote
	}
	s.unquoted = append(s.unquoted, field...)
	return rest, more, nil
}

// quotedField does the same for a field whose opening quote is passed already.
func (s *csvScanner) quotedField(line []byte) (rest []byte, more bool, err error) {
	s.opened = s.lines.line
	for {
		i := bytes.IndexByte(line, '"')
		if i < 0 { // the field goes on in the next line
			s.unquoted = append(s.unquoted, line...)
			if len(s.unquoted) > MaxRowBytes {
				return nil, false, errOpenQuote
			}
			if line, err = s.lines.next(); err == io.EOF {
				err = errOpenQuote
			}
			if err != nil {
				return nil, false, err
			}
			continue
		}
		s.unquoted = append(s.unquoted, line[:i]...)
		line = line[i+1:]
		switch {
		case len(line) > 0 && line[0] == '"': // a doubled quote stands for one
			s.unquoted = append(s.unquoted, '"')
			line = line[1:]
		case len(line) > 0 && line[0] == s.comma:
			return line[1:], true, nil
		case len(trimEOL(line)) == 0:
			return nil, false, nil
		default:
			return nil, false, errAfterQuote
		}
	}
}

// isText reports whether b can be part of a text file: valid UTF-8 without
// control characters other than tab and line ends.
func isText(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' {
			return false
		}
	}
	return utf8.Valid(b)
}
