package train_test

import (
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/learntest"
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
	timed := check.Get(train.Run(p, cfg))(t)
	check.Same(t, 3*time.Second, timed.Basis.Report.Elapsed, "with a clock")
	cfg.Clock = nil
	untimed := check.Get(train.Run(p, cfg))(t)
	check.Same(t, 0*time.Second, untimed.Basis.Report.Elapsed, "without a clock")
}
