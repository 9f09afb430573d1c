package rows

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gsimc/gsimc/internal/fault"
)

// delimiters are recognised, the most usual first.
var delimiters = []byte{',', '\t', ';', '|'}

// guessDelimiter recognises the delimiter by the first row of text: the one that makes the wanted
// names of it or, without a header, the right number of fields. Two that make this number are
// refused. Else it is a tab in a file that is called so (events.tsv, events.tsv.gz), or the most
// frequent one.
func (f tableForm) guessDelimiter(path string, text []byte) (byte, error) {
	rows, fitting := map[byte][]string{}, []byte{}
	for _, d := range delimiters {
		fields := splitFirst(text, d)
		rows[d] = fields
		lacks := func(name string) bool { return !slices.Contains(fields, name) }
		fits := !slices.ContainsFunc(f.wanted, lacks)
		if f.names != nil {
			fits = len(fields) == len(f.names)
		}
		if fits {
			fitting = append(fitting, d)
		}
	}
	if len(fitting) > 1 && f.names != nil {
		return 0, fault.In(path, &fault.Fault{
			Field: "Delimiter",
			Problem: fmt.Sprintf("the first row has %d fields between %q and between %q",
				len(f.names), fitting[0], fitting[1]),
			Want: "the right one of the two",
		})
	}
	if len(fitting) > 0 {
		return fitting[0], nil
	}
	name := strings.ToLower(filepath.Base(path))
	if ext := filepath.Ext(name); ext == ".gz" || ext == ".zst" {
		name = strings.TrimSuffix(name, ext)
	}
	if filepath.Ext(name) == ".tsv" {
		return '\t', nil
	}
	best := delimiters[0]
	for _, d := range delimiters {
		if len(rows[d]) > len(rows[best]) {
			best = d
		}
	}
	return best, nil
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

// idColumns are common names of the columns of ids, without case and separators.
var idColumns = []string{
	"user", "userid", "uid", "username", "customer", "customerid", "client", "clientid", "visitor",
	"visitorid", "member", "memberid", "account", "accountid", "session", "sessionid", "reviewerid",
	"item", "itemid", "iid", "product", "productid", "productcode", "movie", "movieid", "book",
	"bookid", "isbn", "asin", "sku", "article", "articleid", "song", "songid", "track", "trackid",
	"artist", "artistid", "game", "gameid", "video", "videoid", "news", "newsid", "stockcode",
}

// isHeader tells whether the first row of a file whose columns the caller names is a header of
// other names: the ids of user and item are common names, and no field looks like data.
func (f tableForm) isHeader(row []string) bool {
	if len(row) != len(f.names) || slices.ContainsFunc(row, looksLikeData) {
		return false
	}
	joined := strings.NewReplacer("_", "", "-", "", " ", "", ".", "")
	return !slices.ContainsFunc(f.wanted[:2], func(name string) bool {
		field := row[slices.Index(f.names, name)]
		return !slices.Contains(idColumns, strings.ToLower(joined.Replace(field)))
	})
}
