package valid

import (
	"fmt"
	"math"
	"slices"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/store"
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
	checkRanges(c, f.GetRanges())
	checkNear(c, f.GetNear())
}

// checkNear checks the circle of a filter, which may be nil.
func checkNear(c *checker, near *pb.Near) {
	if near == nil {
		return
	}
	c.check("filter.near.latitude", badDegrees(near.Latitude, 90))
	c.check("filter.near.longitude", badDegrees(near.Longitude, 180))
	if x := near.GetRadiusKm(); !(x >= minRadiusKm && x <= maxRadiusKm) {
		c.check("filter.near.radius_km",
			fmt.Sprintf("must be from %g to %d", minRadiusKm, maxRadiusKm))
	}
	for at, name := range []string{near.GetLatitudeNumber(), near.GetLongitudeNumber()} {
		if name != "" && !event.ValidNumberName(name) {
			c.check("filter.near."+[...]string{"latitude_number", "longitude_number"}[at],
				"must match "+event.NumberSpelling)
		}
	}
}

// badDegrees says what is wrong with a required angle; empty: nothing.
func badDegrees(x *float64, most float64) string {
	if x == nil {
		return "is required"
	}
	if !(*x >= -most && *x <= most) {
		return fmt.Sprintf("must be from %g to %g", -most, most)
	}
	return ""
}

// checkRanges checks the ranges of a filter.
func checkRanges(c *checker, ranges []*pb.NumberRange) {
	const list = "filter.ranges"
	if text := badCount(len(ranges), 0, maxRanges); text != "" {
		c.check(list, text)
		return
	}
	for i, r := range ranges {
		if !event.ValidNumberName(r.GetName()) {
			c.checkAt(list, i, "name", "must match "+event.NumberSpelling)
		}
		bounds := []*float64{r.Gt, r.Gte, r.Lt, r.Lte}
		for at, field := range []string{"gt", "gte", "lt", "lte"} {
			if bounds[at] != nil && math.IsNaN(*bounds[at]) {
				c.checkAt(list, i, field, "must be a number")
			}
		}
		if r.Gt != nil && r.Gte != nil {
			c.checkAt(list, i, "gte", "must not stand beside gt")
		}
		if r.Lt != nil && r.Lte != nil {
			c.checkAt(list, i, "lte", "must not stand beside lt")
		}
		for at, most := range bounds[2:] {
			for of, least := range bounds[:2] {
				if least != nil && most != nil && *least > *most {
					c.checkAt(list, i, [...]string{"lt", "lte"}[at], fmt.Sprintf(
						"must not be below %s, which is %g", [...]string{"gt", "gte"}[of], *least))
				}
			}
		}
		c.checkAt(list, i, "any_of", badCount(len(r.GetAnyOf()), 0, maxAnyOf))
		if slices.ContainsFunc(r.GetAnyOf(), math.IsNaN) {
			c.checkAt(list, i, "any_of", "must be numbers")
		}
	}
}

// checkBoosts checks the boosts of a request.
func checkBoosts(c *checker, boosts []*pb.Boost) {
	const list = "boosts"
	if text := badCount(len(boosts), 0, maxBoosts); text != "" {
		c.check(list, text)
		return
	}
	for i, b := range boosts {
		var of checker
		checkBoost(&of, b)
		c.checkAll(list, i, &of)
	}
}

// Boost checks a boost that is not of a request.
func Boost(b *pb.Boost) error {
	var c checker
	checkBoost(&c, b)
	return c.err()
}

func checkBoost(c *checker, b *pb.Boost) {
	c.check("name", badText(b.GetName(), maxBoostName))
	if w := b.GetWeight(); !(w >= -maxWeight && w <= maxWeight) || w == 0 {
		c.check("weight", fmt.Sprintf("must be from -%d to %d, and not 0", maxWeight, maxWeight))
	}
	checkSet(c, b.GetFilter())
	by := b.GetBy()
	if by == nil {
		return
	}
	if !event.ValidNumberName(by.GetNumber()) {
		c.check("by.number", "must match "+event.NumberSpelling)
	}
	c.check("by.shape", badEnum(by.GetShape()))
	if !store.GoodNumber(by.GetOrigin()) {
		c.check("by.origin", "must be finite")
	}
	if scale := by.GetScale(); !(scale > 0) || !store.GoodNumber(scale) {
		c.check("by.scale", "must be above 0, and finite")
	}
}

// checkSet checks a filter for a set of items.
func checkSet(c *checker, f *pb.ItemFilter) {
	if len(f.GetAllowItemIds())+len(f.GetDenyItemIds()) > 0 {
		c.check("filter", "must have neither allow_item_ids nor deny_item_ids")
	}
	checkFilter(c, f)
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
