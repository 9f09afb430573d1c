package recommend

import (
	"math"
	"slices"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/filters"
	"github.com/gsimc/gsimc/server/internal/state"
)

// seenRule is a compiled seen policy. It tells which of the seen items must not be returned.
type seenRule struct {
	none   bool         // no item at all
	only   bool         // and no other item is returned
	typed  bool         // only events of kinds count
	kinds  []state.Kind // unless typed is false
	oldest int64        // events before it, in seconds, no longer count
}

// newSeenRule compiles the policy of a request that was received at now. It uses the memory of
// kinds.
func newSeenRule(p *pb.SeenPolicy, now time.Time, kinds []state.Kind) seenRule {
	r := seenRule{oldest: math.MinInt64, kinds: kinds[:0]}
	switch p.GetMode() {
	case pb.SeenPolicy_MODE_INCLUDE:
		r.none = true
	case pb.SeenPolicy_MODE_ONLY:
		r.none, r.only = true, true
	case pb.SeenPolicy_MODE_EXCLUDE_TYPES:
		r.typed = true
		for _, t := range p.GetEventTypes() {
			r.kinds = append(r.kinds, state.KindOf(t))
		}
	}
	if after := p.GetReappearAfter(); after != nil {
		r.oldest = now.Add(-after.AsDuration()).Unix()
	}
	return r
}

// appendTo appends the items of seen that the rule excludes.
func (r *seenRule) appendTo(dst []int32, seen state.SeenList) []int32 {
	if r.none {
		return dst
	}
	for _, i := range seen {
		if i.Time >= r.oldest && (!r.typed || slices.Contains(r.kinds, i.Kind)) {
			dst = append(dst, i.Item)
		}
	}
	return dst
}

// exclude says which items the list may have: it fills the Skip and the Among of l.call. Every
// answer with items that somebody may see goes through here. Left out are the seen items and the
// pins, which are in l.skipped already, what the rows above have, what the filter excludes, and
// what the catalogue does not let anyone see now. The ids of the allow list that the model does not
// know go to l.out.
func (l *list) exclude() {
	if l.row != nil {
		l.skipped = append(l.skipped, l.row.page.above...)
	}
	for _, id := range l.filter.GetDenyItemIds() {
		if i, known := l.ItemIndex(id); known {
			l.skipped = append(l.skipped, i)
		}
	}
	allow := l.filter.GetAllowItemIds()
	l.show(len(allow) > 0 || l.rule.only)
	if len(allow) == 0 {
		if l.rule.only {
			l.allow(nil)
		}
		return
	}
	among := make([]int32, 0, len(allow))
	for _, id := range allow {
		if i, known := l.ItemIndex(id); known {
			among = append(among, i)
		} else {
			l.out.NoteUnknown(id)
		}
	}
	l.allow(among)
}

// show fills l.call by the catalogue, and adds l.skipped. With an allow list, which is the Among of
// the call, the catalogue's answer is a Skip.
func (l *list) show(allowList bool) {
	filter := filters.Of(l.filter, l.named)
	l.Items.Select(&l.selection, &filter, l.now, allowList)
	l.call.Among = l.selection.Among
	l.skipWith(l.selection.Skip)
}

// namedFilters is the field with the names of a request's filters.
const namedFilters = "filter.named_filters"

// findNamed finds the filters that the request names. All stages of the list use these, even if the
// file of filters changes meanwhile.
func (l *list) findNamed() (err error) {
	l.named, err = l.s.Filters.Find(l.named[:0], l.filter.GetNamedFilters(), namedFilters)
	return err
}

// excludeAs is exclude with the filter of other, which has gone through exclude for the same model.
// What other noted stays there.
func (l *list) excludeAs(other *list) {
	l.allow(other.call.Among)
	if skip := other.selection.Skip; skip != nil {
		l.selection.SkipAll(skip)
		l.skipWith(l.selection.Skip)
		return
	}
	l.skipped = append(l.skipped, other.skipped...)
	l.skipWith(nil)
}

// skipWith lets the call skip a set of the catalogue, which may be nil, and the items of l.skipped.
func (l *list) skipWith(set *ranking.Set) {
	if set == nil {
		l.mark()
		l.call.Skip = l.skip
		return
	}
	for _, i := range l.skipped {
		set.Add(i)
	}
	l.call.Skip = set
}

// skipAllBut turns an allow list, without the items in but, into a skip set, for searches that take
// only a skip set.
func skipAllBut(among []int32, but *ranking.Set) *ranking.Set {
	skip := ranking.NewSet(but.Cap())
	skip.Fill()
	for _, i := range among {
		if !but.Has(i) {
			skip.Remove(i)
		}
	}
	return skip
}

// sortedDivisor says when an allow list is long: then looking at the popular items one after the
// other is faster than sorting it.
const sortedDivisor = 64

// popular appends the n most popular items that are not in skip and, unless among is nil, stand in
// it, with their shareOf. among may come back in another order.
func popular(
	m *model.Model, dst []ranking.Scored, n int, skip *ranking.Set, among []int32,
) []ranking.Scored {
	candidates := m.Popular()
	switch {
	case among == nil:
	case len(among) > m.NumItems()/sortedDivisor:
		skip = skipAllBut(among, skip)
	default:
		ranking.Sort(among, m.Popularity)
		candidates = slices.Compact(among)
	}
	return first(dst, n, candidates, skip, func(i int32) float32 { return shareOf(m, i) })
}

// rising appends the first n rising items as popular does, with their Rise. It leaves among.
func rising(
	m *model.Model, dst []ranking.Scored, n int, skip *ranking.Set, among []int32,
) []ranking.Scored {
	if among != nil {
		skip = skipAllBut(among, skip)
	}
	return first(dst, n, m.Rising(), skip, func(i int32) float32 { return float32(m.Rise(i)) })
}

// first appends candidates that are not in skip until dst has n items.
func first(
	dst []ranking.Scored, n int, candidates []int32, skip *ranking.Set, score func(int32) float32,
) []ranking.Scored {
	for _, i := range candidates {
		if len(dst) == n {
			break
		}
		if !skip.Has(i) {
			dst = append(dst, ranking.Scored{Item: i, Score: score(i)})
		}
	}
	return dst
}

// shareOf is the popularity of an item as a share of the training users; above 1 if trends raise it
// beyond them.
func shareOf(m *model.Model, item int32) float32 {
	return float32(m.Popularity(item)) / float32(max(m.NumTrainUsers(), 1))
}
