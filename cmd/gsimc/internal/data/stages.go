package data

import (
	"runtime"
	"sync"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/progress"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/evaluate"
	"github.com/gsimc/gsimc/learn/train"
)

// Predicted returns the stages with the time that they take on a typical machine with as many
// processors as this one.
func Predicted(stages []train.Stage) []progress.Stage {
	out := make([]progress.Stage, len(stages))
	for i, s := range stages {
		out[i] = progress.Stage{
			Name: s.Name, Seconds: train.Seconds(s.Work, runtime.GOMAXPROCS(0)),
		}
	}
	return out
}

// Evaluated returns the stages in which methods are evaluated.
func Evaluated(
	part *dataset.Partition, methods []evaluate.Method, paper, learned train.Config,
) []progress.Stage {
	var out []progress.Stage
	for _, s := range evaluate.Cost(part, methods, paper, learned, runtime.GOMAXPROCS(0)) {
		out = append(out, progress.Stage(s))
	}
	return out
}

// Stages shows the progress of a training.
func Stages(p progress.Progress) train.Progress {
	var mu sync.Mutex
	current := ""
	return func(stage string, done, total int) {
		mu.Lock()
		defer mu.Unlock()
		if stage != current {
			current = stage
			p.Begin(stage, progress.Steps)
		}
		p.Update(int64(done), int64(total))
	}
}
