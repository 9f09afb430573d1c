package recommend

import (
	"math"
	"slices"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/catalogue"
	"github.com/gsimc/gsimc/server/internal/state"
)

// seenRule is a compiled seen policy. It tells which of the seen items must not be returned.
type seenRule struct {
	none   bool         // no item at all
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

// exclude says which items the list may have: it fills the Skip and the Among of sc.call. Every
// answer with items that somebody may see goes through here. Left out are the seen items, which are
// in sc.skipped already, what the filter excludes, and what the catalogue does not let anyone see
// now. The ids of the allow list that m does not know go to sc.list.
func (sc *scratch) exclude(m *model.Model, f *pb.ItemFilter, now time.Time) {
	for _, id := range f.GetDenyItemIds() {
		if i, known := m.ItemIndex(id); known {
			sc.skipped = append(sc.skipped, i)
		}
	}
	allow := f.GetAllowItemIds()
	sc.show(f, now, len(allow) > 0)
	if len(allow) == 0 {
		return
	}
	sc.allowed = slices.Grow(sc.allowed[:0], len(allow)) // not nil, even if no id is known
	for _, id := range allow {
		if i, known := m.ItemIndex(id); known {
			sc.allowed = append(sc.allowed, i)
		} else {
			sc.list.NoteUnknown(id)
		}
	}
	sc.call.Among = sc.allowed
}

// show fills sc.call by the catalogue, and adds sc.skipped. With an allow list, which is the Among
// of the call, the catalogue's answer is a Skip.
func (sc *scratch) show(f *pb.ItemFilter, now time.Time, allowList bool) {
	filter := sc.catalogueFilter(f)
	sc.items.Select(&sc.selection, &filter, now, allowList)
	sc.call.Among = sc.selection.Among
	if skip := sc.selection.Skip; skip != nil {
		sc.skipHere(skip)
		return
	}
	sc.mark()
	sc.call.Skip = sc.skip
}

// findNamed finds the filters that a request names: sc.named. All stages of the request use these,
// even if the file of filters changes meanwhile.
func (s *Service) findNamed(f *pb.ItemFilter, sc *scratch) (err error) {
	sc.named, err = s.Filters.Find(sc.named[:0], f.GetNamedFilters())
	return err
}

// catalogueFilter is the part of a filter that the catalogue evaluates, with sc.named.
func (sc *scratch) catalogueFilter(f *pb.ItemFilter) catalogue.Filter {
	return catalogue.Filter{
		AnyCategories: f.GetAnyCategories(), AllCategories: f.GetAllCategories(),
		NoCategories: f.GetNoCategories(), AnyLabels: f.GetAnyLabels(),
		AllLabels: f.GetAllLabels(), NoLabels: f.GetNoLabels(), And: sc.named,
	}
}

// excludeAs is exclude with the filter of other, which has gone through exclude for the same model.
// What other noted stays there.
func (sc *scratch) excludeAs(other *scratch) {
	sc.call.Among = nil
	if other.call.Among != nil {
		// A copy, as the search may reorder it; not nil, even if no id is known.
		sc.allowed = append(slices.Grow(sc.allowed[:0], 1), other.call.Among...)
		sc.call.Among = sc.allowed
	}
	if skip := other.selection.Skip; skip != nil {
		sc.selection.SkipAll(skip)
		sc.skipHere(sc.selection.Skip)
		return
	}
	sc.skipped = append(sc.skipped, other.skipped...)
	sc.mark()
	sc.call.Skip = sc.skip
}

// skipHere lets the call skip a set of the catalogue and the items of sc.skipped.
func (sc *scratch) skipHere(skip *ranking.Set) {
	for _, i := range sc.skipped {
		skip.Add(i)
	}
	sc.call.Skip = skip
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
// it. The score is the share of the training users. among may come back in another order.
func popular(
	m *model.Model, dst []ranking.Scored, n int, skip *ranking.Set, among []int32,
) []ranking.Scored {
	candidates := m.Popular()
	switch {
	case among == nil:
	case len(among) > m.NumItems()/sortedDivisor:
		skip = skipAllBut(among, skip)
	default:
		ranking.Sort(among, m.Degree)
		candidates = slices.Compact(among)
	}
	trainUsers := float32(max(m.NumTrainUsers(), 1))
	for _, i := range candidates {
		if len(dst) == n {
			break
		}
		if !skip.Has(i) {
			dst = append(dst, ranking.Scored{Item: i, Score: float32(m.Degree(i)) / trainUsers})
		}
	}
	return dst
}
