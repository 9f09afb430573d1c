package call

import pb "github.com/gsimc/gsimc/api/gsimc/v1"

// filterFlags say which items a list may have.
type filterFlags struct {
	Allow         []string `group:"Which items:" placeholder:"ITEM,..." help:"Only these items."`
	Deny          []string `group:"Which items:" placeholder:"ITEM,..." help:"Not these items."`
	AnyCategories []string `group:"Which items:" placeholder:"NAME,..." help:"Only items with one of these categories."`
	AllCategories []string `group:"Which items:" placeholder:"NAME,..." help:"Only items with all of these categories."`
	NoCategories  []string `group:"Which items:" placeholder:"NAME,..." help:"Only items with none of these categories."`
	AnyLabels     []string `group:"Which items:" placeholder:"NAME,..." help:"Only items with one of these labels."`
	AllLabels     []string `group:"Which items:" placeholder:"NAME,..." help:"Only items with all of these labels."`
	NoLabels      []string `group:"Which items:" placeholder:"NAME,..." help:"Only items with none of these labels."`
	NamedFilters  []string `group:"Which items:" placeholder:"NAME,..." help:"Only items that these filters of the server let pass, see serve --filters-file."`
}

// filter is nil if all items may be on the list.
func (f *filterFlags) filter() *pb.ItemFilter {
	if len(f.Allow)+len(f.Deny)+len(f.AnyCategories)+len(f.AllCategories)+len(f.NoCategories)+
		len(f.AnyLabels)+len(f.AllLabels)+len(f.NoLabels)+
		len(f.NamedFilters) == 0 {
		return nil
	}
	return &pb.ItemFilter{AllowItemIds: f.Allow, DenyItemIds: f.Deny,
		AnyCategories: f.AnyCategories, AllCategories: f.AllCategories,
		NoCategories: f.NoCategories, AnyLabels: f.AnyLabels, AllLabels: f.AllLabels,
		NoLabels: f.NoLabels, NamedFilters: f.NamedFilters}
}
