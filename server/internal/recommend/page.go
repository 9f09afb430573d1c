package recommend

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/server/internal/arms"
	"github.com/gsimc/gsimc/server/internal/filters"
	"github.com/gsimc/gsimc/server/internal/stage"
	"github.com/gsimc/gsimc/server/internal/valid"
)

// RecommendPage implements RecommenderService.
func (s *Service) RecommendPage(
	ctx context.Context, req *pb.RecommendPageRequest,
) (*pb.RecommendPageResponse, error) {
	p := &page{s: s, now: s.Now(), byWorth: req.GetByWorth(), judged: math.MaxInt}
	shared, lists := sharedOf(req), []*pb.RecommendRequest(nil)
	for i, of := range req.GetRows() {
		r := &row{page: p, at: i, name: of.GetName(), req: listOfRow(req, of)}
		p.rows, lists = append(p.rows, r), append(lists, r.req)
		p.judged = min(p.judged, valid.PageSize(of.GetPageSize()))
	}
	if err := valid.RecommendPage(req, shared, lists, p.now); err != nil {
		return nil, err
	}
	p.Lease = s.Arms.Of(req.GetUserId()).Acquire()
	defer p.Release()
	p.judge = s.take(p.Lease, shared, p.now)
	resp, err := p.answer(ctx)
	p.give()
	return resp, err
}

// A page is a RecommendPage on its way: rows, the first of which have their places.
type page struct {
	arms.Lease
	s       *Service
	now     time.Time
	byWorth bool
	judged  int   // how many items of each row make its worth: the page size of the shortest
	judge   *list // of no row, with seen items; it knows the worth of rows
	rows    []*row
	above   []int32 // items of the rows that have their places
}

// row is a row on its way to its place.
type row struct {
	page  *page
	at    int // its place in the request
	name  string
	req   *pb.RecommendRequest
	cause []int32 // the item of the history that it is about; empty: none
	made  *list   // nil: to be made
	after int     // how many items were above it when it was made
	worth float64
}

// sharedOf is the list that the rows of a page share, with seen items.
func sharedOf(req *pb.RecommendPageRequest) *pb.RecommendRequest {
	list := &pb.RecommendRequest{
		ExtraHistory: req.GetExtraHistory(), MinUserRevision: req.GetMinUserRevision(),
		Explain: req.GetExplain(), SessionToken: req.GetSessionToken(),
		Attribute: req.GetAttribute(), Seen: &pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_INCLUDE},
	}
	switch subject := req.GetSubject().(type) {
	case *pb.RecommendPageRequest_UserId:
		list.Subject = &pb.RecommendRequest_UserId{UserId: subject.UserId}
	case *pb.RecommendPageRequest_History:
		list.Subject = &pb.RecommendRequest_History{History: subject.History}
	}
	return list
}

// listOfRow is the list that a row is.
func listOfRow(req *pb.RecommendPageRequest, of *pb.PageRow) *pb.RecommendRequest {
	list := sharedOf(req)
	list.PageSize, list.Filter, list.Seen = of.GetPageSize(), of.GetFilter(), of.GetSeen()
	list.Diversity, list.List = of.GetDiversity(), of.GetList()
	list.Boosts, list.NamedBoosts = of.GetBoosts(), of.GetNamedBoosts()
	return list
}

// answer gives each row its place and takes its answer.
func (p *page) answer(ctx context.Context) (*pb.RecommendPageResponse, error) {
	p.judge.noteUnknown()
	if err := p.study(ctx); err != nil {
		return nil, err
	}
	resp := &pb.RecommendPageResponse{UnknownItemIds: slices.Clone(p.judge.out.Unknown())}
	for left := slices.Clone(p.rows); len(left) > 0; {
		at, err := p.next(ctx, left)
		if err != nil {
			return nil, err
		}
		resp.Rows = append(resp.Rows, p.place(ctx, left[at]))
		left = slices.Delete(left, at, at+1)
	}
	return resp, nil
}

