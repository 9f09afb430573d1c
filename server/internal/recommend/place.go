package recommend

import (
	"context"
	"slices"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/catalogue"
	"github.com/gsimc/gsimc/server/internal/diverse"
	"github.com/gsimc/gsimc/server/internal/valid"
)

const (
	poolFactor = 5 // items of a pool for each item of the list
	leastPool  = 100
)

// pin is an item at a place.
type pin struct {
	item     int32
	position int // the first is 0
}

// pin finds the pinned items that may be shown: sc.pins. They join the items that the search skips,
// before exclude.
func (sc *scratch) pin(m *model.Model, req *pb.RecommendRequest, now time.Time) {
	if len(req.GetPinned()) == 0 {
		return
	}
	f, filter := req.GetFilter(), sc.catalogueFilter(req.GetFilter())
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
func (s *Service) rankPlain(
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
	rule := diverse.Rule{MaxPerCategory: int(d.GetMaxPerCategory()), Lambda: valid.Value(d.Lambda)}
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
