package model

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/gsimc/gsimc/internal/num/topn"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/model/again"
	"github.com/gsimc/gsimc/model/internal/sealed"
	"github.com/gsimc/gsimc/model/trend"
)

// SetLive sets the constants of trends and of repeats, which are chosen with the model at hand. It
// is the last step of making a model, before anybody else uses it: the version is another one then.
func (m *Model) SetLive(trends trend.Spec, own again.Spec) error {
	if err := errors.Join(trends.Validate(), own.Validate()); err != nil {
		return err
	}
	m.spec.Trend, m.spec.Again = trends, own
	m.version = m.image().Version()
	return nil
}

// WithTrends returns a model whose score of item i is s.Factors_i times that of m, and higher by
// s.Gain·g_i. Its popular items are those of now, if s tells them. It shares the memory of m and
// must not outlive it; states are those of m. Trends that m has do not count. The sums must be
// finite. O(nk) with factors, else O(n log n).
func (m *Model) WithTrends(s *trend.Snapshot) *Model {
	m = m.WithoutTrends()
	if n := len(s.G) - len(s.Names); n != m.n || s.Now != nil && len(s.Now) != len(s.G) {
		panic(fmt.Sprintf("model: %d items, but %d trends", m.n, n))
	}
	added, now, expected := s.OfAll(m.NumItems(), m.ItemID, m.Degree)
	factors := s.FactorsOfAll(m.NumItems(), m.ItemID)
	x := m.rescored(factors, added)
	x.plain, x.factors = m, factors
	if s.Name != "" {
		x.trended = "~" + s.Name
	}
	if s.Now != nil {
		x.now, x.popular = now, ranking.Order(now)
		x.rising = trend.Rising(now, expected, m.Degree)
	}
	return x
}

// rescored returns a model with these factors, unless they are nil, and these additions, or none.
func (m *Model) rescored(factors, added []float32) *Model {
	x := *m
	x.memory = sealed.Memory{}
	x.table.rescore(factors, added, 0)
	if m.extension != nil {
		e := *m.extension
		e.table.rescore(factors, added, m.n)
		x.extension = &e
	}
	return &x
}

// rescore is rescored for a table whose first item has the index first.
func (t *table) rescore(factors, added []float32, first int) {
	end := first + len(t.ids)
	if factors != nil {
		t.top = t.top.Times(factors[first:end])
		t.decoderScale = t.top.Gains()
	}
	if t.added = nil; added != nil {
		t.added = topn.NewAdditions(t.top, added[first:end])
	}
}

// WithRules returns a model whose score of item i is higher by rules[i], beside its trend, which it
// keeps. It shares the memory of m and must not outlive it; popular items, states and all else are
// those of m. Rules that m has do not count. The numbers must be finite. O(n).
func (m *Model) WithRules(rules []float32) *Model {
	if m.unruled != nil {
		m = m.unruled
	}
	sums := make([]float32, m.NumItems())
	for i := range sums {
		sums[i] = m.trendOf(int32(i)) + rules[i]
	}
	x := m.rescored(nil, sums)
	x.unruled = m
	return x
}

// Rising returns the items that users take more often now than in the training data, and at least
// five times of late, by falling Rise, ties to the smaller index. Not to be changed.
func (m *Model) Rising() []int32 { return m.rising }

// Rise is e^g_i, how many times as often as in the training data item i is taken now; 1 without
// trends.
func (m *Model) Rise(i int32) float64 { return m.Popularity(i) / max(1, float64(m.Degree(i))) }

// WithoutTrends returns the model that m was made of by WithTrends and WithRules, or m itself.
func (m *Model) WithoutTrends() *Model {
	m = cmp.Or(m.unruled, m)
	return cmp.Or(m.plain, m)
}

// trendOf is what the trend of item i adds to its score.
func (m *Model) trendOf(i int32) float32 {
	if m.unruled != nil {
		m = m.unruled
	}
	return m.additionOf(i)
}

// additionOf is what trend and rules add to the score of item i.
func (m *Model) additionOf(i int32) float32 {
	t, at := m.at(i)
	return t.added.Of(at)
}
