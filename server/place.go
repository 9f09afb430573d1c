package server

import (
	"context"
	"fmt"
	"slices"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/ranking"
	"github.com/gsimc/gsimc/server/internal/catalogue"
	"github.com/gsimc/gsimc/server/internal/diverse"
)

const (
	maxPins           = 100
	maxDiverse        = 100 // items of a diverse list
	poolFactor        = 5   // items of a pool for each item of the list
	leastPool         = 100
	maxOfCategory     = 1000
	fieldDiversity    = "diversity"
	fieldPinned       = "pinned"
	mustBeUnsetWithIt = "must be unset with "
)

// pin is an item at a place.
type pin struct {
	item     int32
	position int // the first is 0
}

// checkPlacement checks diversity and pins, and what does not go with them.
func checkPlacement(c *checker, r *pb.RecommendRequest) {
	if d := r.GetDiversity(); d != nil {
		if n := d.GetMaxPerCategory(); n < 0 || n > maxOfCategory {
			c.check("diversity.max_per_category",
				fmt.Sprintf("must be from 0 to %d", maxOfCategory))
		}
		if l := d.Lambda; l != nil && !(*l >= 0 && *l <= 1) { // false for NaN too
			c.check("diversity.lambda", "must be a number from 0 to 1")
		}
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
	size := int32(pageSize(max(r.GetPageSize(), 0)))
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

// pin finds the pinned items that may be shown: sc.pins. They join the items that the search skips,
// before exclude.
func (sc *scratch) pin(m *model.Model, req *pb.RecommendRequest, now time.Time) {
	if len(req.GetPinned()) == 0 {
		return
	}
	f, filter := req.GetFilter(), catalogueFilter(req.GetFilter())
	var may catalogue.Selection
	sc.items.Select(&may, &filter, now, true)
	for _, p := range req.GetPinned() {
		id := p.GetItemId()
		i, known := m.ItemIndex(id)
		if !known {
			sc.list.NoteUnknown(id)
			continue
		}
		allow := f.GetAllowItemIds()
		if may.Skip.Has(i) || slices.Contains(f.GetDenyItemIds(), id) ||
			len(allow) > 0 && !slices.Contains(allow, id) {
			continue
		}
		sc.pins = append(sc.pins, pin{i, int(p.GetPosition()) - 1})
		sc.skipped = append(sc.skipped, i)
	}
	slices.SortFunc(sc.pins, func(a, b pin) int { return a.position - b.position })
}

// rankPlain makes a list of one page, diverse and with pins if the request wants that.
func (s recommender) rankPlain(
	ctx context.Context, m *model.Model, req *pb.RecommendRequest, subj subject, size int,
	sc *scratch,
) error {
	rest := max(size-len(sc.pins), 0)
	n, d := max(rest, 1), req.GetDiversity()
	if d != nil {
		n = max(poolFactor*rest, leastPool)
	}
	if err := s.rank(ctx, m, req.GetExploration(), subj, n, sc); err != nil {
		return err
	}
	l := &sc.list
	if d != nil {
		l.Top = sc.diversify(m, d, rest)
	}
	l.Top = l.Top[:min(len(l.Top), rest)]
	sc.placePins(m)
	return nil
}

// diversify chooses n items of the pool in sc.list.
func (sc *scratch) diversify(m *model.Model, d *pb.Diversity, n int) []ranking.Scored {
	pool := sc.list.Top
	rule := diverse.Rule{MaxPerCategory: int(d.GetMaxPerCategory()), Lambda: orOne(d.Lambda)}
	var categories [][]uint32
	if rule.MaxPerCategory > 0 {
		categories = sc.items.Categories(len(pool),
			func(i int) string { return m.ItemID(pool[i].Item) })
	}
	return rule.Select(make([]ranking.Scored, 0, n), pool, n, categories, m.Alike)
}

// placePins puts the pins into the list: each at its position, or as close to it as can be.
func (sc *scratch) placePins(m *model.Model) {
	l := &sc.list
	if len(sc.pins) == 0 {
		return
	}
	rest := l.Top
	l.Top = make([]ranking.Scored, 0, len(rest)+len(sc.pins))
	pins := sc.pins
	for len(rest) > 0 || len(pins) > 0 {
		if len(pins) > 0 && (pins[0].position <= len(l.Top) || len(rest) == 0) {
			l.Top = append(l.Top, ranking.Scored{Item: pins[0].item,
				Score: sc.scoreOf(m, pins[0].item)})
			l.Pinned, pins = append(l.Pinned, true), pins[1:]
			continue
		}
		l.Top, l.Pinned, rest = append(l.Top, rest[0]), append(l.Pinned, false), rest[1:]
	}
}

// scoreOf is the score that an item has in sc.list.
func (sc *scratch) scoreOf(m *model.Model, item int32) float32 {
	if sc.list.Source == pb.ResultSource_RESULT_SOURCE_POPULAR {
		return float32(m.Degree(item)) / float32(max(m.NumTrainUsers(), 1))
	}
	return m.Score(item, sc.query)
}
