package recommend

import (
	"context"

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
	sc := s.takeScratch(m)
	resp, err := s.similar(ctx, m.Model, req, sc)
	giveScratch(sc)
	return resp, err
}

// similar makes the answer.
func (s *Service) similar(
	ctx context.Context, m *model.Model, req *pb.SimilarItemsRequest, sc *scratch,
) (*pb.SimilarItemsResponse, error) {
	if err := s.findNamed(req.GetFilter(), sc); err != nil {
		return nil, err
	}
	l := &sc.list
	l.Items = m
	of, known := m.ItemIndex(req.GetItemId())
	if known {
		sc.skipped = append(sc.skipped, of)
	} else {
		l.NoteUnknown(req.GetItemId())
	}
	sc.exclude(m, req.GetFilter(), s.Now())
	if known && m.Personal() {
		m.SimilarTo(sc.query, of, s.Estimator)
		c := sc.call
		c.N, c.Context, c.Model = valid.PageSize(req.GetPageSize()), ctx, m
		c.SetQuery(sc.query)
		if err := s.Batcher.TopN(c); err != nil {
			return nil, err
		}
		l.Top, l.Source = c.Top, pb.ResultSource_RESULT_SOURCE_SIMILAR
		m.FetchIDs(l.Top)
		s.countAnswer(l)
	}
	list := l.Message()
	return &pb.SimilarItemsResponse{Items: list.GetItems(), ModelVersion: list.GetModelVersion(),
		UnknownItemIds: list.GetUnknownItemIds()}, nil
}
