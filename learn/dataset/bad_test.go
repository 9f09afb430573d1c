package dataset

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
)

const head = "user_id,item_id,timestamp,weight\n"

// TestBadInput lists faults and the words that the error must have.
func TestBadInput(t *testing.T) {
	long := strings.Repeat("x", event.MaxIDBytes+1)
	gz := pack(t, "gzip", []byte(head+strings.Repeat("user,item,1,1\n", 1000)))
	zs := pack(t, "zstd", []byte(head+strings.Repeat("user,item,1,1\n", 1000)))
	pq := parquetBytes(t, small.rows, parquet.Compression(&parquet.Snappy))
	tests := []struct {
		name, text string
		want       []string
	}{
		{"empty file", "", []string{"f.csv: the file is empty"}},
		{"blank file", "\n\n\n", []string{"the file is empty"}},
		{"byte order mark only", "\ufeff", []string{"the file is empty"}},
		{"header only", head, []string{"f.csv: no interactions: 0 rows"}},
		{"empty gzip", string(pack(t, "gzip", nil)), []string{"the file is empty"}},
		{"missing user column", "user,item_id\na,b\n",
			[]string{`no column "user_id"`, `"user", "item_id"`, "UserColumn"}},
		{"two missing columns", "user,item,weight\na,b,1\n",
			[]string{`UserColumn: no column "user_id"`, `ItemColumn: no column "item_id"`}},
		{"missing weight column", "user_id,item_id\na,b\n",
			[]string{`no column "weight"`, "WeightColumn"}},
		{"repeated column", "user_id,item_id,user_id,weight\na,b,c,1\n",
			[]string{`column "user_id" twice: rename or remove one`}},
		{"empty user", head + "u,i,1,1\n,i,1,1\n",
			[]string{"f.csv:3: column user_id: empty id",
				"MaxBadRows: 0, want more to skip bad rows"}},
		{"empty item", head + "u,,1,1\n", []string{"f.csv:2: column item_id: empty id"}},
		{"long user", head + long + ",i,1,1\n", []string{"f.csv:2: column user_id", "too long",
			"256 bytes"}},
		{"invalid UTF-8", head + "u,\xff\xfe,1,1\n",
			[]string{"f.csv:2: column item_id", "not valid UTF-8", `\xff\xfe`}},
		{"empty time", head + "u,i,,1\n", []string{"f.csv:2: column timestamp: empty time"}},
		{"time of a spreadsheet", head + "u,i,11/30/2026 14:05,1\n",
			[]string{`bad time "11/30/2026 14:05"`, "in the format yyyy-mm-dd hh:mm:ss"}},
		{"bad time", head + "u,i,yesterday,1\n",
			[]string{"column timestamp", `bad time "yesterday"`, "RFC 3339"}},
		{"infinite time", head + "u,i,1e999,1\n", []string{"column timestamp", "1e999"}},
		{"milliseconds among seconds", head + "u,i,1,1\nu,i,2,1\nu,i,1700000000000,1\n",
			[]string{"column timestamp", "in the unit s is outside the years",
				"is 2023-11-14 in the unit ms: the file mixes units, write one"}},
		{"seconds without an end", head + "u,i,1,1\nu,i,2,1\nu,i,500000000000,1\n",
			[]string{"column timestamp", "TimeUnit: s, want the unit of the times"}},
		{"far time", head + "u,i,99999999999999999999,1\n",
			[]string{"column timestamp", "outside"}},
		{"NaN weight", head + "u,i,1,nan\n", []string{"column weight",
			"finite number greater than 0"}},
		{"infinite weight", head + "u,i,1,1e39\n",
			[]string{"column weight", "finite number greater than 0"}},
		{"zero weight", head + "u,i,1,0\n", []string{"column weight", `weight "0"`}},
		{"tiny weight", head + "u,i,1,1e-99\n", []string{"column weight"}},
		{"no number", head + "u,i,1,two\n", []string{"column weight", `bad weight "two"`}},
		{"too few fields", head + "u,i\n", []string{"f.csv:2: the row has 2 fields, the header " +
			"has 4"}},
		{"one field", head + "u\n", []string{"f.csv:2: the row has 1 field, the header has 4"}},
		{"bare quote", head + "u,i\"i,1,1\n", []string{"f.csv:2: a quote inside"}},
		{"text after quote", head + "\"u\"u,i,1,1\n",
			[]string{"f.csv:2: text after a closing quote"}},
		{"open quote", head + "u,i,1,1\n\"u,i,1,1\nv,i,1,1\n",
			[]string{"f.csv:3: a quote opens in this line and is not closed",
				"no row from here on was read", "close it"}},
		{"open quote behind a long row", head + "\"u\nu\",\"i,1,1\nv,i,1,1\n",
			[]string{"f.csv:3: a quote opens"}},
		{"quote closed too late", head + "u,i,1,1\nu,\"i,1,1\nv,j,1,1\nv,\"k\",1,1\n",
			[]string{"f.csv:3: text after a closing quote", "one row of the lines 3 to 5"}},
		{"quote closed at a line's end", head + "u,\"i,1,1\nv,j,1,1\"\n",
			[]string{"f.csv:2: the row has 2 fields", "one row of the lines 2 to 3"}},
		{"long quote", head + "\"" + strings.Repeat("x\n", MaxRowBytes),
			[]string{"f.csv:2: a quote opens"}},
		{"long row", head + strings.Repeat("x", MaxRowBytes+1),
			[]string{"f.csv:2: row longer than"}},
		{"long header", strings.Repeat("x", MaxRowBytes+1), []string{"f.csv:1: row longer than"}},
		{"model file", "\x80\x01\x00\x00\x00\x00\x00\x00{\"__metadata__\":{\"a\":\"4\"}}",
			[]string{"f.csv: the header is not text: want CSV"}},
		{"binary", "\x00\x01\x02\x03", []string{"the header is not text"}},
		{"JSON array", `[{"user_id":"a"}]`, []string{"JSON array", "one object per line"}},
		{"JSON syntax", `{"user_id":"u","item_id":"i","timestamp":1,"weight":1}` + "\n{]\n",
			[]string{"f.csv:2: not a JSON object"}},
		{"JSON scalar", `{"user_id":"u","item_id":"i","timestamp":1,"weight":1}` + "\n17\n",
			[]string{"f.csv:2: not a JSON object"}},
		{"JSON missing column", `{"id":"u","item_id":"i"}`,
			[]string{`no column "user_id"`, `"id", "item_id"`, "UserColumn"}},
		{"JSON two missing columns", `{"id":"u","film":"i"}`,
			[]string{`UserColumn: no column "user_id"`, `ItemColumn: no column "item_id"`}},
		{"JSON missing member", `{"user_id":"u","item_id":"i","weight":1}` + "\n" +
			`{"user_id":"u","weight":1}`, []string{"f.csv:2: column item_id: missing"}},
		{"JSON late time", `{"user_id":"u","item_id":"i","weight":1}` + "\n" +
			`{"user_id":"u","item_id":"j","weight":1,"timestamp":1}`,
			[]string{"f.csv:2: column timestamp", "first row of the file has none"}},
		{"JSON null id", `{"user_id":null,"item_id":"i","weight":1}`,
			[]string{"f.csv:1: column user_id: \"null\", want a string"}},
		{"JSON decimal id", `{"user_id":1.5,"item_id":"i","weight":1}`,
			[]string{"column user_id", "want a string or an integer"}},
		{"JSON surrogate", `{"user_id":"\ud800","item_id":"i","weight":1}`,
			[]string{"column user_id", "surrogate"}},
		{"JSON invalid UTF-8", "{\"user_id\":\"\xff\",\"item_id\":\"i\",\"weight\":1}",
			[]string{"column user_id", "not valid UTF-8"}},
		{"JSON long line", `{"user_id":"` + strings.Repeat("x", MaxRowBytes),
			[]string{"f.csv:1: row longer than"}},
		{"carriage returns", "user_id,item_id,weight\ru,i,1\r",
			[]string{"f.csv: lines end with a carriage return alone: write line feeds, as tr"}},
		{"truncated gzip", string(gz[:len(gz)-10]),
			[]string{"f.csv: the gzip data ends early", "truncated"}},
		{"gzip magic only", "\x1f\x8b", []string{"f.csv: the gzip data ends early"}},
		{"damaged gzip", string(gz[:12]) + "\x99\x99\x99\x99" + string(gz[16:]),
			[]string{"f.csv: damaged gzip data, fetch or write the file again"}},
		{"truncated zstd", string(zs[:len(zs)-6]), []string{"f.csv: the zstd data ends early"}},
		{"damaged zstd", string(zs[:4]) + "\xff\xff\xff" + string(zs[7:]),
			[]string{"f.csv: damaged zstd data"}},
		{"compressed twice", string(pack(t, "zstd", gz)), []string{"compressed twice"}},
		{"Parquet in gzip", string(pack(t, "gzip", pq)), []string{"Parquet file inside gzip"}},
		{"Parquet magic only", "PAR1", []string{"f.csv: damaged Parquet file"}},
		{"truncated Parquet", string(pq[:len(pq)-1]),
			[]string{"f.csv: damaged Parquet file", "truncated"}},
		{"hollow Parquet", "PAR1" + string(pq[len(pq)/2:]), []string{"f.csv: "}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := readBytes("f.csv", []byte(tt.text), Options{WeightColumn: "weight"})
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.want {
				check.Says(t, err, want, "error")
			}
		})
	}
}

