package valid

import (
	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// checkFilter checks a filter.
func checkFilter(c *checker, f *pb.ItemFilter) {
	checkIDs(c, "filter.allow_item_ids", f.GetAllowItemIds(), 0, MaxFilterIDs)
	checkIDs(c, "filter.deny_item_ids", f.GetDenyItemIds(), 0, MaxFilterIDs)
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
		checkIDs(c, names.list, names.of, 0, maxFilterNames)
	}
	checkIDs(c, "filter.named_filters", f.GetNamedFilters(), 0, maxNamedFilters)
}

// checkIDs checks a list of ids or names, of which there may be least to most.
func checkIDs(c *checker, list string, ids []string, least, most int) {
	if text := badCount(len(ids), least, most); text != "" {
		c.check(list, text)
		return
	}
	for i, id := range ids {
		c.checkAt(list, i, "", badID(id))
	}
}
