package rows

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"testing"
)

// FuzzCSVScanner compares the scanner with encoding/csv, which differs only in
// what it does with carriage returns.
func FuzzCSVScanner(f *testing.F) {
	for _, s := range []string{"a,b\nc,d\n", "\"a\"\"b\",\"c\nd\"\n\n,\n", "a\"b,c\nd\n",
		"\"a\"b\nc", "\"", "\"\n\n\"", ",,\n", "\"\",\"\"\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.IndexByte(data, '\r') >= 0 || len(data) >= MaxRowBytes {
			t.Skip()
		}
		s := csvScanner{lines: lineReader{text: bufio.NewReaderSize(bytes.NewReader(data),
			MaxRowBytes)}, comma: ','}
		want := csv.NewReader(bytes.NewReader(data))
		want.FieldsPerRecord = -1
		for {
			got, err := s.next()
			record, wantErr := want.Read()
			switch {
			case err == io.EOF && wantErr == io.EOF:
				return
			case err == errBareQuote && errors.Is(wantErr, csv.ErrBareQuote):
				continue
			case (err == errAfterQuote || err == errOpenQuote) && errors.Is(wantErr, csv.ErrQuote):
				if err == errOpenQuote {
					return
				}
				continue
			case err != nil || wantErr != nil:
				t.Fatalf("error %v, encoding/csv %v", err, wantErr)
			}
			line, _ := want.FieldPos(0)
			if len(got) != len(record) || s.start != int64(line) {
				t.Fatalf("line %d: %q, encoding/csv line %d: %q", s.start, got, line, record)
			}
			for i := range got {
				if string(got[i]) != record[i] {
					t.Fatalf("line %d: %q, encoding/csv %q", line, got, record)
				}
			}
		}
	})
}

// FuzzJSONMembers compares the walk over an object with encoding/json.
func FuzzJSONMembers(f *testing.F) {
	f.Add([]byte(`{"a":1,"b" : {"c":[1,"]"]},"d\"":"\\"}`))
	f.Add([]byte(` { } `))
	f.Add([]byte("{\"\":{},\"\xd6\\b\":\"\"}")) // the second name is not valid UTF-8
	f.Fuzz(func(t *testing.T, data []byte) {
		data = bytes.Trim(data, " \t\r\n")
		var want map[string]json.RawMessage
		if json.Unmarshal(data, &want) != nil || len(data) == 0 || data[0] != '{' {
			t.Skip()
		}
		got := map[string]string{}
		EachMember(data, func(key, value []byte) { got[string(key)] = string(value) })
		for key, value := range got {
			// Keys that are not valid Unicode are mended by encoding/json.
			if w, ok := want[key]; ok && string(bytes.TrimSpace(w)) != value {
				t.Fatalf("member %q of %s: %s, want %s", key, data, value, w)
			}
		}
	})
}
