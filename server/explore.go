package server

import (
	"math/rand/v2"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/model"
)

// ranking says how the list in a scratch came about.
type ranking struct {
	source pb.ResultSource
	seed   uint64 // of a Thompson draw
}

// rank selects the size best items into sc.top, with their scores.
func rank(m *model.Model, x *pb.Exploration, subj subject, size int, sc *scratch) ranking {
	switch strategy := x.GetStrategy().(type) {
	case *pb.Exploration_Thompson_:
		r := ranking{pb.ResultSource_RESULT_SOURCE_EXPLORATION, strategy.Thompson.GetSeed()}
		for r.seed == 0 {
			r.seed = rand.Uint64()
		}
		draw := sc.drawn(m.Rank())
		m.SampleTo(draw, sc.query, sc.variance, orOne(strategy.Thompson.Scale), r.seed)
		sc.top = m.TopN(sc.top[:0], draw, size, sc.skip)
		rescore(m, sc)
		return r
	case *pb.Exploration_UpperConfidence_:
		beta := float32(orOne(strategy.UpperConfidence.Beta))
		sc.top = m.TopNUpperConfidence(sc.top[:0], sc.query, sc.variance, beta, size, sc.skip)
		rescore(m, sc)
		return ranking{source: pb.ResultSource_RESULT_SOURCE_EXPLORATION}
	}
	if subj.usable {
		sc.top = m.TopN(sc.top[:0], sc.query, size, sc.skip)
		return ranking{source: pb.ResultSource_RESULT_SOURCE_PERSONALIZED}
	}
	sc.top = popular(m, sc.top[:0], size, sc.skip)
	return ranking{source: pb.ResultSource_RESULT_SOURCE_POPULAR}
}

// rescore puts the scores in the place of those that the items were selected by.
func rescore(m *model.Model, sc *scratch) {
	for i := range sc.top {
		sc.top[i].Score = m.Score(sc.top[i].Item, sc.query)
	}
}

// orOne is the value of an optional field whose default is 1.
func orOne(field *float64) float64 {
	if field == nil {
		return 1
	}
	return *field
}
