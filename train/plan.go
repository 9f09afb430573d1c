package train

import (
	"slices"
	"strings"

	"github.com/gsimc/gsimc/dataset"
	"github.com/gsimc/gsimc/dynamics"
	"github.com/gsimc/gsimc/fault"
	"github.com/gsimc/gsimc/internal/cost"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/spectral"
)

// garbageShare is the memory that the process has in the mean beyond what it holds, as a share of
// that.
const garbageShare = 0.2

// dynamicsStages is the beginning of the names of the stages that learn dynamics.
const dynamicsStages = "dynamics"

// Plan is the work of a training that is left when its events have been dealt out, stage by stage.
type Plan struct {
	Stages []cost.Stage
}

// NewPlan returns the plan of [Run] with the same arguments and of writing the model to a file.
func NewPlan(p *dataset.Partition, cfg Config) *Plan {
	n := len(p.Items)
	opt := cfg.SolverOptions(n)
	stages := spectral.Cost(Incidence(p), opt)
	single := 4 * float64(n) * float64(opt.Rank) // bytes of the basis in float32
	perItem := single
	if cfg.Learned() {
		d := &cfg.Spec.Dynamics
		shape := learningShape(p, d, opt.Rank)
		stages = append(stages, cost.Stage{Name: "model", Peak: 2 * single, Kept: 2 * single})
		stages = append(stages, shape.RegressionCost()...)
		if d.Deviation {
			stages = append(stages, shape.NoiseCost())
		}
		perItem *= 1 + float64(len(d.Bands))
	} else {
		stages = append(stages, cost.Stage{Name: "model", Peak: single, Kept: single})
	}
	var write cost.Work
	write[cost.Hash], write[cost.Stream] = perItem, 4*perItem
	return &Plan{Stages: append(stages, cost.Stage{Name: "model file", Work: write})}
}

// Announced returns the work of the plan by the stages that [Progress] announces, and of writing
// the model as [StageWrite]. Their memory is left out.
func (p *Plan) Announced() []cost.Stage {
	var stages []cost.Stage
	for _, s := range p.Stages {
		name := StageSolve
		switch {
		case s.Name == "dynamics: sums":
			name = model.StageLearn
		case s.Name == "dynamics: noise":
			name = model.StageNoise
		case strings.HasPrefix(s.Name, dynamicsStages):
			name = model.StageFit
		case strings.HasPrefix(s.Name, "model"):
			name = StageWrite
		}
		if s.Name == "model" { // no work, and not announced
			continue
		}
		if n := len(stages); n == 0 || stages[n-1].Name != name {
			stages = append(stages, cost.Stage{Name: name})
		}
		for unit, amount := range s.Work {
			stages[len(stages)-1].Work[unit] += amount
		}
	}
	return stages
}

// learningShape returns the numbers on which the cost of learned dynamics depends.
func learningShape(p *dataset.Partition, spec *model.DynamicsSpec, rank int) dynamics.Shape {
	s := dynamics.Shape{Items: len(p.Items), Rank: rank, Bands: spec.Bands}
	s.Weighted = slices.ContainsFunc(p.Train.Weight, func(w float32) bool { return w != 1 })
	for u := range p.Train.Len() {
		if d := len(p.Train.Of(u)); d >= 2 {
			s.Events += d
			s.Longest = max(s.Longest, d)
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
