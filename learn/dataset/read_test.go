package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
)

// parquetEvent is the row type of the Parquet files of these tests.
type parquetEvent struct {
	UserID    string  `parquet:"user_id"`
	Extra     int32   `parquet:"extra"`
	ItemID    string  `parquet:"item_id,dict"`
	Timestamp int64   `parquet:"timestamp"`
	Weight    float64 `parquet:"weight,optional"`
}

func parquetBytes[T any](tb testing.TB, rows []T, opts ...parquet.WriterOption) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b, opts...)
	check.Get(w.Write(rows))(tb)
	check.Must(tb, w.Close())
	return b.Bytes()
}

// small holds the same seven rows in every format.
var small = struct {
	rows  []parquetEvent
	texts map[string]string
	want  *Interactions
}{
	rows: []parquetEvent{
		{"b", 1, "y", 30, 1}, {"a", 2, "x", 20, 2}, {"b", 3, "x", 10, 0.5}, {"a", 4, "Z", 20, 1},
		{"b", 5, "y", 5, 4}, {"a", 6, "x", 21, 9}, {"c,\"é", 7, "x", 0, 1},
	},
	texts: map[string]string{
		"csv": "weight,user_id,extra,item_id,timestamp\n1,b,,y,30\n2,a,,x,20.9\n0.5,b,,x,10\n1,a,,Z,1970-01-01T00:00:20Z\n\n" +
			"4,b,\"two\nlines\",y,5\n9,a,,x,21\n1,\"c,\"\"é\",,x,0",
		"tsv": "item_id\tuser_id\ttimestamp\tweight\r\ny\tb\t30\t1\r\nx\ta\t20\t2\r\nx\tb\t1e1\t.5\r\nZ\ta\t20\t1\r\n" +
			"y\tb\t5\t4\r\nx\ta\t1970-01-01T02:00:21.5+02:00\t9\r\nx\t\"c,\"\"é\"\t-0.5\t1\r\n",
		"jsonl": "\ufeff\n" +
			` {"user_id":"b","item_id":"y","timestamp":30,"weight":1,"extra":{"a":["}",null,{}]}}` +
			"\n" +
			`{"weight":"2","timestamp":"20","item_id":"x","user_id":"a"}` + "\n\n" +
			`{"user_id":"b","item_id":"x","timestamp":10.2,"weight":5e-1}` + "\r\n" +
			`{"user_id" : "\u0061" , "item_id":"Z", "timestamp":20, "weight" :1 , "more":true}` +
			"\n" +
			`{"us\u0065r_id":"b","item_id":"y","timestamp":5,"weight":4}` + "\n" +
			`{"user_id":"a","item_id":"x","timestamp":"1970-01-01T00:00:21Z","weight":9}` + "\n" +
			`{"user_id":"c,\"é","item_id":"x","timestamp":0,"weight":1}`,
	},
	want: &Interactions{
		Users: []string{"a", "b", `c,"é`}, Items: []string{"Z", "x", "y"},
		Ptr: []int64{0, 2, 4, 5}, Item: []int32{1, 0, 2, 1, 1},
		Time: []int64{20, 20, 5, 10, 0}, Weight: []float32{2, 1, 4, 0.5, 1},
		Repeats: Repeats{{Time: 21, User: 0, Place: 2, Item: 1, Weight: 9},
			{Time: 30, User: 1, Place: 2, Item: 2, Weight: 1}},
	},
}

