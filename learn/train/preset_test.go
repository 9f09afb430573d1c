package train_test

import (
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model"
)

func TestRanks(t *testing.T) {
	for _, tt := range []struct {
		dynamics           string
		items, rank, quick int
	}{
		{model.DynamicsLearned, 100, 100, 100},
		{model.DynamicsLearned, 3119, 779, 779},
		{model.DynamicsLearned, 16428, 1024, 740},
		{model.DynamicsLearned, 1_000_000, 1024, 256},
		{model.DynamicsNone, 100, 100, 100},
		{model.DynamicsNone, 1_000_000, 256, 256},
	} {
		check.Same(t, tt.rank, train.DefaultRank(tt.dynamics, tt.items),
			"%s, %d items: default rank", tt.dynamics, tt.items)
		check.Same(t, tt.quick, train.QuickRank(tt.dynamics, tt.items), "%s, %d items: quick rank",
			tt.dynamics, tt.items)
	}
}
