package dataset

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/test/check"
)

// at is the time of the events in this file, in seconds.
const at = 1_700_000_000

// plain is what most texts in this file say.
var plain = &Interactions{
	Users: []string{"u", "v"}, Items: []string{"a", "b"}, Ptr: []int64{0, 2, 3},
	Item: []int32{1, 0, 0},
	Time: []int64{at, at + 86400, at + 2},
}

func TestForms(t *testing.T) {
	names := []string{"user_id", "item_id", "timestamp"}
	millis := "u,a,1700086400999\nu,b,1700000000000\nv,a,1700000002000\n"
	for _, tt := range []struct {
		name, text string
		opt        Options
		delimiter  string
		unit       string
	}{
		{"comma", "user_id,item_id,timestamp\nu,a,1700086400\nu,b,1700000000\nv,a,1700000002\n",
			Options{}, ",", "s"},
		{"tab",
			"user_id\titem_id\ttimestamp\nu\ta\t1700086400\nu\tb\t1700000000\nv\ta\t1700000002\n",
			Options{}, "\t", "s"},
		{"semicolon",
			"user_id;item_id;timestamp;x,y,z,w\nu;a;1700086400;\nu;b;1700000000;\nv;a;1700000002;\n", Options{}, ";", "s"},
		{"bar",
			"note|user_id|item_id|timestamp\n|u|a|1700086400\n,;,;|u|b|1700000000\n|v|a|1700000002\n", Options{}, "|", "s"},
		{"quoted header",
			"\"user_id\";\"a,b,c,d,e\";\"item_id\";\"timestamp\"\nu;;a;1700086400\nu;;b;1700000000\nv;;a;1700000002\n", Options{}, ";", "s"},
		{"other delimiter",
			"user_id^item_id^timestamp\nu^a^1700086400\nu^b^1700000000\nv^a^1700000002\n",
			Options{Delimiter: '^'}, "^", "s"},
		{"SQL dates", "user_id,item_id,timestamp\nu,a,2023-11-15 22:13:20.123\nu,b,2023-11-14 " +
			"22:13:20\nv,a,2023-11-14 22:13:22+00\n", Options{TimeUnit: "ms"}, ",", ""},
		{"RFC 3339",
			"user_id,item_id,timestamp\nu,a,2023-11-15T22:13:20Z\nu,b,2023-11-15T00:13:20+02:00\nv,a,2023-11-14t17:13:22.5-05:00\n", Options{TimeUnit: "ms"}, ",", ""},
		{"milliseconds", "user_id,item_id,timestamp\n" + millis, Options{}, ",", "ms"},
		{"microseconds",
			"user_id,item_id,timestamp\nu,a,1700086400999999\nu,b,1.7e15\nv,a,1700000002000000\n",
			Options{}, ",", "us"},
		{"nanoseconds",
			"user_id,item_id,timestamp\nu,a,1700086400999999999\nu,b,1700000000000000000\nv,a,1700000002000000512\n", Options{}, ",", "ns"},
		{"given unit", "user_id,item_id,timestamp\n" + millis, Options{TimeUnit: "ms"}, ",", "ms"},
		{"no header", millis, Options{Columns: names}, ",", "ms"},
		{"no header, unused column",
			strings.ReplaceAll("7;"+strings.ReplaceAll(strings.TrimSpace(millis), "\n", "\n8;"),
				",", ";"),
			Options{Columns: append([]string{""}, names...)}, ";", "ms"},
	} {
		for _, compression := range []string{"none", "gzip"} {
			t.Run(tt.name+"/"+compression, func(t *testing.T) {
				data := pack(t, compression, []byte(tt.text))
				got, report, err := Read([]string{writeFile(t, "events", data)}, tt.opt)
				check.Must(t, err)
				check.Same(t, plain, got, "interactions")
				f := report.Files[0]
				if f.Delimiter != tt.delimiter || f.TimeUnit != tt.unit ||
					f.Compression != compression || report.OrdinalTimes ||
					report.IdleTimeUnit != (tt.unit == "") {
					t.Errorf("report %+v, want delimiter %q and unit %q", f, tt.delimiter, tt.unit)
				}
			})
		}
	}
}

