package data

import (
	"sync"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/progress"
	"github.com/gsimc/gsimc/learn/train"
)

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
