package valid

import (
	"unicode/utf8"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/event"
)

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
		checkFilterNames(c, names.list, names.of, maxFilterNames)
	}
	checkFilterNames(c, "filter.named_filters", f.GetNamedFilters(), maxNamedFilters)
}

// checkFilterNames checks a list of names, of which there may be most.
func checkFilterNames(c *checker, list string, names []string, most int) {
	if text := badCount(len(names), 0, most); text != "" {
		c.check(list, text)
		return
	}
	for i, name := range names {
		c.checkAt(list, i, "", badID(name))
	}
}

func checkIDs(c *checker, list string, ids []string) {
	if text := badCount(len(ids), 0, MaxFilterIDs); text != "" {
		c.check(list, text)
		return
	}
	for i, id := range ids {
		// Most ids are good, and there may be ten thousand: the text is made for bad ones only.
		if id == "" || len(id) > event.MaxIDBytes || !utf8.ValidString(id) {
			c.checkAt(list, i, "", badID(id))
		}
	}
}