func TestBadParquet(t *testing.T) {
	type withList struct {
		User []string `parquet:"user_id,list"`
		Item string   `parquet:"item_id"`
	}
	type withDate struct {
		User int32  `parquet:"user_id,date"`
		Item string `parquet:"item_id"`
	}
	type withNull struct {
		User string  `parquet:"user_id"`
		Item *string `parquet:"item_id"`
	}
	item := "i"
	for name, tt := range map[string]struct {
		data []byte
		want string
	}{
		"repeated": {parquetBytes(t, []withList{{[]string{"a"}, "b"}}), `no flat column "user_id"`},
		"date": {parquetBytes(t, []withDate{{1, "i"}}), "column user_id has the type DATE, which " +
			"cannot be read as an id: write text or integers"},
		"lz4": {parquetBytes(t, small.rows, parquet.Compression(&parquet.Lz4Raw)),
			"column user_id is compressed with LZ4_RAW, which is not read: write the file with snappy"},
		"null": {parquetBytes(t, []withNull{{"u", &item}, {"u", nil}}),
			"f:2: column item_id: null"},
	} {
		_, _, err := readBytes("f", tt.data, Options{})
		check.Says(t, err, tt.want, "%s", name)
	}
}

// TestDamagedParquet truncates a file all over and flips a bit of every byte:
// that must give errors or other rows, and neither panic nor need much memory.
func TestDamagedParquet(t *testing.T) {
	chance := soak.Chance(t)
	for _, codec := range []parquet.WriterOption{parquet.Compression(&parquet.Snappy),
		parquet.Compression(&parquet.Uncompressed)} {
		whole := parquetBytes(t, small.rows, codec)
		for n := 0; n < len(whole); n += 5 {
			if !chance() {
				continue
			}
			if _, _, err := readBytes("f", whole[:n], Options{WeightColumn: "weight"}); err == nil {
				t.Fatalf("no error for the first %d of %d bytes", n, len(whole))
			}
		}
		for i := range whole {
			if !chance() {
				continue
			}
			data := bytes.Clone(whole)
			data[i] ^= 1 << (i % 8)
			if d, _, err := readBytes("f", data, Options{WeightColumn: "weight"}); err == nil {
				checkInvariants(t, d)
			}
		}
	}
}

