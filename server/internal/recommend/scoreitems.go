package recommend

import (
	"cmp"
	"context"
	"slices"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/stage"
	"github.com/gsimc/gsimc/server/internal/valid"
)

// ScoreItems implements RecommenderService. It is the list of a Recommend that allows the items
// and no others, in another order: so scores, standard deviations and explanations are the same.
func (s *Service) ScoreItems(
	ctx context.Context, req *pb.ScoreItemsRequest,
) (*pb.ScoreItemsResponse, error) {
	list, now := ScoringList(req), s.Now()
	if err := valid.ScoreItems(req, list, now); err != nil {
		return nil, err
	}
	list.Filter = &pb.ItemFilter{AllowItemIds: req.GetItemIds()}
	m := s.Arms.Of(req.GetUserId()).Acquire()
	defer m.Release()
	l := s.take(m, list, now)
	l.watch = stage.Start(ctx)
	resp, err := l.score(ctx)
	l.give()
	return resp, err
}

// ScoringList is the list that has the scores, without its filter.
func ScoringList(req *pb.ScoreItemsRequest) *pb.RecommendRequest {
	list := &pb.RecommendRequest{
		Seen: req.GetSeen(), MinUserRevision: req.GetMinUserRevision(),
		Explain: req.GetExplain(), SessionToken: req.GetSessionToken(), Boosts: req.GetBoosts(),
		NamedBoosts: req.GetNamedBoosts(),
	}
	switch subject := req.GetSubject().(type) {
	case *pb.ScoreItemsRequest_UserId:
		list.Subject = &pb.RecommendRequest_UserId{UserId: subject.UserId}
	case *pb.ScoreItemsRequest_History:
		list.Subject = &pb.RecommendRequest_History{History: subject.History}
	}
	return list
}

// score makes the answer from the list of all the allowed items.
func (l *list) score(ctx context.Context) (*pb.ScoreItemsResponse, error) {
	if err := l.prepare(ctx); err != nil {
		return nil, err
	}
	ids := l.filter.GetAllowItemIds()
	if err := l.rank(ctx, len(ids)); err != nil {
		return nil, err
	}
	l.ended(ctx, stage.TopN)
	var excluded []string
	l.out.Top, excluded = inOrder(l.Model, ids, l.out.Top)
	l.finish(len(l.out.Top))
	resp := scoresOf(l.out.Message())
	resp.ExcludedItemIds = excluded
	l.ended(ctx, stage.Encode)
	return resp, nil
}

// inOrder returns the scored items in the order of ids, and those of ids that the model knows and
// that are not among them, each once. It reorders scored.
func inOrder(
	m *model.Model, ids []string, scored []ranking.Scored,
) (ordered []ranking.Scored, missing []string) {
	byItem := func(s ranking.Scored, i int32) int { return cmp.Compare(s.Item, i) }
	slices.SortFunc(scored, func(a, b ranking.Scored) int { return byItem(a, b.Item) })
	ordered = make([]ranking.Scored, 0, len(scored))
	met := make(map[int32]bool, len(ids))
	for _, id := range ids {
		i, known := m.ItemIndex(id)
		if !known || met[i] {
			continue
		}
		met[i] = true
		if at, found := slices.BinarySearchFunc(scored, i, byItem); found {
			ordered = append(ordered, scored[at])
		} else {
			missing = append(missing, id)
		}
	}
	return ordered, missing
}

// scoresOf makes the answer from that of the list.
func scoresOf(r *pb.RecommendResponse) *pb.ScoreItemsResponse {
	return &pb.ScoreItemsResponse{
		Items: r.GetItems(), ModelVersion: r.GetModelVersion(), UserRevision: r.GetUserRevision(),
		UnknownItemIds: r.GetUnknownItemIds(), Degradations: r.GetDegradations(),
		Uncertainty: r.Uncertainty,
	}
}