// TestFormErrors checks that an error about the form of a file says what to do.
func TestFormErrors(t *testing.T) {
	type stamped struct {
		User string `parquet:"user_id"`
		Item string `parquet:"item_id"`
		Time int64  `parquet:"timestamp"`
	}
	rows := "1;2;1700000000\n"
	for _, tt := range []struct {
		name, text string
		opt        Options
		field      string
		want       []string
	}{
		{"unknown delimiter", "user_id:item_id\n" + rows, Options{}, "UserColumn",
			[]string{`f: UserColumn: no column "user_id" where ',' separates`,
				`one of "user_id:item_id"`, "set Delimiter"}},
		{"wrong delimiter", "user_id;item_id\n" + rows, Options{Delimiter: ','}, "UserColumn",
			[]string{"where ',' separates", "set Delimiter"}},
		{"no header", rows, Options{}, "Columns",
			[]string{`f: Columns: the first row, "1", "2", "1700000000", looks like data`,
				"such as user_id,item_id,timestamp"}},
		{"no header, dates", "u;i;2024-01-01\n", Options{}, "Columns", []string{"looks like data"}},
		{"header of other names", "user;movie;2024\nu;i;5\n", Options{UserColumn: "user"},
			"ItemColumn", []string{`no column "item_id"`, `"movie"`}},
		{"header besides names", "user_id;item_id\nu;i\n",
			Options{Columns: []string{"user_id", "item_id"}}, "Columns",
			[]string{"f: Columns: the first row names the columns already: leave out Columns"}},
		{"too few names", rows, Options{Columns: []string{"user_id", "item_id"}}, "MaxBadRows",
			[]string{"f:1: the row has 3 fields, there are names of 2 columns"}},
		{"header of other names besides names", "UserId,Product ID,When\nu,i,5\n",
			Options{TimeColumn: "t", Columns: []string{"user_id", "item_id", "t"}}, "Columns",
			[]string{`f: Columns: the first row, "UserId", "Product ID", "When", names columns: leave out Columns`}},
		{"two delimiters fit", "u;3,5\n", Options{Columns: []string{"user_id", "item_id"}},
			"Delimiter",
			[]string{"f: Delimiter: the first row has 2 fields between ',' and between ';', want " +
				"the right one of the two"}},
		{"names without an item", rows, Options{Columns: []string{"user_id", "item", "x"}},
			"Columns",
			[]string{`lacks the column "item_id": add it to Columns or change ItemColumn`}},
		{"another unit later",
			"user_id,item_id,timestamp\nu,a,0\nu,b,1700000000\nu,c,1700000000000\n",
			Options{TimeUnit: "auto"}, "MaxBadRows",
			[]string{`f:4: column timestamp: time "1700000000000" in the unit s is outside the years 0 to 9999 and is 2023-11-14 in the unit ms: the file mixes units, write one`}},
		{"seconds among milliseconds",
			"user_id,item_id,timestamp\nu,a,0\nu,b,1700000000000\nu,c,1700000000001\nu,d,1700000000\n", Options{TimeUnit: "auto"}, "MaxBadRows",
			[]string{`f:5: column timestamp: time "1700000000" in the recognised unit ms is outside the years 1991 to 2199 and is 2023-11-14 in the unit s: the file mixes units, write one`}},
		{"decimal seconds among milliseconds",
			strings.Repeat(`{"user_id":"u","item_id":"a","timestamp":1700000000000}`+"\n", 2) +
				`{"user_id":"u","item_id":"b","timestamp":1.7e9}`,
			Options{TimeUnit: "auto"}, "MaxBadRows",
			[]string{"f:3: column timestamp", "recognised unit ms"}},
		{"dates as numbers", "user_id,item_id,timestamp\nu,a,20240131120000\n",
			Options{TimeUnit: "auto"}, "MaxBadRows",
			[]string{"f:2: column timestamp", "recognised unit ms"}},
		{"100 ns since the year 1", "user_id,item_id,timestamp\nu,a,638400000000000000\n",
			Options{TimeUnit: "auto"}, "MaxBadRows",
			[]string{"f:2: column timestamp", "recognised unit ns"}},
		{"seconds as milliseconds", rows,
			Options{Columns: []string{"user_id", "item_id", "timestamp"}, TimeUnit: "ms"}, "TimeUnit",
			[]string{"f: TimeUnit: ms puts the first times between 1970-01-20 and 1970-01-20, " +
				"want s, which puts them between 2023-11-14 and "}},
		{"seconds as nanoseconds", `{"user_id": "u", "item_id": "a", "timestamp": 1.7e9}`,
			Options{TimeUnit: "ns"}, "TimeUnit",
			[]string{"f: TimeUnit: ns puts the first times between 1970-01-01 and 1970-01-01"}},
		{"seconds as microseconds", string(parquetBytes(t, []stamped{{"u", "a", at}})),
			Options{TimeUnit: "us"}, "TimeUnit",
			[]string{"f: TimeUnit: us puts the first times between 1970-01-01 and "}},
		{"milliseconds as seconds", "user_id,item_id,timestamp\nu,a,1\nu,b,1700000000000\n" +
			"u,c,1700000000000\n", Options{TimeUnit: "s"}, "TimeUnit",
			[]string{"f: TimeUnit: s puts the first times after the year 9999, want ms, which " +
				"puts them between 2023-11-14 and 2023-11-14"}},
		{"nanoseconds as seconds", `{"user_id":"u","item_id":"a","timestamp":1700000000000000000}`,
			Options{TimeUnit: "s"}, "TimeUnit",
			[]string{"f: TimeUnit: s puts the first times after the year 9999, want ns"}},
		{"milliseconds since the start of a log", "user_id,item_id,timestamp\nu,a,700000000\n" +
			"u,b,800000000\n", Options{TimeUnit: "ms"}, "TimeUnit",
			[]string{"ms puts the first times between 1970-01-09 and 1970-01-10, want s, which",
				"; write times that do not count from 1970 in seconds"}},
		{"unknown unit", rows, Options{TimeUnit: "m"}, "TimeUnit",
			[]string{"TimeUnit: m, want auto, s, ms, us or ns"}},
		{"weights without types", rows, Options{EventWeights: event.Weights{"view": 1}},
			"EventWeights", []string{"EventWeights: the events have no types: set TypeColumn"}},
		{"bad weights", rows, Options{TypeColumn: "t", EventWeights: event.Weights{"View": 1}},
			"EventWeights", []string{`event type "View" must match`}},
		{"no type column", "user_id,item_id\nu,i\n", Options{TypeColumn: "action"}, "TypeColumn",
			[]string{`TypeColumn: no column "action"`}},
		{"bad type", "user_id,item_id,type\nu,i,view\nu,i,add to cart\n",
			Options{TypeColumn: "type"}, "MaxBadRows",
			[]string{`f:3: column type: event type "add to cart" must match`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := readBytes("f", []byte(tt.text), tt.opt)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.want {
				check.Says(t, err, want, "error")
			}
			if f := (*fault.Fault)(nil); !errors.As(err, &f) || f.Field != tt.field {
				t.Errorf("error %q is no fault of %s", err, tt.field)
			}
		})
	}
}

