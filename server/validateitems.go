package server

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/store"
)

const (
	maxItems        = 1000 // of a call about items, and of a page of them
	defaultItemPage = 100
	maxItemNames    = store.MaxItemNames
	maxFilterNames  = 100
	// of full calls, in tenths, as [wire.Limits] counts them
	maxNamesTogether = maxItems * maxItemNames / 10
)

func validateUpsertItems(r *pb.BatchUpsertItemsRequest) error {
	const list = "items"
	var c checker
	if text := badCount(len(r.GetItems()), 1, maxItems); text != "" {
		c.check(list, text)
		return c.err()
	}
	for i, path := range r.GetUpdateMask().GetPaths() {
		if !slices.Contains(itemFields, path) {
			c.checkAt("update_mask.paths", i, "", "is not the name of a field to write")
		}
	}
	met := make(map[string]bool, len(r.GetItems()))
	for i, item := range r.GetItems() {
		id := item.GetItemId()
		c.checkAt(list, i, "item_id", badID(id))
		if met[id] {
			c.checkAt(list, i, "item_id", "is there twice")
		}
		met[id] = true
		checkNames(&c, list, i, fieldCategories, item.GetCategories())
		checkNames(&c, list, i, fieldLabels, item.GetLabels())
		c.checkAt(list, i, fieldTitle, badTitle(item.GetTitle()))
		c.checkAt(list, i, fieldFrom, badTime(item.GetAvailableFrom()))
		c.checkAt(list, i, fieldUntil, badTime(item.GetAvailableUntil()))
	}
	return c.err()
}

// checkNames checks the categories or labels of element i of a list.
func checkNames(c *checker, list string, i int, field string, names []string) {
	c.checkAt(list, i, field, badCount(len(names), 0, maxItemNames))
	for _, name := range names {
		if text := badID(name); text != "" {
			c.checkAt(list, i, field, "has a name that "+text)
			return
		}
	}
}

func badTitle(title string) string {
	switch {
	case len(title) > store.MaxTitleBytes:
		return fmt.Sprintf("has %d bytes, at most %d are allowed", len(title), store.MaxTitleBytes)
	case !utf8.ValidString(title):
		return "is not valid UTF-8"
	}
	return ""
}

func badTime(t *timestamppb.Timestamp) string {
	if t != nil && (t.CheckValid() != nil || t.GetSeconds() < 0) {
		return "must be from 1970-01-01 to 9999-12-31"
	}
	return ""
}

// validateTimes checks element i of the items as it is going to be written.
func validateTimes(i int, item *store.Item) error {
	var c checker
	if !item.From.IsZero() && !item.Until.IsZero() && !item.Until.After(item.From) {
		c.checkAt("items", i, fieldUntil, "must be after available_from")
	}
	return c.err()
}

func validateItemID(id string) error {
	var c checker
	c.check("item_id", badID(id))
	return c.err()
}

// validateListItems checks a request and returns the id behind which its page begins.
func validateListItems(r *pb.ListItemsRequest) (after string, err error) {
	var c checker
	if r.GetPageSize() < 0 {
		c.check("page_size", "must not be negative")
	}
	after, ok := readPageAfter(r.GetPageToken())
	if !ok {
		c.check("page_token", "is not one that a page came with")
	}
	return after, c.err()
}

func validateDeleteItems(r *pb.BatchDeleteItemsRequest) error {
	return validateIDs(r.GetItemIds(), maxItems)
}

// validateIDs checks the item_ids of a request that takes up to max of them.
func validateIDs(ids []string, max int) error {
	const list = "item_ids"
	var c checker
	if text := badCount(len(ids), 1, max); text != "" {
		c.check(list, text)
		return c.err()
	}
	for i, id := range ids {
		c.checkAt(list, i, "", badID(id))
	}
	return c.err()
}

// checkFilter checks a filter.
func checkFilter(c *checker, f *pb.ItemFilter) {
	checkIDs(c, "filter.allow_item_ids", f.GetAllowItemIds())
	checkIDs(c, "filter.deny_item_ids", f.GetDenyItemIds())
	for _, names := range []struct {
		list string
		of   []string
	}{
		{"filter.any_categories", f.GetAnyCategories()},
		{"filter.all_categories", f.GetAllCategories()},
		{"filter.no_categories", f.GetNoCategories()},
		{"filter.any_labels", f.GetAnyLabels()},
		{"filter.all_labels", f.GetAllLabels()},
		{"filter.no_labels", f.GetNoLabels()},
	} {
		if text := badCount(len(names.of), 0, maxFilterNames); text != "" {
			c.check(names.list, text)
			continue
		}
		for i, name := range names.of {
			c.checkAt(names.list, i, "", badID(name))
		}
	}
}
