package train

import (
	"runtime"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/progress"
	"github.com/gsimc/gsimc/learn/train"
)

// announced returns the stages of a training for the estimate of the time left, with the time that
// they take on a typical machine with as many processors as this one. Comparing and measuring come
// before the last stage, which writes the model. held may be nil.
func (c *Cmd) announced(todo *train.Plan, j *job, held *train.HeldOut) []progress.Stage {
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
	var out []progress.Stage
	for _, s := range append(stages, write) {
		seconds := s.Seconds / float64(runtime.GOMAXPROCS(0))
		out = append(out, progress.Stage{Name: s.Name, Seconds: seconds})
	}
	return out
}
