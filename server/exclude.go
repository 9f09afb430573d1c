package server

import (
	"math"
	"slices"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/ranking"
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

// exclude adds what the filter excludes to sc.skipped, where the seen items are already, and fills
// sc.skip and sc.call. The ids of the allow list that m does not know go to sc.list.
func (sc *scratch) exclude(m *model.Model, f *pb.ItemFilter) {
	for _, id := range f.GetDenyItemIds() {
		if i, known := m.ItemIndex(id); known {
			sc.skipped = append(sc.skipped, i)
		}
	}
	sc.mark()
	sc.call.Skip, sc.call.Among = sc.skip, nil
	allow := f.GetAllowItemIds()
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

// excludeAs is exclude with the filter of other, which has gone through exclude for the same model.
// What other noted stays there.
func (sc *scratch) excludeAs(other *scratch) {
	sc.skipped = append(sc.skipped, other.skipped...)
	sc.mark()
	sc.call.Skip, sc.call.Among = sc.skip, nil
	if other.call.Among != nil {
		// A copy, as the search may reorder it; not nil, even if no id is known.
		sc.allowed = append(slices.Grow(sc.allowed[:0], 1), other.call.Among...)
		sc.call.Among = sc.allowed
	}
}

// skipAllBut turns an allow list into a skip set, for searches that take only a skip set.
func (sc *scratch) skipAllBut(among []int32) *ranking.Set {
	skip := ranking.NewSet(sc.skip.Cap())
	skip.Fill()
	for _, i := range among {
		if !sc.skip.Has(i) {
			skip.Remove(i)
		}
	}
	return skip
}

// popular appends the n most popular items that are not in skip and, unless among is nil, stand in
// it. The score is the share of the training users. among may come back in another order.
func popular(
	m *model.Model, dst []ranking.Scored, n int, skip *ranking.Set, among []int32,
) []ranking.Scored {
	candidates := m.Popular()
	if among != nil {
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
