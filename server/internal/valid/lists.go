package valid

import (
	"fmt"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// Recommend checks a request, received at now.
func Recommend(r *pb.RecommendRequest, now time.Time) error {
	var c checker
	checkRecommend(&c, r, now)
	return c.err()
}

func checkRecommend(c *checker, r *pb.RecommendRequest, now time.Time) {
	checkSubject(c, r, now)
	checkList(c, r)
	checkExplain(c, r)
}

func checkSubject(c *checker, r *pb.RecommendRequest, now time.Time) {
	switch subject := r.GetSubject().(type) {
	case *pb.RecommendRequest_UserId:
		c.check("user_id", badID(subject.UserId))
		if r.GetExtraHistory() != nil {
			checkHistory(c, "extra_history.entries", r.GetExtraHistory(), now)
		}
	case *pb.RecommendRequest_History:
		checkHistory(c, "history.entries", subject.History, now)
		if r.GetExtraHistory() != nil {
			c.check("extra_history", "must be unset with an inline history")
		}
		if r.GetMinUserRevision() != 0 {
			c.check("min_user_revision", "must be 0 with an inline history")
		}
		if len(r.GetSessionToken()) > 0 {
			c.check("session_token", "must be empty with an inline history")
		}
	default:
		c.check("subject", "is required: set user_id or history")
	}
}

// checkList checks what a request says about the list.
func checkList(c *checker, r *pb.RecommendRequest) {
	c.check("page_size", badPage(r.GetPageSize()))
	checkFilter(c, r.GetFilter())
	checkBoosts(c, r.GetBoosts())
	checkIDs(c, "named_boosts", r.GetNamedBoosts(), 0, maxBoosts)
	checkSeen(c, r.GetSeen())
	checkPlacement(c, r)
	c.check("list", badEnum(r.GetList()))
	if x := r.GetExploration(); x != nil {
		checkExploration(c, x)
		if r.GetList() > pb.ListKind_LIST_KIND_WITHOUT_TRENDS {
			c.check("exploration", "must be unset with list "+r.GetList().String())
		}
	}
}

// BatchRecommend checks what holds for all subjects, each of which is checked by itself.
func BatchRecommend(r *pb.BatchRecommendRequest) error {
	var c checker
	n := len(r.GetSubjects())
	c.check("subjects", badCount(n, 1, maxSubjects))
	c.check("page_size", badPage(r.GetPageSize()))
	if n*PageSize(r.GetPageSize()) > maxBatchItems {
		c.check("page_size", fmt.Sprintf("must be at most %d, for %d items in all",
			maxBatchItems/n, maxBatchItems))
	}
	checkFilter(&c, r.GetFilter())
	checkBoosts(&c, r.GetBoosts())
	checkIDs(&c, "named_boosts", r.GetNamedBoosts(), 0, maxBoosts)
	checkSeen(&c, r.GetSeen())
	return c.err()
}

// RecommendPage checks a request, the list that has what all rows share, and those of the rows.
func RecommendPage(
	r *pb.RecommendPageRequest, shared *pb.RecommendRequest, lists []*pb.RecommendRequest,
	now time.Time,
) error {
	const rows = "rows"
	var c checker
	checkSubject(&c, shared, now)
	checkExplain(&c, shared)
	c.check(rows, badCount(len(lists), 1, maxRows))
	items := 0
	for i, list := range lists {
		var of checker
		of.check("name", badText(r.GetRows()[i].GetName(), maxRowName))
		checkList(&of, list)
		c.checkAll(rows, i, &of)
		items += PageSize(max(list.GetPageSize(), 0))
	}
	most, with := maxPageItems, ""
	if r.GetExplain() > 0 {
		most, with = maxExplainedPage, " with explain"
	}
	if items > most {
		c.check(rows, fmt.Sprintf("must have at most %d items together%s, not %d", most, with,
			items))
	}
	return c.err()
}

// SimilarItems checks a request.
func SimilarItems(r *pb.SimilarItemsRequest) error {
	var c checker
	c.check("item_id", badID(r.GetItemId()))
	c.check("page_size", badPage(r.GetPageSize()))
	checkFilter(&c, r.GetFilter())
	return c.err()
}

// ScoreItems checks a request and the list by which it is answered.
func ScoreItems(r *pb.ScoreItemsRequest, list *pb.RecommendRequest, now time.Time) error {
	var c checker
	checkRecommend(&c, list, now)
	most := maxScored
	if r.GetExplain() > 0 {
		most = maxExplainedPage
	}
	checkIDs(&c, "item_ids", r.GetItemIds(), 1, most)
	return c.err()
}

func checkExplain(c *checker, r *pb.RecommendRequest) {
	if n := r.GetExplain(); n < 0 || n > maxExplain {
		c.check("explain", fmt.Sprintf("must be from 0 to %d", maxExplain))
	} else if n > 0 && r.GetPageSize() > maxExplainedPage {
		c.check("page_size", fmt.Sprintf("must be at most %d with explain", maxExplainedPage))
	}
}

func checkExploration(c *checker, x *pb.Exploration) {
	switch strategy := x.GetStrategy().(type) {
	case *pb.Exploration_Thompson_:
		c.check("exploration.thompson.scale", badAmount(strategy.Thompson.Scale))
	case *pb.Exploration_UpperConfidence_:
		c.check("exploration.upper_confidence.beta", badAmount(strategy.UpperConfidence.Beta))
	default:
		c.check("exploration.strategy", "is required: set thompson or upper_confidence")
	}
}

// checkHistory checks the history whose entries are the field list.
func checkHistory(c *checker, list string, h *pb.InlineHistory, now time.Time) {
	entries := h.GetEntries()
	if text := badCount(len(entries), 1, MaxHistory); text != "" {
		c.check(list, text)
		return
	}
	for i, e := range entries {
		c.checkAt(list, i, "item_id", badID(e.GetItemId()))
		c.checkAt(list, i, "event_type", badEventType(e.GetEventType()))
		c.checkAt(list, i, "event_time", badEventTime(e.GetEventTime(), now))
		if e != nil {
			c.checkAt(list, i, "value", badValue(e.Value))
		}
	}
}

func checkSeen(c *checker, p *pb.SeenPolicy) {
	const list = "seen.event_types"
	mode, types := p.GetMode(), p.GetEventTypes()
	if text := badEnum(mode); text != "" {
		c.check("seen.mode", text)
		return
	}
	if mode == pb.SeenPolicy_MODE_EXCLUDE_TYPES {
		c.check(list, badCount(len(types), 1, maxSeenTypes))
	} else if len(types) > 0 {
		c.check(list, "must be empty unless mode is MODE_EXCLUDE_TYPES")
	}
	for i, t := range types {
		text := badEventType(t)
		if t == "" {
			text = "is required"
		}
		c.checkAt(list, i, "", text)
	}
	if after := p.GetReappearAfter(); after != nil {
		switch {
		case mode == pb.SeenPolicy_MODE_INCLUDE, mode == pb.SeenPolicy_MODE_ONLY:
			c.check("seen.reappear_after", "must be unset with "+mode.String())
		case after.CheckValid() != nil || after.AsDuration() <= 0:
			c.check("seen.reappear_after", "must be more than 0")
		}
	}
}

// PageSize is the number of items that a page_size asks for.
func PageSize(requested int32) int {
	if requested == 0 {
		return defaultPageSize
	}
	return min(int(requested), MaxPageSize)
}
