package mapping

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/testing/protocmp"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
)

// A value says which fields to write as it does in the JSON of the API.
func TestItem(t *testing.T) {
	for _, c := range []struct{ name, value, item, mask string }{
		{"fields in both spellings", `{"title":"T","available_from":"2026-01-01T00:00:00Z",
			"availableUntil":"2027-01-01T00:00:00Z","hidden":false}`,
			`{"itemId":"key","title":"T","availableFrom":"2026-01-01T00:00:00Z",
			"availableUntil":"2027-01-01T00:00:00Z","hidden":false}`, ""},
		{"its own id, and what is no field", `{"item_id":"key","brand":{"name":"B"},"labels":["l"]}`,
			`{"itemId":"key","labels":["l"]}`, ""},
		{"empty fields are written", `{"title":"","categories":[],"labels":["l"],"hidden":null}`,
			`{"itemId":"key","labels":["l"]}`, "categories hidden labels title"},
		{"numbers one by one", `{"numbers":{"price":1.5,"stock":0},"embedding":[]}`,
			`{"itemId":"key","numbers":{"price":1.5,"stock":0}}`,
			"embedding numbers.price numbers.stock"},
		{"no numbers", `{"numbers":{}}`, `{"itemId":"key"}`, "numbers"},
		{"a name for the server to refuse", `{"numbers":{"Price":1},"title":""}`,
			`{"itemId":"key","numbers":{"Price":1}}`, "numbers title"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := check.Get(ItemOf(record(c.value)))(t)
			want := &pb.Item{}
			check.Must(t, protojson.Unmarshal([]byte(c.item), want))
			if diff := cmp.Diff(want, got.Item, protocmp.Transform()); diff != "" {
				t.Error(diff)
			}
			check.Same(t, c.mask, strings.Join(got.Mask, " "), "mask")
			check.Same(t, false, got.Deleted, "deleted")
		})
	}
	gone := check.Get(ItemOf(&kgo.Record{Key: []byte("i")}))(t)
	if !gone.Deleted || gone.GetItemId() != "i" {
		t.Errorf("of null there is %+v", gone)
	}
}

func TestNoItem(t *testing.T) {
	for _, c := range []struct{ key, value, want string }{
		{"", `{"title":"T"}`, "the key is empty"},
		{"\xff", `{"title":"T"}`, "the key is no text"},
		{"\x00\x00\x00\x07", `{"title":"T"}`, "the key is no text"},
		{`"sku"`, `{"title":"T"}`, "the key is JSON"},
		{`{"sku":7}`, `{"title":"T"}`, "the key is JSON"},
		{strings.Repeat("x", 257), `{"title":"T"}`, "the key has 257 bytes, at most 256"},
		{"key", "", "empty"},
		{"key", "{", "JSON"},
		{"key", `[]`, "not an object"},
		{"key", "null", "not an object"},
		{"key", `{"numbers":{"price":null}}`, "no item"},
		{"key", `{}`, "no field of an item"},
		{"key", `{"item_id":"key","name":"T"}`, "no field of an item"},
		{"key", `{"itemId":"other","title":"T"}`, `item_id is "other", and the key "key"`},
		{"key", `{"title":7}`, "no item"},
		{"key", `{"categories":"c"}`, "no item"},
		{"key", `{"title":"\ud800"}`, "no item"},
		{"key", `{"title":"T","title":"U"}`, "no item"},
		{"key", `{"title":"` + strings.Repeat("x", mostItem) + `"}`, "at most 1048576"},
	} {
		r := record(c.value)
		r.Key = []byte(c.key)
		if item, err := ItemOf(r); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.20q %.40q: item %v, error %v, want %q", c.key, c.value, item, err, c.want)
		}
	}
}
