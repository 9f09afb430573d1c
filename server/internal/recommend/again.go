package recommend

import (
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/model/again"
	"github.com/gsimc/gsimc/server/internal/state"
)

// whole reports whether the list needs the events of the subject, and not its state alone.
func (l *list) whole() bool {
	because := l.req.GetList() == pb.ListKind_LIST_KIND_BECAUSE && l.row == nil
	return l.tells || because || l.req.GetExplain() > 0 || l.rule.only ||
		l.rule.none && l.byTaste() && !l.again().None()
}

// byTaste reports whether the list goes by the whole score of a usable history.
func (l *list) byTaste() bool {
	return l.req.GetList() <= pb.ListKind_LIST_KIND_WITHOUT_TRENDS
}

func (l *list) again() *again.Spec {
	spec := l.Spec().Again
	return &spec
}

// readOwn finds the items of the history of u, if the list may have them, and adds to the query
// what the model knows about coming back to them.
func (l *list) readOwn(u *state.User) {
	if !l.rule.none || u.Tail == nil {
		return
	}
	spec := l.again()
	l.own = spec.Of(u.Tail.Events, l.at)
	if l.byTaste() {
		l.query.Boosts = spec.AddTo(l.query.Boosts, l.own)
	}
	if l.rule.only && !l.Personal() { // such a state has no events
		for _, s := range u.Seen {
			l.own = append(l.own, again.Own{Item: s.Item})
		}
	}
}

// allow lets the list have the items among, or all if that is nil, as far as the policy lets it. It
// does not keep among. The items are the list's own, as the search may reorder them.
func (l *list) allow(among []int32) {
	l.call.Among = nil
	if among == nil && !l.rule.only {
		return
	}
	l.allowed = slices.Grow(l.allowed[:0], 1) // not nil, even if there are none
	if !l.rule.only {
		l.allowed = append(l.allowed, among...)
	} else {
		l.allowOwn(among)
	}
	l.call.Among = l.allowed
}

func (l *list) allowOwn(among []int32) {
	mine := make(map[int32]bool, len(l.own))
	for i := range l.own {
		mine[l.own[i].Item] = true
		if among == nil {
			l.allowed = append(l.allowed, l.own[i].Item)
		}
	}
	for _, i := range among {
		if mine[i] {
			l.allowed = append(l.allowed, i)
		}
	}
}

// againOf is the part of a score that is there because the user had the item; nil if none is.
func (l *list) againOf(item int32) *pb.Again {
	at := slices.IndexFunc(l.own, func(o again.Own) bool { return o.Item == item })
	if at < 0 {
		return nil
	}
	spec, o := l.again(), &l.own[at]
	if spec.None() {
		return nil
	}
	part := &pb.Again{Events: int32(o.Visits), Contribution: spec.Term(o)}
	if l.timed {
		part.EventTime = timestamppb.New(time.Unix(o.Last, 0))
	}
	return part
}
