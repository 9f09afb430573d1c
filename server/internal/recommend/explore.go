package recommend

import (
	"context"
	"math/rand/v2"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/server/internal/session"
	"github.com/gsimc/gsimc/server/internal/valid"
)

// rank selects the size best items, with their scores, and notes in l.out how it selected them.
func (l *list) rank(ctx context.Context, size int) (err error) {
	out, c := &l.out, l.call
	c.N = size
	c.SetQuery(l.query)
	c.Context, c.Model, c.Alone = ctx, l.Model, nil
	switch strategy := l.explore.GetStrategy().(type) {
	case *pb.Exploration_Thompson_:
		out.Source = pb.ResultSource_RESULT_SOURCE_EXPLORATION
		out.ExplorationSeed = strategy.Thompson.GetSeed()
		for out.ExplorationSeed == 0 {
			out.ExplorationSeed = rand.Uint64()
		}
		draw := l.drawn()
		l.SampleTo(draw, l.query, l.variance, valid.Value(strategy.Thompson.Scale),
			out.ExplorationSeed)
		c.SetQuery(draw)
		if err = l.s.Batcher.TopN(c); err == nil {
			l.rescore()
		}
	case *pb.Exploration_UpperConfidence_:
		out.Source = pb.ResultSource_RESULT_SOURCE_EXPLORATION
		skip := c.Skip
		if c.Among != nil {
			skip = skipAllBut(c.Among, c.Skip)
		}
		beta := float32(valid.Value(strategy.UpperConfidence.Beta))
		c.Alone = func() { // the pass is not shared: it reads the basis in another way
			c.Top = l.TopNUpperConfidence(c.Top[:0], l.query, l.variance, beta, size, skip)
			l.rescore()
		}
		err = l.s.Batcher.TopN(c)
	case nil:
		if l.byScore() {
			err = l.s.Batcher.TopN(c)
		}
	}
	out.Top, c.Alone = c.Top, nil
	return err
}

// byScore makes l.call, which has its query and its filters, the request for the items with the
// largest scores. It reports whether it is to be searched for; popular and rising items are found
// already.
func (l *list) byScore() (search bool) {
	c, ordered := l.call, l.Popular()
	switch kind := l.req.GetList(); {
	case kind == pb.ListKind_LIST_KIND_TRENDING:
		l.out.Source, ordered = pb.ResultSource_RESULT_SOURCE_TRENDING, l.Rising()
	case kind == pb.ListKind_LIST_KIND_BECAUSE && l.out.Because == "":
		l.out.Source, c.Top = pb.ResultSource_RESULT_SOURCE_POPULAR, c.Top[:0]
		return false
	case kind == pb.ListKind_LIST_KIND_POPULAR || !l.usable:
		l.out.Source = pb.ResultSource_RESULT_SOURCE_POPULAR
	case kind == pb.ListKind_LIST_KIND_TOGETHER || kind == pb.ListKind_LIST_KIND_BECAUSE:
		l.out.Source = pb.ResultSource_RESULT_SOURCE_SIMILAR
		return true
	default:
		l.out.Source = pb.ResultSource_RESULT_SOURCE_PERSONALIZED
		return true
	}
	switch {
	case l.ruled != nil:
		l.rankByRules(ordered)
	case l.out.Source == pb.ResultSource_RESULT_SOURCE_TRENDING:
		c.Top = rising(l.Model, c.Top[:0], c.N, c.Skip, c.Among)
	default:
		c.Top = popular(l.Model, c.Top[:0], c.N, c.Skip, c.Among)
	}
	return false
}

// personal reports whether the list goes by scores for the subject.
func (l *list) personal() bool {
	return l.out.Source == pb.ResultSource_RESULT_SOURCE_PERSONALIZED ||
		l.out.Source == pb.ResultSource_RESULT_SOURCE_EXPLORATION
}

// rescore replaces the explored scores, by which the items were selected, by the predicted ones.
func (l *list) rescore() {
	top := l.call.Top
	for i := range top {
		top[i].Score = l.Score(top[i].Item, l.query)
	}
}

// attribute counts the list, and gives it an id if the client wants one.
func (l *list) attribute() {
	if l.req.GetAttribute() {
		l.out.RecommendationID = l.recommendationID()
	}
	l.out.Arm = l.s.Arms.Field(l.Arm)
	l.s.Credits.Listed(l.Arm.Index, l.req.GetUserId(), l.req.GetAttribute(),
		l.out.Source == pb.ResultSource_RESULT_SOURCE_POPULAR &&
			l.req.GetList() != pb.ListKind_LIST_KIND_POPULAR)
}

// recommendationID returns the id of the list.
func (l *list) recommendationID() string {
	id, top := l.s.Store.Identity(), l.out.Top
	top = top[:min(len(top), session.MaxPositions)]
	l.hashes = l.hashes[:0]
	for _, t := range top {
		l.hashes = append(l.hashes, session.ShortHash(id, l.ItemID(t.Item)))
	}
	r := session.Recommendation{Arm: l.Arm.Name, Made: l.s.Now(), Before: l.before,
		Items: l.hashes, NoUser: l.req.GetUserId() == ""}
	return r.Token(id)
}
