package recommend

import (
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model/trend"
	"github.com/gsimc/gsimc/server/internal/servertest"
)

// Items that trends raise beyond all training users keep their order and their distance.
func TestSharesAboveOne(t *testing.T) {
	m := servertest.NewModel(t, 1)
	n := m.NumItems()
	s := &trend.Snapshot{G: make([]float32, n), Now: make([]int64, n)}
	s.Now[0], s.Now[1] = 2*m.NumTrainUsers()<<10, 3*m.NumTrainUsers()<<10
	x := m.WithTrends(s)
	check.Same(t, []float32{2, 3}, []float32{shareOf(x, 0), shareOf(x, 1)}, "shares")
}
