package model

import (
	"fmt"

	"github.com/gsimc/gsimc/internal/num/topn"
	"github.com/gsimc/gsimc/model/internal/sealed"
	"github.com/gsimc/gsimc/model/trend"
)

// SetTrend sets the constants of trends, which are chosen with the model at hand. It is the last
// step of making a model, before anybody else uses it: the version is another one then.
func (m *Model) SetTrend(spec trend.Spec) error {
	if err := spec.Validate(); err != nil {
		return err
	}
	m.spec.Trend = spec
	m.version = m.image().Version()
	return nil
}

// WithTrends returns a model whose score of item i is higher by gain·g[i], for all NumItems items;
// see package trend. It shares the memory of m and must not outlive it; states, queries and all
// else are those of m. Trends that m has do not count. The sums must be finite. O(n).
func (m *Model) WithTrends(gain float64, g []float32) *Model {
	if len(g) != m.NumItems() {
		panic(fmt.Sprintf("model: %d items, but %d trends", m.NumItems(), len(g)))
	}
	a := make([]float32, len(g))
	for i, v := range g {
		a[i] = float32(gain * float64(v))
	}
	x := *m
	x.memory = sealed.Memory{}
	x.trends = topn.NewAdditions(m.top, a[:m.n])
	if m.extension != nil {
		e := *m.extension
		e.trends = topn.NewAdditions(e.top, a[m.n:])
		x.extension = &e
	}
	return &x
}

// trendOf is what the trend of item i adds to its score.
func (m *Model) trendOf(i int32) float32 {
	t, at := m.at(i)
	return t.trends.Of(at)
}
