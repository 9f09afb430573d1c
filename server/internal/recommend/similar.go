package recommend

import (
	"context"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
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
		l.SimilarTo(l.query, of, l.s.Estimator)
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
