package learn

import (
	"strings"
	"testing"

	"github.com/gsimc/gsimc/train"
)

func TestComparisonRow(t *testing.T) {
	c := &train.Comparison{Users: 70, LeftOut: 5, N: 50, Old: 0.25, New: 0.5, Difference: 0.25}
	got := strings.Join(comparisonRow("old.gsimc", c), ": ")
	want := "recall@50: 0.5000 ± 0.0000 on 70 recent events on items that both models know (5 are on others); " +
		"old.gsimc has 0.2500 ± 0.0000; difference +0.2500 ± 0.0000"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