// TestIDsLikeColumnNames reads first rows that are data although ids in them are names of columns.
func TestIDsLikeColumnNames(t *testing.T) {
	for _, text := range []string{"user,item,1700000000\n", "user,a,view\n", "u,item,view\n"} {
		opt := Options{Columns: []string{"user_id", "item_id", ""}}
		if d, _, err := readBytes("f", []byte(text), opt); err != nil || d.Len() != 1 {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

func TestOrdinals(t *testing.T) {
	for _, tt := range []struct {
		name     string
		opt      Options
		times    []string
		ordinals bool
	}{
		{"positions", Options{}, []string{"1", "2", "3", "1"}, true},
		{"positions as decimals", Options{}, []string{"1.0", "2.0", "3.0", "4.0"}, true},
		{"years", Options{}, []string{"2011", "2012", "2012", "2020"}, true},
		{"days without dashes", Options{}, []string{"20240131", "20240201", "20240301", "20240301"},
			true},
		{"hours since 1970", Options{}, []string{"472222", "472223", "472224", "472225"}, true},
		{"taken as seconds", Options{TimeUnit: "s"}, []string{"1", "2", "3", "1"}, false},
		{"seconds of 1971", Options{}, []string{"31536000", "2", "3", "4"}, false},
		{"seconds before 1970", Options{}, []string{"-1", "2", "3", "4"}, false},
		{"dates of 1970", Options{}, []string{"1970-01-01", "1970-01-02", "1970-01-03",
			"1970-01-04"}, false},
		{"a date among numbers", Options{}, []string{"1", "2", "3", "1970-01-04"}, false},
		{"milliseconds", Options{}, []string{"1700000000000", "1700000001000", "1700000002000",
			"1700000003000"}, false},
		{"seconds", Options{}, []string{"1700000000", "1700000001", "1700000002", "1700000003"},
			false},
	} {
		text := "user_id,item_id,timestamp\n"
		for i, x := range tt.times {
			text += fmt.Sprintf("u,%d,%s\n", len(tt.times)-i, x)
		}
		d, report, err := Read([]string{writeFile(t, "f", []byte(text))}, tt.opt)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if report.OrdinalTimes != tt.ordinals || (d.Time == nil) != tt.ordinals {
			t.Errorf("%s: ordinal %v, times %v", tt.name, report.OrdinalTimes, d.Time)
		}
	}
	// The positions have their say in the order.
	d, _, err := Read([]string{writeFile(t, "f",
		[]byte("user_id,item_id,timestamp\nu,a,2\nu,b,3\nu,c,1\n"))}, Options{})
	if err != nil || !slices.Equal(d.Item, []int32{2, 0, 1}) {
		t.Errorf("order %v, error %v", d, err)
	}
}

// A file without the column of times that was asked for says which column may be meant.
func TestUnusedTimes(t *testing.T) {
	for text, want := range map[string]string{
		"user_id,item_id,Created-At\nu,a,2024-01-31\n":                  "Created-At",
		`{"user_id": "u", "item_id": "a", "date": "2024-01-31"}` + "\n": "date",
		"user_id,item_id,timestamp,date\nu,a,1700000000,2024-01-31\n":   "",
		"user_id,item_id,value\nu,a,1\n":                                "",
		"user_id,item_id,label,ts,time\nu,a,x,1700000000,1700000000\n":  "ts",
	} {
		_, report, err := readBytes("f", []byte(text), Options{})
		if err != nil || report.UnusedTimeColumn != want {
			t.Errorf("%q: unused column %q, error %v", text, report.UnusedTimeColumn, err)
		}
	}
	opt := Options{TimeColumn: "date"}
	_, report, err := readBytes("f", []byte("user_id,item_id,date\nu,a,2024-01-31\n"), opt)
	if err != nil || report.UnusedTimeColumn != "" {
		t.Errorf("a column in use: %q, error %v", report.UnusedTimeColumn, err)
	}
}

func TestEventTypes(t *testing.T) {
	text := "user_id,item_id,timestamp,Event Type,w\n" +
		"u,a,1700000000,View,1\nu,b,1700000001,,2\nu,c,1700000002,dislike,1\nu,a,1700000003,buy,3\nv,d,1700000004,zero,1\n"
	_, report, err := readBytes("f", []byte(text), Options{})
	if err != nil || report.UnusedTypeColumn != "Event Type" {
		t.Errorf("unused column %q, error %v", report.UnusedTypeColumn, err)
	}
	opt := Options{
		TypeColumn: "Event Type", WeightColumn: "w",
		EventWeights: event.Weights{"view": 0.2, "dislike": -1, "zero": 0, "buy": 5, "sold": 1},
	}
	d, report, err := readBytes("f", []byte(text), opt)
	check.Must(t, err)
	want := &Interactions{
		Users: []string{"u"}, Items: []string{"a", "b"}, Ptr: []int64{0, 2}, Item: []int32{0, 1},
		Time: []int64{at, at + 1}, Weight: []float32{0.2, 2},
		Repeats: Repeats{{Time: at + 3, Place: 2, Item: 0, Weight: 15}},
	}
	check.Same(t, want, d, "interactions")
	check.Same(t, []string{"sold"}, report.AbsentTypes, "types without events")
	if report.Unliked != 2 || report.Duplicates != 1 || report.UnusedTypeColumn != "" {
		t.Errorf("report %+v", report)
	}

	e, _, err := ReadEvents([]string{writeFile(t, "f", []byte(text))}, opt)
	check.Must(t, err)
	all := &Events{
		Histories: Interactions{
			Users: []string{"u", "v"}, Items: []string{"a", "b", "c", "d"}, Ptr: []int64{0, 4, 5},
			Item: []int32{0, 1, 2, 0, 3},
			Time: []int64{at, at + 1, at + 2, at + 3, at + 4}, Weight: []float32{1, 2, 1, 3, 1},
		},
		Kind: []uint16{4 - 1, 2, 1, 0, 4}, Types: []string{"buy", "dislike", "like", "view",
			"zero"},
	}
	check.Same(t, all, e, "events")
	opt.TypeColumn, opt.EventWeights = "", nil
	if e, _, err = ReadEvents([]string{writeFile(t, "f", []byte(text))}, opt); err != nil {
		t.Fatal(err)
	}
	all.Kind, all.Types = nil, nil
	check.Same(t, all, e, "events without types")
}

// TestEventTypesOfFormats reads the same typed events from the other formats.
func TestEventTypesOfFormats(t *testing.T) {
	type typed struct {
		User string  `parquet:"user_id"`
		Item string  `parquet:"item_id"`
		Time int64   `parquet:"timestamp"`
		Type *string `parquet:"action,optional"`
	}
	view, buy := "view", "BUY"
	want := &Interactions{
		Users: []string{"u"}, Items: []string{"a", "b"}, Ptr: []int64{0, 2}, Item: []int32{1, 0},
		Time: []int64{at, at + 1}, Weight: []float32{4, 0.5},
	}
	for name, data := range map[string][]byte{
		"jsonl": []byte(`{"user_id":"u","item_id":"a","timestamp":1700000001000,"action":"view"}` +
			"\n" +
			`{"user_id":"u","item_id":"b","timestamp":1.7e12,"action":"BUY"}`),
		"parquet": parquetBytes(t, []typed{{"u", "a", (at + 1) * 1e3, &view},
			{"u", "b", at * 1e3, &buy}}),
		"parquet with a null": parquetBytes(t, []typed{{"u", "a", (at + 1) * 1e3, &view},
			{"u", "c", at * 1e3, nil}, {"u", "b", at * 1e3, &buy}},
			parquet.MaxRowsPerRowGroup(1)),
	} {
		opt := Options{TimeUnit: "auto", TypeColumn: "action",
			EventWeights: event.Weights{"view": 0.5, "buy": 4}, MaxBadRows: 1}
		d, report, err := readBytes("f", data, opt)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, d); diff != "" || report.Files[0].TimeUnit != "ms" {
			t.Errorf("%s: %+v (-want +got):\n%s", name, report.Files, diff)
		}
		if opt.TypeColumn, opt.EventWeights = "", nil; opt.TypeColumn == "" {
			if _, report, err = readBytes("f", data, opt); err != nil ||
				report.UnusedTypeColumn != "action" {
				t.Errorf("%s: unused column %q, error %v", name, report.UnusedTypeColumn, err)
			}
		}
	}
}

func TestTooManyTypes(t *testing.T) {
	text := "user_id,item_id,type\n"
	for i := range 1025 {
		text += fmt.Sprintf("u,%d,t%d\n", i, i)
	}
	_, _, err := readBytes("f", []byte(text), Options{TypeColumn: "type"})
	check.Says(t, err, "is one of more than 1024", "1025 types")
}

// TestStdin reads streams that come in pieces.
func TestStdin(t *testing.T) {
	text := []byte("user_id,item_id,timestamp\nu,a,1700086400\nu,b,1700000000\n")
	other := writeFile(t, "other", []byte("user_id,item_id,timestamp\nv,a,1700000002\n"))
	for _, compression := range []string{"none", "gzip", "zstd"} {
		for name, r := range map[string]io.Reader{
			"whole": bytes.NewReader(pack(t, compression, text)),
			"bytes": iotest.OneByteReader(bytes.NewReader(pack(t, compression, text))),
		} {
			total := int64(-1)
			d, report, err := Read([]string{other, "-"},
				Options{Stdin: r, Progress: func(_, n, _ int64) { total = n }})
			check.Must(t, err)
			check.Same(t, plain, d, "%s %s", name, compression)
			if report.Files[1].Path != "standard input" ||
				report.Files[1].Compression != compression || total != 0 {
				t.Errorf("%+v, total %d", report.Files, total)
			}
		}
	}
	pq := parquetBytes(t, small.rows)
	for want, tt := range map[string]struct {
		data []string
		r    io.Reader
	}{
		"Data: -, want a file: there is no standard input": {[]string{"-"}, nil},
		`Data: want standard input, "-", once`: {[]string{"-", "-"},
			bytes.NewReader(text)},
		"standard input: the file is empty": {[]string{"-"},
			strings.NewReader("")},
		"standard input:2: column item_id: empty id": {[]string{"-"},
			strings.NewReader("user_id,item_id\nu,\n")},
		"standard input: Parquet cannot be read from a stream": {[]string{"-"},
			bytes.NewReader(pq)},
		"standard input: broken": {[]string{"-"},
			iotest.ErrReader(errors.New("broken"))},
	} {
		if _, _, err := Read(tt.data, Options{Stdin: tt.r}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestZip checks that an archive is refused with the way around it.
func TestZip(t *testing.T) {
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	check.Get(w.Create("events.csv"))(t)
	check.Must(t, w.Close())
	path := writeFile(t, "d.zip", archive.Bytes())
	_, _, ofFile := Read([]string{path}, Options{})
	_, _, ofStream := Read([]string{Stdin}, Options{Stdin: &archive})
	ofItems := ReadItemRows(path, ItemRowsOptions{}, nil, nil)
	for text, want := range map[string]string{
		"BZh91AY":            "f: bzip2 is not read: unpack it first, or on the way, with bzip2 -dc",
		"\xfd7zXZ\x00":       "f: xz is not read: unpack it first",
		"\xff\xfeu\x00s\x00": "f: the text is in UTF-16: write it in UTF-8",
		"\xfe\xff\x00u\x00s": "f: the text is in UTF-16",
	} {
		_, _, err := readBytes("f", []byte(text), Options{})
		check.Says(t, err, want, "%q", text)
	}
	d, _, err := readBytes("f", []byte("BZhou,a,1\nBZhou,b,2\n"),
		Options{Columns: []string{"user_id", "item_id", "timestamp"}})
	check.Must(t, err)
	check.Same(t, []string{"BZhou"}, d.Users, "users of a text that begins like bzip2")
	want := "zip archives are not read: unpack it first, or on the way, with unzip -p"
	for _, err := range []error{ofFile, ofStream, ofItems} {
		check.Says(t, err, want, "an archive")
	}
}

// FuzzReadHeaderless guesses delimiters, units and types of anything.
func FuzzReadHeaderless(f *testing.F) {
	f.Add([]byte("u;a;1700086400;view\nu;b;2024-01-01;buy\n"), true)
	f.Add([]byte("user_id|item_id|timestamp|type\nu|a|1700086400123|x\n"), false)
	f.Fuzz(func(t *testing.T, data []byte, named bool) {
		opt := Options{TimeUnit: "auto", TypeColumn: "type",
			EventWeights: event.Weights{"view": -1}, MaxBadRows: 5}
		if named {
			opt.Columns = []string{"user_id", "item_id", "timestamp", "type"}
		}
		d, report, err := readBytes("f", data, opt)
		if err != nil {
			return
		}
		checkInvariants(t, d)
		if len(report.Files[0].Delimiter) > 1 || report.OrdinalTimes && d.Time != nil {
			t.Fatalf("report %+v", report)
		}
	})
}
