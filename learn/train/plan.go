package train

import (
	"slices"
	"strings"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/num/cost"
	"github.com/gsimc/gsimc/kalman/dynamics"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/model/local"
	"github.com/gsimc/gsimc/spectral"
)

// garbageShare is the memory that the process has in the mean beyond what it holds, as a share of
// that.
const garbageShare = 0.2

// dynamicsStages is the beginning of the names of the stages that learn dynamics.
const dynamicsStages = "dynamics"

// regressionStage is the name of the stage that solves the regression.
const regressionStage = "dynamics: regression"

// The names of the stages that learn the local term, and the trends with the repeats.
const (
	localStage = "local term"
	liveStage  = "trends"
)

// Plan is the work of a training that is left when its events have been dealt out, stage by stage.
type Plan struct {
	Stages []Stage

	bytesPerUser float64 // read by a query and its scores
}

// Stage is a part of a training.
type Stage = cost.Stage

// NewPlan returns the plan of [Run] with the same arguments and of writing the model to a file.
func NewPlan(p *dataset.Partition, cfg Config) *Plan {
	n := len(p.Items)
	opt := cfg.SolverOptions(n)
	stages := spectral.Cost(Incidence(p), opt)
	single := 4 * float64(n) * float64(opt.Rank) // bytes of the basis in float32
	perItem := single
	readout := 4 * float64(opt.Rank) * float64(opt.Rank) * float64(len(cfg.Spec.Dynamics.Bands))
	if cfg.Learned() {
		stages = append(stages, cost.Stage{Name: "model", Peak: 2 * single, Kept: 2 * single})
		stages = append(stages, dynamicsCost(p, &cfg, opt.Rank)...)
		if live, ok := liveCost(p, &cfg, opt.Rank); ok {
			stages = append(stages, live)
		}
		perItem *= 1 + float64(len(cfg.Spec.Dynamics.Bands))
	} else {
		stages = append(stages, cost.Stage{Name: "model", Peak: single, Kept: single})
	}
	write := perItem/cost.Hash + 4*perItem/cost.Stream
	stages = append(stages, cost.Stage{Name: "model file", Seconds: write})
	return &Plan{Stages: stages, bytesPerUser: single + readout}
}

// dynamicsCost is the cost of learned dynamics on a basis of a rank, and of a local term. The rank
// of the model may turn out to be smaller, and the stages after the choice to be shorter.
func dynamicsCost(p *dataset.Partition, cfg *Config, rank int) []cost.Stage {
	d, s := &cfg.Spec.Dynamics, &cfg.Spec.Local
	shape := learningShape(p, d, rank)
	stages := shape.RegressionCost()
	candidates := cfg.Candidates(rank)
	choice := !candidates.None()
	if choice {
		at := slices.IndexFunc(stages, func(s cost.Stage) bool { return s.Name == regressionStage })
		stages[at].Seconds = 0 // it is that of a candidate
		stages = slices.Insert(stages, at, choiceCost(p, &shape, &candidates, s))
	}
	if d.Deviation {
		stages = append(stages, shape.NoiseCost())
	}
	if s.Neighbours > 0 {
		stages = append(stages, localCost(p, &shape, s, choice))
	}
	return stages
}

// Announced returns the work of the plan by the stages that [Progress] announces, and of writing
// the model as [StageWrite]. Their memory is left out.
func (p *Plan) Announced() []Stage {
	var stages []Stage
	for _, s := range p.Stages {
		name := StageSolve
		switch {
		case s.Name == "dynamics: sums":
			name = fit.StageLearn
		case s.Name == choiceStage:
			name = fit.StageChoose
		case s.Name == "dynamics: noise":
			name = fit.StageNoise
		case s.Name == localStage:
			name = fit.StageLocal
		case s.Name == liveStage:
			name = StageTrends
		case strings.HasPrefix(s.Name, dynamicsStages):
			name = fit.StageFit
		case strings.HasPrefix(s.Name, "model"):
			name = StageWrite
		}
		if s.Name == "model" { // no work, and not announced
			continue
		}
		if n := len(stages); n == 0 || stages[n-1].Name != name {
			stages = append(stages, Stage{Name: name})
		}
		stages[len(stages)-1].Seconds += s.Seconds
	}
	return stages
}

// Ranking returns the stage that ranks all items for each of the given number of users, by a model
// of the plan's training.
func (p *Plan) Ranking(name string, users int) Stage {
	return Stage{Name: name, Seconds: float64(users) * p.bytesPerUser / cost.Stream}
}

// learningShape returns the numbers on which the cost of learned dynamics depends.
func learningShape(p *dataset.Partition, spec *model.DynamicsSpec, rank int) dynamics.Shape {
	s := dynamics.Shape{Items: len(p.Items), Rank: rank, Bands: spec.Bands}
	s.Weighted = slices.ContainsFunc(p.Train.Weight, func(w float32) bool { return w != 1 })
	for u := range p.Train.Len() {
		if d := len(p.Train.Of(u)); d >= 2 {
			s.Users++
			s.Events += d
			s.Longest = max(s.Longest, d)
			times := p.Train.Times(u)
			s.Timed = s.Timed || len(times) > 0 && times[0] != times[d-1]
		}
	}
	from := &p.Validation
	if from.Len() < fewUsers {
		from = &p.Train
	}
	lengths := make([]int, from.Len())
	for u := range lengths {
		lengths[u] = len(from.Of(u))
	}
	s.Measured = dynamics.Measured(lengths)
	return s
}

// localCost is the cost of choosing the constants of a local term, and of counting it from events
// unless that has been done.
func localCost(
	p *dataset.Partition, shape *dynamics.Shape, s *local.Spec, counted bool,
) cost.Stage {
	const (
		entryBytes = 8   // of the graph
		trials     = 24  // of constants
		weights    = 23  // in a trial
		overhead   = 2.2 // as measured
	)
	n, m := float64(shape.Items), float64(s.Neighbours)
	near := 2 * m * float64(s.Events) // items of a position, at most
	positions := overhead * float64(fit.LocalPositions(p.Validation.Len()))
	counting := countingCost(shape.Events, shape.Items, s)
	out := cost.Stage{
		Name: localStage, Seconds: counting.Seconds, Peak: counting.Peak + entryBytes*n*m,
		Kept: entryBytes * n * m,
	}
	if counted { // the counts go
		out.Seconds, out.Peak, out.Kept = 0, entryBytes*n*m, entryBytes*n*m-counting.Kept
	}
	out.Seconds += trials*positions*weights*near/4/cost.Scatter +
		positions*4*float64(shape.Rank)*(near+n/8)/cost.Stream
	return out
}

// Memory returns the bytes that a process needs during a stage that has held bytes of its own,
// garbage included.
func Memory(held float64) int64 { return int64(held * (1 + garbageShare)) }

// Peak returns the bytes that the training needs if held bytes are held before, and the stage that
// needs them.
func (p *Plan) Peak(held float64) (bytes int64, stage string) {
	most, at := cost.Peak(held, p.Stages)
	return Memory(most), p.Stages[at].Name
}

// Advice returns the ways to make a training fit whose peak is in a stage.
func Advice(stage string) []fault.Change {
	advice := []fault.Change{{Verb: "lower", Field: "Rank"}}
	if strings.HasPrefix(stage, dynamicsStages) {
		advice = append(advice, fault.Change{Verb: "take fewer", Field: "Bands"})
	}
	return append(advice, fault.Change{Verb: "leave out rare items with", Field: "MinItemEvents"},
		fault.Change{Verb: "raise", Field: "MemoryLimit"})
}
