package model_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
)

// A model of popularity has the items in the order of their counts, and no opinion of anyone.
func TestNewPopular(t *testing.T) {
	for _, items := range [][]string{nil, {"a"}, {"a", "b", "c", "d"}} {
		counts := []int64{3, 9, 3, 0}[:len(items)]
		m := check.Get(model.NewPopular(items, counts, 15))(t)
		if m.Personal() || m.NumItems() != len(items) || !strings.HasPrefix(m.Version(),
			"popularity-") {
			t.Errorf("personal %v, %d items, version %s", m.Personal(), m.NumItems(), m.Version())
		}
		if want := []int32{1, 0, 2, 3}; len(items) == 4 && !slices.Equal(m.Popular(), want) {
			t.Errorf("popular items %v, want %v", m.Popular(), want)
		}
		s := m.NewState()
		if len(items) > 0 {
			m.Fold(s, model.Event{Weight: 1, Time: 1})
		}
		q := m.NewQuery()
		m.QueryTo(q, s, model.EstimatorBGS)
		for _, r := range m.TopN(nil, q, 10, nil) {
			check.Same(t, float32(0), r.Score, "item %d has the score", r.Item)
		}
		if m.HasVariance() || m.TellsUncertainty() {
			t.Error("it knows its uncertainty")
		}
		other, err := model.NewPopular(items, counts, 16)
		if err != nil || other.Version() == m.Version() {
			t.Errorf("another model has the version %s: %v", other.Version(), err)
		}
		check.Pass(t, m.Close(), "Close")
	}
	for _, bad := range [][]string{{"b", "a"}, {"a", "a"}, {""}, {"\xff"}} {
		if _, err := model.NewPopular(bad, make([]int64, len(bad)), 1); err == nil {
			t.Errorf("items %q are accepted", bad)
		}
	}
	if _, err := model.NewPopular([]string{"a"}, []int64{2}, 1); err == nil {
		t.Error("a count above the total is accepted")
	}
}
