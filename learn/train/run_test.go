package train_test

import (
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/learntest"
	"github.com/gsimc/gsimc/internal/test/must"
	"github.com/gsimc/gsimc/learn/train"
)

// The solver's time is that of the clock that the caller gives; without one there is none.
func TestRunTellsTheTimeOfTheSolver(t *testing.T) {
	p := learntest.Checkerboard()
	now := time.Unix(0, 0)
	cfg := train.Config{Spec: train.Paper(), Rank: 4, Clock: func() time.Time {
		now = now.Add(3 * time.Second)
		return now
	}}
	timed := must.Get(train.Run(p, cfg))(t)
	if got := timed.Basis.Report.Elapsed; got != 3*time.Second {
		t.Errorf("with a clock: %v, want 3s", got)
	}
	cfg.Clock = nil
	untimed := must.Get(train.Run(p, cfg))(t)
	if got := untimed.Basis.Report.Elapsed; got != 0 {
		t.Errorf("without a clock: %v, want 0", got)
	}
}
