package dataset

import (
	"bytes"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// delimiters are recognised, the most usual first.
var delimiters = []byte{',', '\t', ';', '|'}

// guessDelimiter recognises the delimiter by the first row of text: the one that makes the wanted
// names of it or, without a header, the right number of fields. Else it is a tab in a file that is
// called so (events.tsv, events.tsv.gz), or the most frequent one.
func (f tableForm) guessDelimiter(path string, text []byte) byte {
	rows := map[byte][]string{}
	for _, d := range delimiters {
		fields := splitFirst(text, d)
		rows[d] = fields
		lacks := func(name string) bool { return !slices.Contains(fields, name) }
		fits := !slices.ContainsFunc(f.wanted, lacks)
		if f.names != nil {
			fits = len(fields) == len(f.names)
		}
		if fits {
			return d
		}
	}
	name := strings.ToLower(filepath.Base(path))
	if ext := filepath.Ext(name); ext == ".gz" || ext == ".zst" {
		name = strings.TrimSuffix(name, ext)
	}
	if filepath.Ext(name) == ".tsv" {
		return '\t'
	}
	best := delimiters[0]
	for _, d := range delimiters {
		if len(rows[d]) > len(rows[best]) {
			best = d
		}
	}
	return best
}

// splitFirst returns the fields of the first row of text, nil if there is none or it is no CSV with
// this delimiter. text may be cut off anywhere.
func splitFirst(text []byte, delimiter byte) (fields []string) {
	s := csvScanner{lines: lineReader{block: text}, comma: delimiter}
	row, err := s.next()
	if err != nil {
		return nil
	}
	for _, field := range row {
		fields = append(fields, string(field))
	}
	return fields
}

// looksLikeData reports whether a field of a first row is a number or a time rather than the name
// of a column.
func looksLikeData(field string) bool {
	_, date := parseDate([]byte(field))
	_, err := strconv.ParseFloat(field, 64)
	return date || err == nil && bytes.ContainsAny([]byte(field), "0123456789")
}