func TestReadFormats(t *testing.T) {
	hash := "" // of the first file; all others must have the same
	check := func(t *testing.T, name string, data []byte, format, compression string) {
		d, report, err := Read([]string{writeFile(t, name, data)},
			Options{WeightColumn: "weight", TimeUnit: "s"})
		check.Must(t, err)
		checkInvariants(t, d)
		check.Same(t, small.want, d, "interactions")
		want := &Report{
			Files: []FileReport{{Path: report.Files[0].Path, Format: format,
				Compression: compression,
				Delimiter:   map[string]string{"csv": ",", "tsv": "\t"}[format], TimeUnit: "s",
				Rows: 7}},
			Rows: 7, Duplicates: 2, Hash: report.Hash,
		}
		check.Same(t, want, report, "report")
		if hash == "" {
			hash = report.Hash
		}
		if report.Hash != hash || len(hash) != 64 {
			t.Errorf("hash %s, want %s", report.Hash, hash)
		}
	}
	for format, text := range small.texts {
		for _, compression := range []string{"none", "gzip", "zstd"} {
			t.Run(format+"/"+compression, func(t *testing.T) {
				// The name says nothing: the content decides.
				check(t, "events", pack(t, compression, []byte(text)), format, compression)
			})
		}
	}
	for name, options := range map[string][]parquet.WriterOption{
		"plain":     nil,
		"snappy-v1": {parquet.Compression(&parquet.Snappy), parquet.DataPageVersion(1)},
		"zstd-v2":   {parquet.Compression(&parquet.Zstd), parquet.DataPageVersion(2)},
		"groups":    {parquet.MaxRowsPerRowGroup(2), parquet.Compression(&parquet.Snappy)},
		"gzip":      {parquet.Compression(&parquet.Gzip)},
	} {
		t.Run("parquet/"+name, func(t *testing.T) {
			check(t, "events", parquetBytes(t, small.rows, options...), "parquet", "none")
		})
	}
}

