package learn

import (
	"runtime"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/progress"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/evaluate"
	"github.com/gsimc/gsimc/learn/train"
)

// announced returns the stages of a training for the estimate of the time left. Comparing and
// measuring come before the last stage, which writes the model. held may be nil.
func (c *Train) announced(todo *train.Plan, j *job, held *train.HeldOut) []progress.Stage {
	stages := todo.Announced()
	last := len(stages) - 1
	write := stages[last]
	stages = stages[:last]
	if held != nil {
		const models = 2
		stages = append(stages, todo.Ranking(train.StageCompare, models*held.Users()))
	}
	if users := j.part.Validation.Len(); !c.JSON && users >= fewestMeasured {
		measured := min(users, mostMeasured(j.cfg.RankFor(len(j.part.Items))))
		stages = append(stages, todo.Ranking(stageMeasure, measured))
	}
	return predicted(append(stages, write))
}

// predicted returns the stages with the time that they take on a typical machine with as many
// processors as this one.
func predicted(stages []train.Stage) []progress.Stage {
	out := make([]progress.Stage, len(stages))
	for i := range stages {
		s := &stages[i]
		out[i] = progress.Stage{
			Name: s.Name, Seconds: s.TypicalSeconds(runtime.GOMAXPROCS(0)),
		}
	}
	return out
}

// evaluated returns the stages in which methods are evaluated.
func evaluated(
	part *dataset.Partition, methods []evaluate.Method, paper, learned train.Config,
) []progress.Stage {
	var out []progress.Stage
	for _, s := range evaluate.Cost(part, methods, paper, learned, runtime.GOMAXPROCS(0)) {
		out = append(out, progress.Stage{Name: s.Name, Seconds: s.Seconds})
	}
	return out
}
