package dataset

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

func TestReadItems(t *testing.T) {
	text := []byte("title,item_id,year,categories\n\"Toy, " +
		"Story\",1,1995,Fun|Kids\nHeat,2,,Crime\n,3,,\n")
	for _, compression := range []string{"none", "gzip", "zstd"} {
		c := check.Get(ReadItems(writeFile(t, "items", pack(t, compression, text))))(t)
		for id, want := range map[string]string{"1": "Toy, Story", "2": "Heat", "3": "",
			"unknown": ""} {
			check.Same(t, want, c[id], "title of %s", id)
		}
	}
	for text, want := range map[string]string{
		"item_id,name\n1,a\n": `items: no column "title"; the file has "item_id", "name": an items file needs item_id, title`,
		"1;a\n2;b\n":          `items: no column "item_id"; the file has "1", "a": an items file needs item_id, title`,
		"item_id,title,categories\n1,a,b\n1,c,d\n":     `:3: column item_id: item "1" was there before`,
		"item_id,title,categories\n1,\xff,b\n":         ":2: column title",
		"item_id,title,categories\n,a,b\n":             ":2: column item_id: empty id",
		"item_id,title,categories\n1,a \"b\",c\n":      ":2: a quote inside",
		`{"item_id":"1","title":"a","categories":"b"}`: "must be CSV or TSV",
	} {
		if _, err := ReadItems(writeFile(t, "items", []byte(text))); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// TestReadItemsOfDataSets reads the titles of optional data.
func TestReadItemsOfDataSets(t *testing.T) {
	for _, name := range []string{"amazon-games", "movietweetings", "ml-latest-small"} {
		path := filepath.Join("..", "..", "..", "shared", "data", name, "items.csv.gz")
		if _, err := os.Stat(path); err != nil {
			t.Skipf("no data: %v", err)
		}
		if c, err := ReadItems(path); err != nil || len(c) < 9000 {
			t.Errorf("%s: %d titles, error %v", name, len(c), err)
		}
	}
}
