package valid

import (
	"fmt"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

const (
	fieldDiversity    = "diversity"
	fieldPinned       = "pinned"
	mustBeUnsetWithIt = "must be unset with "
)

// checkPlacement checks diversity and pins, and what does not go with them.
func checkPlacement(c *checker, r *pb.RecommendRequest) {
	if d := r.GetDiversity(); d != nil {
		checkMost(c, "diversity.max_per_category", d.GetMaxPerCategory())
		checkMost(c, "diversity.max_new_items", d.GetMaxNewItems())
		if l := d.Lambda; l != nil && !(*l >= 0 && *l <= 1) { // false for NaN too
			c.check("diversity.lambda", "must be a number from 0 to 1")
		}
		checkShares(c, d.GetShares())
		if r.GetPageSize() > maxDiverse {
			c.check("page_size", fmt.Sprintf("must be at most %d with diversity", maxDiverse))
		}
		if r.GetExploration() != nil {
			c.check("exploration", mustBeUnsetWithIt+fieldDiversity)
		}
		checkUnpaged(c, r, fieldDiversity)
	}
	if len(r.GetPinned()) > 0 {
		checkPins(c, r)
	}
}

// checkShares checks how many items of sets a list has.
func checkShares(c *checker, shares []*pb.Share) {
	const list = "diversity.shares"
	if text := badCount(len(shares), 0, maxShares); text != "" {
		c.check(list, text)
		return
	}
	for i, s := range shares {
		var of checker
		checkSet(&of, s.GetFilter())
		checkMost(&of, "at_least", s.GetAtLeast())
		if s.AtMost != nil {
			checkMost(&of, "at_most", s.GetAtMost())
		}
		if s.GetFilter() == nil {
			of.check("filter", "is required")
		}
		c.checkAll(list, i, &of)
		if s.AtMost != nil && s.GetAtMost() < s.GetAtLeast() {
			c.checkAt(list, i, "", "has at_most below at_least")
		}
	}
}

// checkMost checks the most items of a kind.
func checkMost(c *checker, field string, n int32) {
	if n < 0 || n > maxOfKind {
		c.check(field, fmt.Sprintf("must be from 0 to %d", maxOfKind))
	}
}

// checkUnpaged checks that a request with a field is for one list.
func checkUnpaged(c *checker, r *pb.RecommendRequest, field string) {
	if r.GetPaged() {
		c.check("paged", mustBeUnsetWithIt+field)
	}
	if r.GetPageToken() != "" {
		c.check("page_token", mustBeUnsetWithIt+field)
	}
}

func checkPins(c *checker, r *pb.RecommendRequest) {
	if text := badCount(len(r.GetPinned()), 0, maxPins); text != "" {
		c.check(fieldPinned, text)
		return
	}
	items, places := map[string]bool{}, map[int32]bool{}
	size := int32(PageSize(max(r.GetPageSize(), 0)))
	for i, p := range r.GetPinned() {
		id, at := p.GetItemId(), p.GetPosition()
		c.checkAt(fieldPinned, i, "item_id", badID(id))
		if at < 1 || at > size {
			c.checkAt(fieldPinned, i, "position", fmt.Sprintf("must be from 1 to %d", size))
		}
		if items[id] {
			c.checkAt(fieldPinned, i, "item_id", "is there twice")
		}
		if places[at] {
			c.checkAt(fieldPinned, i, "position", "is there twice")
		}
		items[id], places[at] = true, true
	}
	if r.GetPacked() {
		c.check("packed", mustBeUnsetWithIt+fieldPinned)
	}
	checkUnpaged(c, r, fieldPinned)
}
