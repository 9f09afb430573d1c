package dataset

import (
	"bytes"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/gsimc/gsimc/learn/dataset/internal/rows"
)

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

func FuzzReadSplit(f *testing.F) {
	f.Add([]byte("user_id,role\na,train\nb,test\nc,validation\n"))
	f.Add([]byte("role\tx\tuser_id\ntrain\t\t\"a\"\"b\"\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		s, err := rows.NewSource("f", r, r, int64(len(data)))
		if err != nil {
			return
		}
		defer s.Close()
		roles, err := readRoles(s)
		if err == nil && len(roles) == 0 {
			t.Fatal("an empty split was accepted")
		}
		for id, role := range roles {
			if rows.CheckID([]byte(id)) != nil || role < Train || role > Test {
				t.Fatalf("user %q has role %v", id, role)
			}
		}
	})
}

func FuzzReadItemRows(f *testing.F) {
	f.Add([]byte("item_id,title,categories\n1,\"Toy, Story\",Fun|Kids\n2,,\n"))
	f.Add([]byte(`{"item_id":"1","labels":["a"],"hidden":true,"embedding":[1,0.5]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		s, err := rows.NewSource("f", r, r, int64(len(data)))
		if err != nil {
			return
		}
		defer s.Close()
		all, err := newItemRows(s, ItemRowsOptions{})
		for err == nil {
			var row ItemRow
			row, err = all.next()
			if err == nil && rows.CheckID([]byte(row.ID)) != nil {
				t.Fatalf("item %q was accepted", row.ID)
			}
		}
	})
}
