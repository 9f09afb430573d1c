package recommend

import (
	"context"
	"slices"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/valid"
)

// SimilarItems implements RecommenderService.
func (s *Service) SimilarItems(
	ctx context.Context, req *pb.SimilarItemsRequest,
) (*pb.SimilarItemsResponse, error) {
	if err := valid.SimilarItems(req); err != nil {
		return nil, err
	}
	m := s.Arms.Main().Acquire()
	defer m.Release()
	l := s.take(m, &pb.RecommendRequest{List: pb.ListKind_LIST_KIND_WITHOUT_TRENDS}, s.Now())
	l.filter = req.GetFilter()
	resp, err := l.similar(ctx, req)
	l.give()
	return resp, err
}

// similar makes the answer.
func (l *list) similar(
	ctx context.Context, req *pb.SimilarItemsRequest,
) (*pb.SimilarItemsResponse, error) {
	if err := l.findNamed(); err != nil {
		return nil, err
	}
	out := &l.out
	if !l.Personal() {
		out.Degradations = append(out.Degradations, pb.Degradation_DEGRADATION_NO_MODEL)
	}
	of, known := l.ItemIndex(req.GetItemId())
	if known {
		l.skipped = append(l.skipped, of)
	} else {
		out.NoteUnknown(req.GetItemId())
	}
	l.exclude()
	if known && l.Personal() {
		l.likeOnly(of)
		c := l.call
		c.N, c.Context, c.Model = valid.PageSize(req.GetPageSize()), ctx, l.Model
		c.SetQuery(l.query)
		if err := l.s.Batcher.TopN(c); err != nil {
			return nil, err
		}
		out.Top, out.Source = c.Top, pb.ResultSource_RESULT_SOURCE_SIMILAR
		if len(out.Top) < min(c.N, l.NumItems()-1) {
			out.Degradations = append(out.Degradations,
				pb.Degradation_DEGRADATION_FILTER_TOO_NARROW)
		}
		l.FetchIDs(out.Top)
		l.countAnswer()
	}
	list := out.Message()
	return &pb.SimilarItemsResponse{Items: list.GetItems(), ModelVersion: list.GetModelVersion(),
		UnknownItemIds: list.GetUnknownItemIds(), Degradations: list.GetDegradations()}, nil
}

// relate turns the query of a list of what goes with the history, or with an item of it, into that.
func (l *list) relate() {
	switch kind := l.req.GetList(); {
	case !l.usable:
	case kind == pb.ListKind_LIST_KIND_TOGETHER:
		l.Added(l.query, l.s.Estimator)
	case kind == pb.ListKind_LIST_KIND_BECAUSE:
		cause := l.cause()
		if l.usable = len(cause) > 0; !l.usable {
			return
		}
		l.likeOnly(cause[0])
		l.skipped = append(l.skipped, cause[0])
		l.out.Because = l.ItemID(cause[0])
	}
}

// likeOnly makes the query that of what one event on an item adds to somebody's scores.
func (l *list) likeOnly(of int32) {
	s := l.NewState()
	l.Fold(s, model.Event{Item: of, Weight: 1})
	l.QueryTo(l.query, s, l.s.Estimator)
	l.Added(l.query, l.s.Estimator)
}

// cause is the item of the history that a list because of an item is about; empty: there is none.
func (l *list) cause() []int32 {
	if l.row != nil {
		return l.row.cause
	}
	return l.liked(1)
}

// liked returns up to n items of the history that a list may be about, those with the newest events
// first.
func (l *list) liked(n int) (items []int32) {
	if l.tail == nil {
		return nil
	}
	met := make(map[int32]bool)
	for _, e := range slices.Backward(l.tail.Events) {
		if len(items) == n {
			break
		}
		if met[e.Item] || e.Weight == 0 {
			continue
		}
		met[e.Item] = true
		if e.Weight > 0 {
			items = append(items, l.Items.Shown([]int32{e.Item}, l.now)...)
		}
	}
	return items
}
