package call

import (
	"fmt"
	"strconv"
	"strings"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// filterFlags say which items a list may have.
type filterFlags struct {
	Allow         []string      `group:"Which items:" placeholder:"ITEM,..." help:"Only these items."`
	Deny          []string      `group:"Which items:" placeholder:"ITEM,..." help:"Not these items."`
	AnyCategories []string      `group:"Which items:" placeholder:"NAME,..." help:"Only items with one of these categories."`
	AllCategories []string      `group:"Which items:" placeholder:"NAME,..." help:"Only items with all of these categories."`
	NoCategories  []string      `group:"Which items:" placeholder:"NAME,..." help:"Only items with none of these categories."`
	AnyLabels     []string      `group:"Which items:" placeholder:"NAME,..." help:"Only items with one of these labels."`
	AllLabels     []string      `group:"Which items:" placeholder:"NAME,..." help:"Only items with all of these labels."`
	NoLabels      []string      `group:"Which items:" placeholder:"NAME,..." help:"Only items with none of these labels."`
	Range         []numberRange `group:"Which items:" placeholder:"NAME=LEAST..MOST,..." help:"Only items whose number of this name is within, such as price=10..20, or stock=1.. without an end."`
	NamedFilters  []string      `group:"Which items:" placeholder:"NAME,..." help:"Only items that these filters of the server let pass, see serve --filters-file."`
}

// filter is nil if all items may be on the list.
func (f *filterFlags) filter() *pb.ItemFilter {
	if len(f.Allow)+len(f.Deny)+len(f.AnyCategories)+len(f.AllCategories)+len(f.NoCategories)+
		len(f.AnyLabels)+len(f.AllLabels)+len(f.NoLabels)+
		len(f.NamedFilters)+len(f.Range) == 0 {
		return nil
	}
	var ranges []*pb.NumberRange
	for _, r := range f.Range {
		ranges = append(ranges, &pb.NumberRange{Name: r.name, Gte: r.least, Lte: r.most})
	}
	return &pb.ItemFilter{AllowItemIds: f.Allow, DenyItemIds: f.Deny,
		AnyCategories: f.AnyCategories, AllCategories: f.AllCategories,
		NoCategories: f.NoCategories, AnyLabels: f.AnyLabels, AllLabels: f.AllLabels,
		NoLabels: f.NoLabels, NamedFilters: f.NamedFilters, Ranges: ranges}
}

// byNames reports whether only items with some categories, labels or numbers may be listed.
func (f *filterFlags) byNames() bool {
	return len(f.AnyCategories)+len(f.AllCategories)+len(f.AnyLabels)+len(f.AllLabels)+
		len(f.Range) > 0
}

// numberRange is NAME=LEAST..MOST, of which a bound may be missing.
type numberRange struct {
	name        string
	least, most *float64
}

// UnmarshalText reads a range.
func (r *numberRange) UnmarshalText(text []byte) error {
	name, bounds, named := strings.Cut(string(text), "=")
	least, most, two := strings.Cut(bounds, "..")
	if !named || !two || least+most == "" {
		return fmt.Errorf("%q must be NAME=LEAST..MOST, of which one bound may be missing", text)
	}
	r.name = name
	for _, bound := range []struct {
		text string
		to   **float64
	}{{least, &r.least}, {most, &r.most}} {
		if bound.text == "" {
			continue
		}
		x, err := strconv.ParseFloat(bound.text, 64)
		if err != nil {
			return fmt.Errorf("%q of %q must be a number", bound.text, text)
		}
		*bound.to = &x
	}
	return nil
}
