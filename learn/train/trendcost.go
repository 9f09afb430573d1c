package train

import (
	"math"
	"runtime"

	"github.com/gsimc/gsimc/internal/num/cost"
	"github.com/gsimc/gsimc/kalman/dynamics"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/model/trend"
	"github.com/gsimc/gsimc/spectral"
)

// liveCost is the cost of [FindLive] for a model of a rank with learned dynamics. ok is false if
// there are too few times for it.
func liveCost(p *dataset.Partition, cfg *Config, rank int) (s cost.Stage, ok bool) {
	events, items := float64(len(p.Train.Time)), float64(len(p.Items))
	if trendShare*events < 1 {
		return s, false
	}
	const (
		climbs     = 15   // values of a likelihood, for all candidates
		climbed    = 30e6 // scores of one in a second
		passes     = 160  // over the events, for all candidates
		overhead   = 3    // of the second model, as measured
		eventBytes = 24   // one wrong time is enough for nearly all to be in memory twice
		scoreBytes = 8    // and of a trend
	)
	early := *cfg
	early.Rank = min(trendRank, rank)
	shape := learningShape(p, &cfg.Spec.Dynamics, early.Rank)
	part := 1 / (1 + events/mostLearned)
	stages := spectral.Cost(Incidence(p), early.SolverOptions(len(p.Items)))
	if cfg.Spec.Local.Neighbours > 0 {
		stages = append(stages, countingCost(shape.Events, len(p.Items), &cfg.Spec.Local))
	}
	scale(stages, part)
	regression := shape.RegressionCost() // of a bounded number of events
	scale(regression, part*max(1, float64(shape.Events)/dynamics.RegressionTargets))
	stages = append(stages, regression...)
	for _, c := range stages {
		s.Seconds += overhead * c.Seconds
	}
	most, _ := cost.Peak(0, stages)
	scores := min(items*mostChoices, mostScores)
	parts := math.Ceil(scores / items / float64(trend.Together(len(p.Items))))
	rates := min(float64(runtime.GOMAXPROCS(0)), parts) * float64(trend.RatesBytes(len(p.Items)))
	s.Name, s.Peak = liveStage, eventBytes*events+max(most, scoreBytes*scores+rates)
	s.Seconds += climbs*scores/climbed + passes*events/cost.Scatter
	return s, true
}

// scale makes stages those of a part of the events.
func scale(stages []cost.Stage, part float64) {
	for i := range stages {
		s := &stages[i]
		s.Seconds, s.Peak, s.Kept = part*s.Seconds, part*s.Peak, part*s.Kept
	}
}