// TestReadParquetTypes reads ids, times and weights of other Parquet types.
func TestReadParquetTypes(t *testing.T) {
	type numbers struct {
		User   uint64   `parquet:"u"`
		Item   int32    `parquet:"i"`
		Time   int64    `parquet:"t,timestamp(microsecond)"`
		Weight *float32 `parquet:"w"`
	}
	type texts struct {
		User   *string `parquet:"u"`
		Item   []byte  `parquet:"i"`
		Time   string  `parquet:"t"`
		Weight int32   `parquet:"w"`
	}
	half, id := float32(2), "18446744073709551615"
	want := &Interactions{Users: []string{id}, Items: []string{"-7"}, Ptr: []int64{0, 1},
		Item: []int32{0}, Time: []int64{12}, Weight: []float32{2}}
	for name, data := range map[string][]byte{
		"numbers": parquetBytes(t, []numbers{{1<<64 - 1, -7, 12_999_999, &half}}),
		"texts":   parquetBytes(t, []texts{{&id, []byte("-7"), "1970-01-01T00:00:12Z", 2}}),
	} {
		d, _, err := readBytes(name, data, Options{UserColumn: "u", ItemColumn: "i",
			TimeColumn: "t", WeightColumn: "w"})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(want, d); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Dates are days, and INT96 holds the nanoseconds of a day and its number.
func TestReadParquetDates(t *testing.T) {
	type days struct {
		User string `parquet:"user_id"`
		Item string `parquet:"item_id"`
		Time int32  `parquet:"timestamp,date"`
	}
	type old struct {
		User string           `parquet:"user_id"`
		Item string           `parquet:"item_id"`
		Time deprecated.Int96 `parquet:"timestamp"`
	}
	const noon = 12 * 3600 * 1_000_000_000
	for name, tt := range map[string]struct {
		data []byte
		want []int64
	}{
		"days": {parquetBytes(t, []days{{"u", "a", 19_723}, {"u", "b", -1}}), []int64{-86_400, 1_704_067_200}},
		"INT96": {parquetBytes(t, []old{
			{"u", "a", deprecated.Int96{noon & 0xffffffff, noon >> 32, 2_440_588 + 19_723}},
			{"u", "b", deprecated.Int96{0, 0, 2_440_588}},
		}), []int64{0, 1_704_110_400}},
	} {
		d, report, err := readBytes(name, tt.data, Options{TimeUnit: "auto"})
		if err != nil || !slices.Equal(d.Time, tt.want) || report.OrdinalTimes {
			t.Errorf("%s: %+v, %v, want the times %d", name, d, err, tt.want)
		}
	}
}

func TestReadWithoutTimes(t *testing.T) {
	for name, data := range map[string][]byte{
		"csv": []byte("user_id,item_id\nu,b\nu,a\nu,b\n"),
		"jsonl": []byte(`{"user_id":"u","item_id":"b"}` + "\n" + `{"user_id":"u","item_id":"a"}` +
			"\n"),
		"parquet": parquetBytes(t, []struct {
			U string `parquet:"user_id"`
			I string `parquet:"item_id"`
		}{{"u", "b"}, {"u", "a"}}),
	} {
		d, _, err := readBytes(name, data, Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := &Interactions{Users: []string{"u"}, Items: []string{"a", "b"}, Ptr: []int64{0, 2},
			Item: []int32{1, 0}}
		check.Same(t, want, d, "%s: interactions in the order of the file", name)
	}
}

func TestReadSeveralFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		check.Must(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	a := write("a.csv", "user_id,item_id,timestamp\nu,b,1\nv,b,9\n")
	b := write("b.jsonl", `{"item_id":"a","user_id":"u","timestamp":1}`)
	c := write("c.csv", "user_id,item_id\nu,b\n")

	var calls [][3]int64
	d, report, err := Read([]string{a, b}, Options{Progress: func(read, total, rows int64) {
		calls = append(calls, [3]int64{read, total, rows})
	}})
	check.Must(t, err)
	check.Same(t, []int32{1, 0}, d.Of(0), "ties must keep the order of the files")
	if len(report.Files) != 2 || report.Files[0].Rows != 2 || report.Files[1].Rows != 1 {
		t.Errorf("report of the files: %+v", report.Files)
	}
	size := int64(len("user_id,item_id,timestamp\nu,b,1\nv,b,9\n") +
		len(`{"item_id":"a","user_id":"u","timestamp":1}`))
	check.Same(t, [][3]int64{{size, size, 3}}, calls, "progress")
	_, _, err = Read([]string{a, c}, Options{})
	check.Says(t, err, "must all have them", "files with and without times")
}

// TestReadProgress reads enough rows for several calls of Progress, from files
// that decoders read ahead in.
func TestReadProgress(t *testing.T) {
	const rows = 3*progressRows + 1
	text := []byte("user_id,item_id\n")
	for r := range rows {
		text = fmt.Appendf(text, "u%d,i%d\n", r%1000, r/1000)
	}
	for _, compression := range []string{"none", "gzip", "zstd"} {
		data := pack(t, compression, text)
		var calls [][3]int64
		_, _, err := Read([]string{writeFile(t, "events", data)},
			Options{Progress: func(read, total, rows int64) {
				calls = append(calls, [3]int64{read, total, rows})
			}})
		check.Must(t, err)
		size := int64(len(data))
		if len(calls) != 4 || calls[3] != [3]int64{size, size, rows} {
			t.Fatalf("%s: progress %v, want four calls and in the end %d bytes and %d rows",
				compression, calls, size, rows)
		}
		for i, c := range calls[:3] {
			if c[0] <= 0 || c[0] > size || c[1] != size || c[2] != int64(i+1)*progressRows {
				t.Errorf("%s: call %d: %v", compression, i, c)
			}
		}
	}
}

// TestReadOracle compares Read with a slow and obvious implementation on
// random rows, with and without times, weights and filters.
func TestReadOracle(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	rounds := 300
	if soak.Brief() {
		rounds = 30
	}
	for round := range rounds {
		timed, weighted := round%2 == 0, round%3 == 0
		opt := Options{MinUserEvents: rng.IntN(4), MinItemEvents: rng.IntN(4)}
		if weighted {
			opt.WeightColumn = "weight"
		}
		rows := make([]oracleRow, 1+rng.IntN(200))
		for i := range rows {
			rows[i] = oracleRow{fmt.Sprint("u", rng.IntN(20)), fmt.Sprint("i", rng.IntN(30)),
				rng.Int64N(8), 1 + rng.Float32()}
		}
		d, report, err := readBytes("random", oracleCSV(rows, timed), opt)
		want := oracle(rows, timed, weighted, opt)
		if len(want) == 0 {
			if !errors.Is(err, ErrNoData) {
				t.Fatalf("round %d: nothing left, but error %v", round, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		checkInvariants(t, d)
		if diff := cmp.Diff(want, listed(d), cmp.AllowUnexported(oracleRow{})); diff != "" {
			t.Fatalf("round %d (-want +got):\n%s", round, diff)
		}
		check.MustSame(t, int64(len(rows)), int64(d.Len())+report.Duplicates+report.Filtered,
			"round %d: kept + duplicates + filtered", round)
	}
}

type oracleRow struct {
	user, item string
	time       int64
	weight     float32
}

func oracleCSV(rows []oracleRow, timed bool) []byte {
	var b bytes.Buffer
	b.WriteString("item_id,weight,user_id,")
	b.WriteString(map[bool]string{true: "timestamp\n", false: "other\n"}[timed])
	for _, r := range rows {
		fmt.Fprintf(&b, "%s,%v,%s,%d\n", r.item, r.weight, r.user, r.time)
	}
	return b.Bytes()
}

// oracle returns what Read should keep of rows, in order.
func oracle(rows []oracleRow, timed, weighted bool, opt Options) []oracleRow {
	rows = slices.Clone(rows)
	for i := range rows {
		if !timed {
			rows[i].time = 0
		}
		if !weighted {
			rows[i].weight = 1
		}
	}
	slices.SortStableFunc(rows, func(a, b oracleRow) int {
		if c := strings.Compare(a.user, b.user); c != 0 {
			return c
		}
		return int(a.time - b.time)
	})
	seen := map[[2]string]bool{}
	rows = slices.DeleteFunc(rows, func(r oracleRow) bool {
		key := [2]string{r.user, r.item}
		defer func() { seen[key] = true }()
		return seen[key]
	})
	for before := -1; before != len(rows); {
		before = len(rows)
		users, items := map[string]int{}, map[string]int{}
		for _, r := range rows {
			users[r.user]++
			items[r.item]++
		}
		rows = slices.DeleteFunc(rows, func(r oracleRow) bool {
			return users[r.user] < opt.MinUserEvents || items[r.item] < opt.MinItemEvents
		})
	}
	return rows
}

// listed returns the interactions as rows.
func listed(d *Interactions) (rows []oracleRow) {
	for u, user := range d.Users {
		for j := d.Ptr[u]; j < d.Ptr[u+1]; j++ {
			r := oracleRow{user: user, item: d.Items[d.Item[j]], weight: 1}
			if d.Time != nil {
				r.time = d.Time[j]
			}
			if d.Weight != nil {
				r.weight = d.Weight[j]
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// TestReadManyChunks has enough rows to fill several chunks and to give memory
// back in between.
func TestReadManyChunks(t *testing.T) {
	soak.Slow(t)
	const n = releaseRows + 3*chunkRows/2
	c := &columns{}
	users, items := newIndex(), newIndex()
	for r := range n {
		// Backwards in time, users in turn: every row has to move.
		u, i := fmt.Appendf(nil, "%02d", r%50), fmt.Appendf(nil, "%06d", r/50)
		check.Must(t, c.add(users.of(u), items.of(i), int64(n-r), float32(r+1), 0,
			columnSet{time: true, weight: true}))
	}
	d, _ := c.interactions(users, items, false)
	checkInvariants(t, d)
	check.MustSame(t, n, d.Len(), "events")
	for u := range d.Users {
		for j := d.Ptr[u]; j < d.Ptr[u+1]; j++ {
			r := n - d.Time[j]
			if int(r%50) != u || int32(r/50) != d.Item[j] || d.Weight[j] != float32(r+1) {
				t.Fatalf("event %d of user %d: item %d, time %d, weight %v belong to different rows", j, u, d.Item[j], d.Time[j], d.Weight[j])
			}
		}
	}
}

func TestHashDiffers(t *testing.T) {
	base := "user_id,item_id,timestamp\nu,a,1\nu,b,2\nv,a,3\n"
	hash := func(text string) string {
		_, report, err := readBytes("x", []byte(text), Options{})
		check.Must(t, err)
		return report.Hash
	}
	want := hash(base)
	check.Same(t, want, hash("timestamp,user_id,item_id\n3,v,a\n2,u,b\n1,u,a\n"),
		"hash of other orders of rows and columns")
	for _, other := range []string{
		"user_id,item_id,timestamp\nu,a,1\nu,b,2\nw,a,3\n",
		"user_id,item_id,timestamp\nu,a,1\nu,b,2\nv,b,3\n",
		"user_id,item_id,timestamp\nu,a,1\nu,b,2\nv,a,4\n",
		"user_id,item_id\nu,a\nu,b\nv,a\n",
	} {
		if hash(other) == want {
			t.Errorf("the hash does not tell %q from %q", other, base)
		}
	}
}