func TestBadPaths(t *testing.T) {
	dir := t.TempDir()
	text := writeFile(t, "events.parquet", []byte(head+"u,i,1,1\n"))
	for _, tt := range []struct {
		paths []string
		want  string
	}{
		{nil, "Data: want at least one file"},
		{[]string{dir}, "is a directory"},
		{[]string{filepath.Join(dir, "absent.csv")}, "absent.csv"},
		{[]string{text}, "is not a Parquet file"},
	} {
		_, _, err := Read(tt.paths, Options{})
		check.Says(t, err, tt.want, "Read(%v)", tt.paths)
	}
	if _, _, err := Read([]string{filepath.Join(dir, "absent.csv")}, Options{}); !errors.Is(err,
		os.ErrNotExist) {
		t.Errorf("error %v does not wrap os.ErrNotExist", err)
	}
}

func TestMaxBadRows(t *testing.T) {
	text := []byte(head + "u,i,1,1\n,i,1,1\nu,j,x,1\nu,k,1,-1\nu,l,2,1\nu,m\"m,2,1\n")
	_, _, err := readBytes("f", text, Options{WeightColumn: "weight"})
	var bad *RowError
	if !errors.As(err, &bad) {
		t.Fatalf("error %v, want a *RowError", err)
	}
	check.Same(t, &RowError{File: "f", Line: 3, Column: "user_id", Reason: "empty id"}, bad,
		"first bad row")
	_, _, err = readBytes("f", text, Options{WeightColumn: "weight", MaxBadRows: 3})
	if !errors.As(err, &bad) || bad.Line != 7 ||
		!strings.Contains(err.Error(), "a quote inside an unquoted field") {
		t.Errorf("three of four tolerated: error %v, want the one of line 7", err)
	}
	d, report, err := readBytes("f", text, Options{WeightColumn: "weight", MaxBadRows: 4})
	check.Must(t, err)
	if d.Len() != 2 || report.Rows != 6 || report.BadRows != 4 || len(report.BadRowMessages) != 4 {
		t.Errorf("%d events, report %+v", d.Len(), report)
	}
	if want := "f:4: column timestamp: bad time"; !strings.HasPrefix(report.BadRowMessages[1],
		want) {
		t.Errorf("second message %q, want %q", report.BadRowMessages[1], want)
	}
	// A quote that is never closed hides how many rows it swallows: not tolerated.
	if _, _, err = readBytes("f", []byte(head+"\"u,i,1,1\nu,i,1,1\n"),
		Options{MaxBadRows: 100}); err == nil ||
		!strings.Contains(err.Error(), "a quote opens in this line") {
		t.Errorf("open quote: error %v", err)
	}
}

func TestFiltersThatLeaveNothing(t *testing.T) {
	_, _, err := readBytes("f", []byte(head+"u,i,1,1\nv,j,1,1\n"), Options{MinItemEvents: 2})
	if !errors.Is(err, ErrNoData) || !strings.Contains(err.Error(),
		"MinItemEvents: 2 leaves no user of 2: no interactions: lower MinItemEvents") {
		t.Errorf("error %v", err)
	}
}

func TestOptionsValidate(t *testing.T) {
	err := Options{MinUserEvents: -1, MinItemEvents: -2, MaxBadRows: -3, Delimiter: '"',
		UserColumn: "x", WeightColumn: "x"}.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"MinUserEvents: -1, want 0", "MinItemEvents: -2, want 0",
		"MaxBadRows: -3, want 0", "Delimiter: '\"', want",
		`WeightColumn: column "x" has a use already: change WeightColumn or change UserColumn`} {
		check.Says(t, err, want, "error")
	}
	if err := (Options{Delimiter: ';', MaxBadRows: 5}).Validate(); err != nil {
		t.Error(err)
	}
}
