package train

import (
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/learn/train"
)

func TestComparisonRows(t *testing.T) {
	c := &train.Comparison{Users: 70, LeftOut: 5, N: 50, Old: 0.25, New: 0.5, Difference: 0.25}
	got := comparisonRows("old.gsimc", c)
	want := [][]string{
		{"recall@50", "0.5000 ± 0.0000 on 70 recent events (5 more on items new to a model)"},
		{"  of the other", "0.2500 ± 0.0000, old.gsimc"},
		{"  difference", "+0.2500 ± 0.0000"},
	}
	check.Same(t, want, got, "result")
}
