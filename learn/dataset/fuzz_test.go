package dataset

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/parquet-go/parquet-go"
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

// FuzzReadCSV, FuzzReadJSONL and FuzzReadParquet read anything as a data file:
// it must give an error or interactions that keep their promises.
func FuzzReadCSV(f *testing.F) {
	f.Add([]byte(small.texts["csv"]))
	f.Add([]byte(small.texts["tsv"]))
	f.Add(pack(f, "gzip", []byte(small.texts["csv"])))
	f.Add(pack(f, "zstd", []byte(small.texts["csv"])))
	f.Fuzz(fuzzRead)
}

func FuzzReadJSONL(f *testing.F) {
	f.Add([]byte(small.texts["jsonl"]))
	f.Add([]byte(`{"user_id":1,"item_id":"\ud83d\ude00","timestamp":"1e3","weight":1,"x":[{"y":"}"}]}`))
	f.Fuzz(fuzzRead)
}

func FuzzReadParquet(f *testing.F) {
	f.Add(parquetBytes(f, small.rows))
	f.Add(parquetBytes(f, small.rows, parquet.Compression(&parquet.Snappy),
		parquet.DataPageVersion(1)))
	f.Add(parquetBytes(f, small.rows, parquet.Compression(&parquet.Gzip),
		parquet.MaxRowsPerRowGroup(3)))
	f.Fuzz(fuzzRead)
}

func fuzzRead(t *testing.T, data []byte) {
	for _, opt := range []Options{{}, {WeightColumn: "weight", MaxBadRows: 3, MinUserEvents: 2}} {
		d, report, err := readBytes("f", data, opt)
		if err != nil {
			continue
		}
		checkInvariants(t, d)
		if report.BadRows > opt.MaxBadRows {
			t.Fatalf("%d bad rows tolerated, limit %d", report.BadRows, opt.MaxBadRows)
		}
	}
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
		eachMember(data, func(key, value []byte) { got[string(key)] = string(value) })
		for key, value := range got {
			// Keys that are not valid Unicode are mended by encoding/json.
			if w, ok := want[key]; ok && string(bytes.TrimSpace(w)) != value {
				t.Fatalf("member %q of %s: %s, want %s", key, data, value, w)
			}
		}
	})
}

func FuzzReadSplit(f *testing.F) {
	f.Add([]byte("user_id,role\na,train\nb,test\nc,validation\n"))
	f.Add([]byte("role\tx\tuser_id\ntrain\t\t\"a\"\"b\"\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		s, err := newSource("f", r, r, int64(len(data)))
		if err != nil {
			return
		}
		defer s.Close()
		roles, err := readRoles(s)
		if err == nil && len(roles) == 0 {
			t.Fatal("an empty split was accepted")
		}
		for id, role := range roles {
			if checkID([]byte(id)) != nil || role < Train || role > Test {
				t.Fatalf("user %q has role %v", id, role)
			}
		}
	})
}

func FuzzReadItems(f *testing.F) {
	f.Add([]byte("item_id,title,categories\n1,\"Toy, Story\",Fun|Kids\n2,,\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		s, err := newSource("f", r, r, int64(len(data)))
		if err != nil {
			return
		}
		defer s.Close()
		c, err := readItems(s, ItemsOptions{})
		if err != nil {
			return
		}
		for id := range c.titles {
			if checkID([]byte(id)) != nil {
				t.Fatalf("item %q was accepted", id)
			}
		}
	})
}
