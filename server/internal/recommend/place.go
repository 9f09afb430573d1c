package recommend

import (
	"context"
	"fmt"
	"math"
	"slices"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/server/internal/catalogue"
	"github.com/gsimc/gsimc/server/internal/diverse"
	"github.com/gsimc/gsimc/server/internal/filters"
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

// pin finds the pinned items that may be shown: l.pins. They join the items that the search skips,
// before exclude.
func (l *list) pin() {
	if len(l.req.GetPinned()) == 0 {
		return
	}
	filter := filters.Of(l.filter, l.named)
	var may catalogue.Selection
	l.Items.Select(&may, &filter, l.now, true)
	for _, p := range l.req.GetPinned() {
		id := p.GetItemId()
		i, known := l.ItemIndex(id)
		if !known {
			l.out.NoteUnknown(id)
			continue
		}
		allow := l.filter.GetAllowItemIds()
		if may.Skip.Has(i) || slices.Contains(l.filter.GetDenyItemIds(), id) ||
			len(allow) > 0 && !slices.Contains(allow, id) {
			continue
		}
		l.pins = append(l.pins, pin{i, int(p.GetPosition()) - 1})
		l.skipped = append(l.skipped, i)
	}
	slices.SortFunc(l.pins, func(a, b pin) int { return a.position - b.position })
}

// rankPlain makes a list of one page, diverse and with pins if the request wants that.
func (l *list) rankPlain(ctx context.Context, size int) error {
	rest := max(size-len(l.pins), 0)
	n, diverse := max(rest, 1), l.req.GetDiversity() != nil
	if diverse {
		n = max(poolFactor*rest, leastPool)
	}
	if err := l.rank(ctx, n); err != nil {
		return err
	}
	if diverse {
		shares, err := l.shares()
		if err != nil {
			return err
		}
		if len(shares) > 0 {
			if err := l.reserve(ctx, shares, n, rest); err != nil {
				return err
			}
		}
		l.diversify(rest, shares)
	}
	l.out.Top = l.out.Top[:min(len(l.out.Top), rest)]
	l.placePins()
	return nil
}

// shares are those of the request.
func (l *list) shares() (shares []share, err error) {
	for i, s := range l.req.GetDiversity().GetShares() {
		named, err := l.s.Filters.Find(nil, s.GetFilter().GetNamedFilters(),
			fmt.Sprintf("diversity.shares[%d].%s", i, namedFilters))
		if err != nil {
			return nil, err
		}
		filter, most := filters.Of(s.GetFilter(), named), math.MaxInt
		if s.AtMost != nil {
			most = int(s.GetAtMost())
		}
		set := l.Items.Passing(&filter)
		shares = append(shares, share{set,
			diverse.Share{Has: set.Has, Least: int(s.GetAtLeast()), Most: most}})
	}
	return shares, nil
}

// share is one with its set.
type share struct {
	set *ranking.Set
	diverse.Share
}

// countOf is the number of some items that are in a set.
func countOf(items []ranking.Scored, has func(item int32) bool) (n int) {
	for _, scored := range items {
		if has(scored.Item) {
			n++
		}
	}
	return n
}

// reserve adds items to a pool of n that was ranked, for a list of size: the best ones of shares,
// if the pool has less than they need, and the best ones that no share bounds from above, if these
// may be needed. Where other bounds may leave some of a share out, it needs a pool of its own.
func (l *list) reserve(ctx context.Context, shares []share, n, size int) error {
	pool, d := slices.Clone(l.out.Top), l.req.GetDiversity()
	bounded := d.GetMaxPerCategory() > 0 || d.GetMaxNewItems() > 0 || len(shares) > 1
	full, more := ranking.NewSet(l.NumItems()), []ranking.Scored(nil)
	for _, s := range shares {
		least := min(s.Least, size)
		if bounded && least > 0 {
			least = max(least, n)
		}
		if countOf(pool, s.Has) < least {
			s.set.Invert()
			found, err := l.rankWithout(ctx, s.set, least)
			if err != nil {
				return err
			}
			s.set.Invert()
			more = append(more, found...)
		}
		if s.Most < size {
			full.AddAll(s.set)
		}
	}
	others := size
	if bounded {
		others = n
	}
	if len(pool) == n && n-countOf(pool, full.Has) < others {
		found, err := l.rankWithout(ctx, full, others)
		if err != nil {
			return err
		}
		more = append(more, found...)
	}
	there := ranking.NewSet(l.NumItems())
	for _, scored := range pool {
		there.Add(scored.Item)
	}
	slices.SortFunc(more, ranking.Compare)
	for _, scored := range more { // they come after all of the pool
		if !there.Has(scored.Item) {
			there.Add(scored.Item)
			pool = append(pool, scored)
		}
	}
	l.out.Top = pool
	return nil
}

// rankWithout ranks n items that are not in a set.
func (l *list) rankWithout(
	ctx context.Context, without *ranking.Set, n int,
) ([]ranking.Scored, error) {
	skip := l.call.Skip
	defer func() { l.call.Skip = skip }()
	l.call.Skip = ranking.NewSet(l.NumItems())
	l.call.Skip.AddAll(without)
	l.call.Skip.AddAll(skip)
	err := l.rank(ctx, n)
	return l.out.Top, err
}

// diversify chooses n items of the pool that was ranked.
func (l *list) diversify(n int, shares []share) {
	pool, d := l.out.Top, l.req.GetDiversity()
	rule := diverse.Rule{MaxPerCategory: int(d.GetMaxPerCategory()),
		Lambda: valid.Value(d.Lambda), MaxNew: int(d.GetMaxNewItems()),
		New: func(item int32) bool { return !l.InBase(item) }}
	for _, s := range shares {
		rule.Shares = append(rule.Shares, s.Share)
	}
	var categories [][]uint32
	if rule.MaxPerCategory > 0 {
		categories = l.Items.Categories(len(pool),
			func(i int) string { return l.ItemID(pool[i].Item) })
	}
	l.out.Top = rule.Select(make([]ranking.Scored, 0, n), pool, n, categories, l.Alike)
	l.unmet = slices.ContainsFunc(shares,
		func(s share) bool { return countOf(l.out.Top, s.Has) < s.Least })
}

// placePins puts the pins into the list: each at its position, or as close to it as can be.
func (l *list) placePins() {
	if len(l.pins) == 0 {
		return
	}
	out, rest, pins := &l.out, l.out.Top, l.pins
	out.Top = make([]ranking.Scored, 0, len(rest)+len(pins))
	for len(rest) > 0 || len(pins) > 0 {
		if len(pins) > 0 && (pins[0].position <= len(out.Top) || len(rest) == 0) {
			out.Top = append(out.Top, ranking.Scored{Item: pins[0].item,
				Score: l.scoreOf(pins[0].item)})
			out.Pinned, pins = append(out.Pinned, true), pins[1:]
			continue
		}
		out.Top, out.Pinned, rest = append(out.Top, rest[0]), append(out.Pinned, false), rest[1:]
	}
}

// scoreOf is the score that an item has in the list.
func (l *list) scoreOf(item int32) float32 {
	switch {
	case l.personal() || l.out.Source == pb.ResultSource_RESULT_SOURCE_SIMILAR:
		return l.Score(item, l.query)
	case l.ruled != nil:
		return l.standing(item) + float32(l.unit*l.ruled.Spreads(item))
	}
	return l.standing(item)
}

// standing is the score of an item, without rules, on a list that is not personal.
func (l *list) standing(item int32) float32 {
	if l.out.Source == pb.ResultSource_RESULT_SOURCE_TRENDING {
		return float32(l.Rise(item))
	}
	return shareOf(l.Model, item)
}
