package train

import (
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/learn/train"
)

func TestPlanChecksTheLargestStage(t *testing.T) {
	p := &plan{
		held: 1000, limit: 1800, Plan: &train.Plan{
			Stages: []train.Stage{
				{Name: "small", Peak: 100, Kept: 50}, {Name: "dynamics: large", Peak: 450, Kept: 0},
			},
		},
	}
	if need, stage := p.Peak(p.held); need != 1800 || stage != "dynamics: large" {
		t.Errorf("%d bytes in stage %q, want 1800 in dynamics: large", need, stage)
	}
	check.Pass(t, p.check(), "1800 of 1800 bytes")
	p.limit--
	check.Says(t, p.check(), "take fewer Bands", "1800 of 1799 bytes")
	p.limit = 0
	check.Pass(t, p.check(), "no known limit")
}
