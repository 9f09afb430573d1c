package valid

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/store"
)

// The fields of an item that a request may write, by their names in masks.
const (
	FieldCategories = "categories"
	FieldLabels     = "labels"
	FieldHidden     = "hidden"
	FieldFrom       = "available_from"
	FieldUntil      = "available_until"
	FieldTitle      = "title"
	FieldEmbedding  = "embedding"
	FieldNumbers    = "numbers"

	// FieldNumber begins the name of one of the numbers.
	FieldNumber = FieldNumbers + "."

	numItemFields = 8
)

// ItemFields are all of them.
var ItemFields = [numItemFields]string{FieldCategories, FieldLabels, FieldHidden, FieldFrom,
	FieldUntil, FieldTitle, FieldEmbedding, FieldNumbers}

// UpsertItems checks a request; see [WrittenItem] for what depends on the stored items.
func UpsertItems(r *pb.BatchUpsertItemsRequest) error {
	const list = "items"
	var c checker
	if text := badCount(len(r.GetItems()), 1, MaxItems); text != "" {
		c.check(list, text)
		return c.err()
	}
	for i, path := range r.GetUpdateMask().GetPaths() {
		number, one := strings.CutPrefix(path, FieldNumber)
		if !slices.Contains(ItemFields[:], path) && (!one || !event.ValidNumberName(number)) {
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
		checkNames(&c, list, i, FieldCategories, item.GetCategories())
		checkNames(&c, list, i, FieldLabels, item.GetLabels())
		c.checkAt(list, i, FieldTitle, badText(item.GetTitle(), store.MaxTitleBytes))
		if !store.GoodEmbedding(item.GetEmbedding()) {
			c.checkAt(list, i, FieldEmbedding, fmt.Sprintf("has %d numbers, want at most %d, "+
				"finite ones and not all 0", len(item.GetEmbedding()), store.MaxEmbedding))
		}
		checkNumbers(&c, list, i, item.GetNumbers())
		c.checkAt(list, i, FieldFrom, badTime(item.GetAvailableFrom()))
		c.checkAt(list, i, FieldUntil, badTime(item.GetAvailableUntil()))
	}
	return c.err()
}

// checkNames checks the categories or labels of element i of a list.
func checkNames(c *checker, list string, i int, field string, names []string) {
	c.checkAt(list, i, field, badCount(len(names), 0, maxItemNames))
	for at, name := range names {
		if text := badID(name); text != "" {
			c.checkAt(list, i, fmt.Sprintf("%s[%d]", field, at), text)
			return
		}
	}
}

// checkNumbers checks the numbers of element i of a list.
func checkNumbers(c *checker, list string, i int, numbers map[string]float64) {
	c.checkAt(list, i, FieldNumbers, badCount(len(numbers), 0, event.MaxNumbers))
	for _, name := range slices.Sorted(maps.Keys(numbers)) {
		switch {
		case !event.ValidNumberName(name):
			c.checkAt(list, i, FieldNumbers, fmt.Sprintf("has the name %+.64q, which must match %s",
				name, event.NumberSpelling))
			return
		case !store.GoodNumber(numbers[name]):
			c.checkAt(list, i, FieldNumber+name, "must be finite")
		}
	}
}

// WrittenItem checks element i of the items as it is going to be written.
func WrittenItem(i int, item *store.Item) error {
	var c checker
	if !item.From.IsZero() && !item.Until.IsZero() && !item.Until.After(item.From) {
		c.checkAt("items", i, FieldUntil, "must be after available_from")
	}
	c.checkAt("items", i, FieldNumbers, badCount(len(item.Numbers), 0, event.MaxNumbers))
	return c.err()
}

// Embeddings returns the refusal of the embeddings of some elements of the items.
func Embeddings(at []int, problem string) error {
	var c checker
	for _, i := range at {
		c.checkAt("items", i, FieldEmbedding, problem)
	}
	return c.err()
}

// ItemID checks the item_id of a request.
func ItemID(id string) error {
	var c checker
	c.check("item_id", badID(id))
	return c.err()
}

// ListItems checks a request; token says whether its page token is one of this server.
func ListItems(r *pb.ListItemsRequest, token bool) error {
	var c checker
	c.check("page_size", badPage(r.GetPageSize()))
	if !token {
		c.check("page_token", "is not one that a page came with")
	}
	return c.err()
}

// DeleteItems checks a request.
func DeleteItems(r *pb.BatchDeleteItemsRequest) error {
	return ItemIDs(r.GetItemIds(), MaxItems)
}

// ItemIDs checks the item_ids of a request that takes up to max of them.
func ItemIDs(ids []string, max int) error {
	var c checker
	checkIDs(&c, "item_ids", ids, 1, max)
	return c.err()
}

// FilterName is the form of the names of filters and boosts in the file of a server.
var FilterName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// SaveFilter checks a request, whose entry is judged with the whole file.
func SaveFilter(r *pb.SaveNamedFilterRequest) error {
	var c checker
	if !FilterName.MatchString(r.GetName()) {
		c.check("name", "must match "+FilterName.String())
	}
	c.check("entry", badText(r.GetEntry(), maxEntryBytes))
	c.check("version", cmp.Or(required(r.GetVersion()), badText(r.GetVersion(), maxVersionBytes)))
	return c.err()
}

// SearchItems checks a request, whose query may be empty.
func SearchItems(r *pb.SearchItemsRequest) error {
	var c checker
	c.check("query", badText(r.GetQuery(), event.MaxIDBytes))
	c.check("page_size", badPage(r.GetPageSize()))
	return c.err()
}