// study reads the history once, if rows depend on more of it than each reads for itself: those
// because of an item are about one item after the other.
func (p *page) study(ctx context.Context) error {
	var because []*row
	for _, r := range p.rows {
		if r.req.GetList() == pb.ListKind_LIST_KIND_BECAUSE {
			because = append(because, r)
		}
	}
	if !p.byWorth && len(because) == 0 {
		return nil
	}
	p.judge.tells = len(because) > 0
	if err := p.judge.findSubject(ctx); err != nil {
		return err
	}
	p.byWorth = p.byWorth && p.judge.usable
	for i, item := range p.judge.liked(len(because)) {
		because[i].cause = []int32{item}
	}
	return nil
}

// next makes the rows that are left, as far as the next one depends on them, and tells which one
// that is.
func (p *page) next(ctx context.Context, left []*row) (int, error) {
	if !p.byWorth {
		return 0, left[0].fill(ctx)
	}
	best := 0
	for i, r := range left {
		if err := r.fill(ctx); err != nil {
			return 0, err
		}
		if r.worth > left[best].worth {
			best = i
		}
	}
	return best, nil
}

// fill makes the list of the row. A name that the server does not know is one of a field of the
// row.
func (r *row) fill(ctx context.Context) error {
	err := r.make(ctx)
	if unknown, is := errors.AsType[*filters.UnknownError](err); is {
		unknown.Field = fmt.Sprintf("rows[%d].%s", r.at, unknown.Field)
	}
	return err
}

// make makes the list without what the rows above it have, unless it is made so.
func (r *row) make(ctx context.Context) error {
	if r.made != nil {
		if !r.touched() {
			return nil
		}
		r.made.give()
	}
	l := r.page.s.take(r.page.Lease, r.req, r.page.now)
	r.made, r.after = l, len(r.page.above)
	l.watch, l.row = stage.Start(ctx), r
	if err := l.prepare(ctx); err != nil {
		return err
	}
	if err := l.rankPlain(ctx, valid.PageSize(r.req.GetPageSize())); err != nil {
		return err
	}
	l.ended(ctx, stage.TopN)
	r.worth = r.page.worthOf(l.out.Top)
	return nil
}

// touched reports whether the list may be another one by what came above it since it was made. A
// diverse list depends on items that are not on it.
func (r *row) touched() bool {
	since := r.page.above[r.after:]
	return len(since) > 0 && r.req.GetDiversity() != nil ||
		slices.ContainsFunc(r.made.out.Top,
			func(scored ranking.Scored) bool { return slices.Contains(since, scored.Item) })
}

// worthOf is the mean of the scores that the first items of a row have on the personal list of the
// subject.
func (p *page) worthOf(items []ranking.Scored) float64 {
	if !p.byWorth || len(items) == 0 {
		return math.Inf(-1)
	}
	items = items[:min(len(items), p.judged)]
	sum := 0.0
	for _, scored := range items {
		sum += float64(p.judge.Score(scored.Item, p.judge.query))
	}
	return sum / float64(len(items))
}

// place gives a row the next place.
func (p *page) place(ctx context.Context, r *row) *pb.PageList {
	l := r.made
	l.watch = stage.Start(ctx)
	l.finish(valid.PageSize(r.req.GetPageSize()))
	l.attribute()
	placed := &pb.PageList{Name: r.name, Row: int32(r.at), List: l.out.Message()}
	if p.byWorth && len(l.out.Top) > 0 {
		placed.Worth = proto.Float64(r.worth)
	}
	for _, scored := range l.out.Top {
		p.above = append(p.above, scored.Item)
	}
	l.ended(ctx, stage.Encode)
	return placed
}

// give gives the lists back.
func (p *page) give() {
	p.judge.give()
	for _, r := range p.rows {
		if r.made != nil {
			r.made.give()
		}
	}
}
