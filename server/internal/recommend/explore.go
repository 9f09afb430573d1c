package recommend

import (
	"context"
	"math/rand/v2"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/session"
	"github.com/gsimc/gsimc/server/internal/valid"
)

// rank selects the size best items, with their scores, and notes in sc.list how it selected them.
func (s *Service) rank(
	ctx context.Context, m *model.Model, x *pb.Exploration, subj subject, size int, sc *scratch,
) error {
	l, c := &sc.list, sc.call
	c.N = size
	c.SetQuery(sc.query)
	c.Context, c.Model, c.Alone = ctx, m, nil
	var err error
	switch strategy := x.GetStrategy().(type) {
	case *pb.Exploration_Thompson_:
		l.Source = pb.ResultSource_RESULT_SOURCE_EXPLORATION
		l.ExplorationSeed = strategy.Thompson.GetSeed()
		for l.ExplorationSeed == 0 {
			l.ExplorationSeed = rand.Uint64()
		}
		draw := sc.drawn(m)
		m.SampleTo(draw, sc.query, sc.variance, valid.Value(strategy.Thompson.Scale), l.ExplorationSeed)
		c.SetQuery(draw)
		if err = s.Batcher.TopN(c); err == nil {
			rescore(m, c.Top, sc.query)
		}
	case *pb.Exploration_UpperConfidence_:
		l.Source = pb.ResultSource_RESULT_SOURCE_EXPLORATION
		skip := c.Skip
		if c.Among != nil {
			skip = skipAllBut(c.Among, c.Skip)
		}
		beta := float32(valid.Value(strategy.UpperConfidence.Beta))
		c.Alone = func() { // the pass is not shared: it reads the basis in another way
			c.Top = m.TopNUpperConfidence(c.Top[:0], sc.query, sc.variance, beta, size, skip)
			rescore(m, c.Top, sc.query)
		}
		err = s.Batcher.TopN(c)
	case nil:
		if sc.byScore(m, subj) {
			err = s.Batcher.TopN(c)
		}
	}
	l.Top, c.Alone = c.Top, nil
	return err
}

// byScore makes sc.call, which has its query and its filters, the request for the items with the
// largest scores. It reports whether it is to be searched for; popular items are found already.
func (sc *scratch) byScore(m *model.Model, subj subject) (search bool) {
	l, c := &sc.list, sc.call
	if !subj.usable {
		l.Source = pb.ResultSource_RESULT_SOURCE_POPULAR
		c.Top = popular(m, c.Top[:0], c.N, c.Skip, c.Among)
		return false
	}
	l.Source = pb.ResultSource_RESULT_SOURCE_PERSONALIZED
	return true
}

// rescore replaces the explored scores, by which the items were selected, by the predicted ones.
func rescore(m *model.Model, top []ranking.Scored, query *model.Query) {
	for i := range top {
		top[i].Score = m.Score(top[i].Item, query)
	}
}

// attribute counts a finished list, and gives it an id if the client wants one.
func (s *Service) attribute(m *model.Model, req *pb.RecommendRequest, sc *scratch) {
	if req.GetAttribute() {
		sc.list.RecommendationID = s.recommendationID(m, sc)
	}
	sc.list.Arm = s.Arms.Field(sc.arm)
	s.Credits.Listed(sc.arm.Name, req.GetAttribute())
}

// recommendationID returns the id of the list.
func (s *Service) recommendationID(m *model.Model, sc *scratch) string {
	id, top := s.Store.Identity(), sc.list.Top
	top = top[:min(len(top), session.MaxPositions)]
	sc.hashes = sc.hashes[:0]
	for _, t := range top {
		sc.hashes = append(sc.hashes, session.ShortHash(id, m.ItemID(t.Item)))
	}
	r := session.Recommendation{Arm: sc.arm.Name, Made: s.Now(), Before: sc.before,
		Items: sc.hashes}
	return r.Token(id)
}
