package dataset

import (
	"strings"
	"testing"
)

func TestReadItems(t *testing.T) {
	text := []byte("title,item_id,year,categories\n\"Toy, Story\",1,1995,Fun|Kids\nHeat,2,,Crime\n,3,,\n")
	for _, compression := range []string{"none", "gzip", "zstd"} {
		c, err := ReadItems(writeFile(t, "items", pack(t, compression, text)))
		if err != nil {
			t.Fatal(err)
		}
		for id, want := range map[string]string{"1": "Toy, Story", "2": "Heat", "3": "", "unknown": ""} {
			if got := c.Title(id); got != want {
				t.Errorf("title of %s: %q, want %q", id, got, want)
			}
		}
	}
	for text, want := range map[string]string{
		"item_id,title\n1,a\n":                         `no column "categories"`,
		"item_id,title,categories\n1,a,b\n1,c,d\n":     `:3: column item_id: item "1" was there before`,
		"item_id,title,categories\n1,\xff,b\n":         ":2: column title",
		"item_id,title,categories\n1,a,\xff\n":         ":2: column categories",
		"item_id,title,categories\n,a,b\n":             ":2: column item_id: empty id",
		"item_id,title,categories\n1,a \"b\",c\n":      ":2: a quote inside",
		`{"item_id":"1","title":"a","categories":"b"}`: "must be CSV or TSV",
	} {
		if _, err := ReadItems(writeFile(t, "items", []byte(text))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}
