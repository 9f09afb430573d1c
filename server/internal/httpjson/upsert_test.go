package httpjson

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// An upsert writes what its items name, whatever the value, and nothing else. An empty mask leaves
// it to the service, which writes what each item has.
func TestUpsertsWriteWhatItemsName(t *testing.T) {
	c, h := door(t)
	for _, tt := range []struct{ name, body, mask string }{
		{"the README's", `{"items": [{"itemId": "a", "hidden": true}]}`, ""},
		{"shown again", `{"items": [{"item_id": "a", "hidden": false}]}`, ""},
		{"different fields", `{"items": [{"itemId": "a", "title": "A"}, {"itemId": "b"}]}`, ""},
		{"emptied", `{"items": [{"itemId": "a", "categories": [], "hidden": true}]}`,
			"categories,hidden"},
		{"an empty embedding", `{"items": [{"itemId": "a", "embedding": []}]}`, "embedding"},
		{"numbers", `{"items": [{"itemId": "a", "title": "", "numbers": {"price": 2, "stock": 0}}]}`,
			"numbers.price,numbers.stock,title"},
		{"no numbers", `{"items": [{"itemId": "a", "numbers": {}}]}`, "numbers"},
		{"emptied by null", `{"items": [{"itemId": "a", "availableUntil": null}]}`,
			"available_until"},
		{"emptied in one of two", `{"items": [{"itemId": "a", "title": "", "labels": ["l"]},
			{"title": "B", "item_id": "b", "labels": ["l"]}]}`, "labels,title"},
		{"a mask", `{"updateMask": "hidden", "items": [{"itemId": "a", "title": ""}]}`, "hidden"},
		{"an empty mask", `{"updateMask": "", "items": [{"itemId": "a", "title": ""}]}`, "title"},
		{"no items", `{"items": null}`, ""},
		{"too many", `{"items": [` + strings.Repeat(`{"title": ""}, `, 1000) + `{}]}`, ""},
	} {
		code, got := ask(t, h, "POST", "/v1/items:batchUpsert", tt.body)
		mask := strings.Join(c.last.(*pb.BatchUpsertItemsRequest).GetUpdateMask().GetPaths(), ",")
		if code != http.StatusOK || mask != tt.mask {
			t.Errorf("%s: %d %v, the mask %q, want %q", tt.name, code, got, mask, tt.mask)
		}
	}
	for _, tt := range []struct{ items, empty, only string }{
		{`{"itemId": "a", "hidden": true}, {"itemId": "b", "categories": []}`,
			"items[1].categories", "items[0].hidden"},
		{`{"labels": [], "numbers": {"price": 1}}, {"labels": [], "numbers": {"price": 1, "stock": 2}}`,
			"items[0].labels", "items[1].numbers.stock"},
	} {
		code, got := ask(t, h, "POST", "/v1/items:batchUpsert", `{"items": [`+tt.items+`]}`)
		want := refusalOf{Reason: "INVALID_FIELD", Field: tt.empty,
			Message: tt.empty + " is empty, and " + tt.only + " is not there in all items: say in " +
				"updateMask which fields to write, or leave out what an item keeps"}
		if d := cmp.Diff(want, got); d != "" || code != http.StatusBadRequest {
			t.Errorf("%s: %d (-want +got):\n%s", tt.items, code, d)
		}
	}
}
