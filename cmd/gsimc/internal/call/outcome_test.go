package call

import (
	"strings"
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/check"
)

// The sum of values stands beside the number of hits where it says more.
func TestHitsByType(t *testing.T) {
	for _, tt := range []struct {
		want string
		of   armOutcome
	}{
		{"", armOutcome{}},
		{"buy 1 (value 100)", armOutcome{ByType: map[string]int64{"buy": 1},
			Value: map[string]float64{"buy": 100}}},
		{"buy 2, like 3", armOutcome{ByType: map[string]int64{"like": 3, "buy": 2},
			Value: map[string]float64{"like": 3, "buy": 2}}},
		{"buy 2 (value 3.5), like 3 (value 6)", armOutcome{
			ByType: map[string]int64{"like": 3, "buy": 2},
			Value:  map[string]float64{"like": 6, "buy": 3.5}}},
		{"buy 2", armOutcome{ByType: map[string]int64{"buy": 2}}}, // of an older server
		{"buy 3 (value 3.001), like 3 (value 0.3), view 3", armOutcome{
			ByType: map[string]int64{"buy": 3, "like": 3, "view": 3},
			Value:  map[string]float64{"buy": 3.001, "like": .1 + .2, "view": 3 + 1e-9}}},
	} {
		check.Same(t, tt.want, tt.of.byType(), "hits")
	}
}

// Items that came after the training do not stand under the version of the file alone.
func TestModelsOfNewItems(t *testing.T) {
	var out strings.Builder
	printModels(&cli.App{Stdout: &out}, []armModel{{Arm: "main", Version: "ab", Answers: "ab+cd",
		Items: 5, Share: 100}})
	check.Has(t, out.String(), "main  ab+cd      5  100 %", "the table")
}

// A rate has an interval with users enough, and there is none of nobody.
func TestRate(t *testing.T) {
	for want, o := range map[string]armOutcome{
		"-":                       {},
		"0.5000":                  {Users: 2, Rate: .5, Low: .5, High: .5},
		"0.5000 [0.4000, 0.6000]": {Users: 200, Rate: .5, Low: .4, High: .6},
	} {
		check.Same(t, want, o.rate(), "rate")
	}
}
