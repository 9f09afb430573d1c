package catalogue

import (
	"fmt"
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model/content"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// Documents are what items say of themselves, of any number of them. Hidden ones are left out, and
// can be asked for.
func TestDocuments(t *testing.T) {
	c, _ := open(t, memory.New(), time.Unix(0, 0), Bounds{})
	var items []store.Item
	want := map[string]content.Document{}
	for i := range 2*documentsAtOnce + 3 {
		id := fmt.Sprint(i)
		items = append(items, store.Item{ID: id, Title: "Title " + id, Hidden: i%7 == 0,
			Categories: []string{fmt.Sprint(i % 5), "a"}, Labels: []string{"a"}})
		if i%7 > 0 && i%3 == 0 {
			want[id] = content.Document{Title: "title " + id,
				Categories: []string{fmt.Sprint(i % 5), "a"}, Labels: []string{"a"}}
		}
	}
	before := c.Changes()
	must(t, put(t, c, items...))
	if _, err := c.Delete(t.Context(), []string{"3"}); err != nil || c.Changes() == before {
		t.Errorf("%v; after %d changes there are %d", err, before, c.Changes())
	}
	delete(want, "3")
	wanted := func(id string) bool {
		i, err := strconv.Atoi(id)
		return err == nil && i%3 == 0
	}
	check.Same(t, want, maps.Collect(c.Documents(wanted)), "documents")
	must(t, put(t, c, store.Item{ID: "5", From: time.Unix(10, 0), Until: time.Unix(20, 0)}))
	for id, shows := range map[string][3]bool{"0": {}, "7": {}, "1": {true, true, true},
		"3": {true, true, true}, "x": {true, true, true}, "5": {false, true, false}} {
		for at, now := range []int64{9, 10, 20} {
			check.Same(t, shows[at], c.Shows(id, time.Unix(now, 0)), "%s is shown at %d", id, now)
		}
	}
	for range c.Documents(wanted) {
		break // it can be left at any time
	}
	if d, found := c.Document("7"); !found || d.Title != "title 7" {
		t.Errorf("a hidden item: %+v, found %t", d, found)
	}
	if d, found := c.Document("3"); found {
		t.Errorf("%+v of an item that is gone", d)
	}
}
