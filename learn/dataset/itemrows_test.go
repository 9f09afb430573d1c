package dataset

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
)

// CSV and JSON Lines of the same items are the same rows; what a row does not have is not in its
// fields; a bad row is told by file, line and column, and the others come.
func TestReadItemRows(t *testing.T) {
	from := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	full := ItemRow{ID: "1", Title: "Toy, Story", Categories: []string{"Fun", "Kids"},
		Labels: []string{"new"}, Hidden: true, From: from, Until: from.Add(1500 * time.Millisecond),
		Embedding: []float32{1, -0.5, 200}, Line: 2, Fields: append(
			slices.DeleteFunc(slices.Clone(ItemFields), func(f string) bool { return f == "numbers" }),
			"numbers.price", "numbers.since"),
		Numbers: map[string]float64{"price": 9.5, "since": 1796083200}}
	bare := ItemRow{ID: "2", Fields: full.Fields, Line: 3}
	jsonFull := full
	jsonFull.Line, jsonFull.Fields = 1, ItemFields
	var some []string
	for at := range 21 {
		some = append(some, fmt.Sprintf(`"n%d":1`, at))
	}
	twentyOne := strings.Join(some, ",")
	for name, c := range map[string]struct {
		text, separator string
		want            []ItemRow
		bad             []string
	}{
		"csv": {text: "numbers.price,embedding,available_until,available_from,hidden,labels,categories,title,item_id,year,numbers.since\n" +
			"9.5,1 -.5 2e2,2026-12-01T00:00:01.5Z,2026-12-01,yes,new,Fun; Kids;,\"Toy, Story\",1,1995,2026-12-01\n" +
			",,,,,,,,2,,\n", want: []ItemRow{full, bare}},
		"separator": {text: "item_id\tcategories\n1\tA|B;C\n", separator: "|",
			want: []ItemRow{{ID: "1", Categories: []string{"A", "B;C"},
				Fields: []string{"categories"}, Line: 2}}},
		"as MovieLens has it": {text: "item_id,categories\n1,A|B; C|\n",
			want: []ItemRow{{ID: "1", Categories: []string{"A", "B", "C"},
				Fields: []string{"categories"}, Line: 2}}},
		"jsonl": {text: `{"item_id":1,"title":"Toy, Story","categories":["Fun","Kids"],` +
			`"labels":"new","hidden":true,"available_from":"2026-12-01","more":[],` +
			`"numbers":{"since":"2026-12-01","price":9.5,"none":null},"embedding":[1, -0.5, 2e2],"available_until":"2026-12-01T00:00:01.5Z"}` + "\n" + `{"item_id":"2","hidden":null}`,
			want: []ItemRow{jsonFull, {ID: "2", Fields: []string{"hidden"}, Line: 2}}},
		"bad csv": {text: "item_id,hidden,available_from\n1,maybe,\n2,no,soon\n,,\n3,1\n4,1,7\n",
			want: []ItemRow{{ID: "4", Hidden: true, From: time.Unix(7, 0).UTC(),
				Fields: []string{"hidden", "available_from"}, Line: 6}},
			bad: []string{`:2: column hidden: "maybe", want true or false`,
				`:3: column available_from: bad time "soon"`, ":4: column item_id: empty id",
				":5: the row has 2 fields"}},
		"bad jsonl": {text: `{"item_id":"1","categories":[1]}
{"title":"x"}
nothing
{"item_id":["1"]}
{"item_id":"5","labels":["` + strings.Repeat("x", 257) + `"]}
{"item_id":1.5}
{"item_id":"7","embedding":[1,"x"]}
{"item_id":"8","numbers":{"price":"cheap"}}
{"item_id":"9","numbers":[1]}
{"item_id":"10","numbers":{"price":1e999}}
{"item_id":"11","numbers":{"max_2":1}}
{"item_id":"12","numbers":{` + twentyOne + `}}`,
			bad: []string{`:1: column categories: "[1]", want an array`, ":2: column item_id: missing",
				":3: not a JSON object", ":4: column item_id: a list", ":5: column labels: a name",
				":6: column item_id: id", `:7: column embedding: "\"x\"", want numbers`,
				`:8: column numbers: price: "cheap", want a number or a time`,
				`:9: column numbers: "[1]", want an object of numbers`,
				`:10: column numbers: price: "1e999", want a number or a time`,
				`:11: column numbers: the name "max_2", which must match`,
				`:12: column numbers: more than 20 numbers`}},
	} {
		t.Run(name, func(t *testing.T) {
			path := writeFile(t, "items", pack(t, "gzip", []byte(c.text)))
			var got []ItemRow
			var bad []string
			check.Must(t, ReadItemRows(path, ItemRowsOptions{Separator: c.separator},
				func(r ItemRow) error { got = append(got, r); return nil },
				func(e *RowError) error { bad = append(bad, e.Error()); return nil }))
			check.Same(t, c.want, got, "rows")
			check.MustSame(t, len(c.bad), len(bad), "number of the faults %q", bad)
			for i := range bad {
				check.Has(t, bad[i], path+c.bad[i], "fault")
			}
		})
	}
	path := writeFile(t, "items", []byte("item_id\n1\n2\n"))
	stop := errors.New("stop")
	rows := 0
	err := ReadItemRows(path, ItemRowsOptions{Progress: func(read, total int64) {
		if read != 12 || total != 12 {
			t.Errorf("%d of %d bytes", read, total)
		}
	}}, func(ItemRow) error {
		if rows++; rows == 2 {
			return stop
		}
		return nil
	}, func(e *RowError) error { return e })
	if !errors.Is(err, stop) || rows != 2 {
		t.Errorf("%d rows, %v", rows, err)
	}
	err = ReadItemRows(writeFile(t, "none", []byte("id,title\n1,a\n")), ItemRowsOptions{},
		func(ItemRow) error { return nil }, func(e *RowError) error { return e })
	check.Says(t, err, `no column "item_id"`, "without ids")
	err = ReadItemRows(writeFile(t, "none", []byte("item_id,titel\n1,a\n")), ItemRowsOptions{},
		func(ItemRow) error { return nil }, func(e *RowError) error { return e })
	check.Says(t, err, `the header has "item_id,titel", want item_id and one of title, `, "no field")
	err = ReadItemRows(writeFile(t, "none", nil), ItemRowsOptions{}, nil, nil)
	if err == nil || !strings.HasSuffix(err.Error(), "none: the file is empty") ||
		!errors.Is(err, ErrNoData) {
		t.Errorf("an empty file: %v", err)
	}
}

// TestReadItemRowsOfDataSets reads optional data.
func TestReadItemRowsOfDataSets(t *testing.T) {
	for _, name := range []string{"amazon-games", "movietweetings", "ml-latest-small"} {
		path := filepath.Join("..", "..", "..", "shared", "data", name, "items.csv.gz")
		if _, err := os.Stat(path); err != nil {
			t.Skipf("no data: %v", err)
		}
		titles := 0
		check.Must(t, ReadItemRows(path, ItemRowsOptions{},
			func(r ItemRow) error { titles += min(1, len(r.Title)); return nil },
			func(e *RowError) error { return e }))
		if titles < 9000 {
			t.Errorf("%s: %d titles", name, titles)
		}
	}
}
