package learn

import (
	"runtime"

	"github.com/gsimc/gsimc/internal/cost"
	"github.com/gsimc/gsimc/internal/progress"
	"github.com/gsimc/gsimc/train"
)

// announced returns the stages of a training for the estimate of the time left.
func announced(p *train.Plan) []progress.Stage { return predicted(p.Announced()) }

// predicted returns the stages with the time that they take on a typical machine with as many
// processors as this one.
func predicted(stages []cost.Stage) []progress.Stage {
	var out []progress.Stage
	for _, s := range stages {
		seconds := cost.Typical.Seconds(s.Work) / float64(runtime.GOMAXPROCS(0))
		out = append(out, progress.Stage{Name: s.Name, Seconds: seconds})
	}
	return out
}
