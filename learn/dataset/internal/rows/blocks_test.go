package rows

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
)

// blockText is about three blocks of CSV or JSON Lines, with blank lines and bad rows here and there.
func blockText(rng *rand.Rand, json bool) []byte {
	var b bytes.Buffer
	if !json {
		b.WriteString("user_id,item_id,timestamp\n")
	}
	for b.Len() < 3*blockSize {
		user, item, time := strings.Repeat("u", rng.IntN(30)), rng.IntN(1000), rng.IntN(1e9)
		switch {
		case rng.IntN(1000) == 0:
			b.WriteString("\n\r\nnonsense\n")
		case json:
			fmt.Fprintf(&b, `{"user_id":"%s","item_id":%d,"timestamp":%d}`+"\n", user, item, time)
		default:
			fmt.Fprintf(&b, "%s,%d,%d\r\n", user, item, time)
		}
	}
	return b.Bytes()
}

// Blocks give the same rows and errors, in the same order, as the text read from its beginning to its end.
func TestBlocksReadWhatTheFileHas(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 1))
	csv, json := blockText(rng, false), blockText(rng, true)
	insert := func(text []byte, at int, what string) []byte {
		at += bytes.IndexByte(text[at:], '\n') + 1
		return bytes.Join([][]byte{text[:at], []byte(what), text[at:]}, nil)
	}
	packed := []string{"gzip", "truncated gzip", "none"}
	for name, text := range map[string][]byte{
		"csv":              csv,
		"json":             json,
		"no last line end": append(bytes.Clone(csv), "v,1,2"...),
		"quotes":           insert(csv, blockSize+1000, "\"a\nb\",\"1\",2\n"),
		"quotes at once":   insert(csv, 10, "\"a\"\"\nb\",1,2\n\"bad\"x,1,2\n"),
		"open quote":       insert(csv, 2*blockSize, "\"a,1,2\n"),
		"long row":         insert(csv, blockSize, strings.Repeat("x", blockSize)+",1,2\n"),
		"too long row":     insert(csv, blockSize, strings.Repeat("x", MaxRowBytes)+",1,2\n"),
		"too long end":     append(bytes.Clone(csv), strings.Repeat("x", MaxRowBytes+1)...),
		"too long object":  insert(json, blockSize, strings.Repeat(" ", MaxRowBytes)+"\n"),
	} {
		for _, i := range append(soak.SomeOf(t, 2, 1), 2) {
			how := packed[i]
			t.Run(name+"/"+how, func(t *testing.T) {
				data := text
				if how != "none" {
					data = zipped(t, text)
				}
				if how == "truncated gzip" {
					data = data[:len(data)*2/3]
				}
				want, got := allRows(t, data, true), allRows(t, data, false)
				if len(want) < 100 && name+how != "jsontruncated gzip" {
					t.Fatalf("only %d rows", len(want))
				}
				check.Same(t, want[len(want)-1], got[len(got)-1], "the end")
				check.Same(t, want, got, "rows")
			})
		}
	}
}

// zipped returns data in gzip.
func zipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	check.Get(w.Write(data))(t)
	check.Must(t, w.Close())
	return b.Bytes()
}

// usual is the form of files with the usual columns.
var usual = Form{Columns: [NumColumns]Column{
	UserColumn: {Name: "user_id"}, ItemColumn: {Name: "item_id"},
	TimeColumn: {Name: "timestamp", Optional: true},
}}

// allRows returns a line for every row and error of a file.
func allRows(t *testing.T, data []byte, serial bool) (lines []string) {
	t.Helper()
	r := bytes.NewReader(data)
	s := check.Get(NewSource("f", r, r, int64(len(data))))(t)
	defer s.Close()
	rows, err := NewReader(s, usual, nil)
	if serial {
		check.Must(t, s.Close())
		again := bytes.NewReader(data)
		s = check.Get(NewSource("f", again, again, int64(len(data))))(t)
		if s.Format == FormatJSONL {
			rows, err = newJSONRows(s, usual, &decoder{})
		} else {
			rows, err = newCSVRows(s, usual, &decoder{})
		}
	}
	if err != nil { // JSON Lines look ahead
		return []string{err.Error()}
	}
	for {
		var x Row
		err := rows.Next(&x)
		if err == nil {
			lines = append(lines, fmt.Sprintf("%q %q %d %v", x.User, x.Item, x.Time, x.Weight))
			continue
		}
		lines = append(lines, err.Error())
		if _, goesOn := err.(*Error); !goesOn {
			return lines
		}
	}
}

// A caller who stops early gets all goroutines back from Close, which would hang otherwise.
func TestBlocksCanBeLeft(t *testing.T) {
	data := blockText(rand.New(rand.NewPCG(21, 2)), false)
	for _, wanted := range []int{0, 1, 5000} {
		r := bytes.NewReader(bytes.Repeat(data, 4))
		s := check.Get(NewSource("f", r, r, r.Size()))(t)
		rows := check.Get(NewReader(s, usual, nil))(t)
		var x Row
		for range wanted {
			if err := rows.Next(&x); err == io.EOF {
				t.Fatal("no more rows")
			}
		}
		check.Pass(t, s.Close(), "after %d rows", wanted)
	}
}
