package evaluate

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/learn/evaluate"
)

// printResults prints a row for each method: HR and NDCG with their standard errors, and the time
// that the method took. The best NDCG@10 is marked. Below are what methods chose on the validation
// users, and how right the uncertainty is.
func printResults(w io.Writer, results []evaluate.Result, elapsed []time.Duration) {
	best := 0
	for i := range results {
		if results[i].Metrics[0].NDCG > results[best].Metrics[0].NDCG {
			best = i
		}
	}
	rows := [][]string{{"", "method", "HR@10", "±", "NDCG@10", "±", "HR@50", "time"}}
	for i := range results {
		r := &results[i]
		mark := ""
		if i == best {
			mark = "*"
		}
		ten, fifty := &r.Metrics[0], &r.Metrics[1]
		rows = append(rows, []string{
			mark, r.Name, figure(ten.HR), figure(ten.HRErr), figure(ten.NDCG), figure(ten.NDCGErr),
			figure(fifty.HR), cli.SecondsText(elapsed[i].Seconds()),
		})
	}
	cli.PrintTable(w, rows, 2, 3, 4, 5, 6, 7)
	fmt.Fprintln(w, "\n* best NDCG@10; ± is the standard error")
	for i := range results {
		if text := chosenText(&results[i]); text != "" {
			fmt.Fprintf(w, "%s: %s, chosen on the validation users\n", results[i].Name, text)
		}
	}
	for i := range results {
		if c := results[i].Calibration; c != nil {
			fmt.Fprintf(w, "%s: %s\n", results[i].Name, calibrationText(c))
		}
	}
}

func figure(x float64) string { return fmt.Sprintf("%.4f", x) }

// chosenText lists what a method chose on the validation users.
func chosenText(r *evaluate.Result) string {
	var list []string
	switch {
	case r.Name == evaluate.VSKNN:
		list = append(list, "decays "+r.Variant)
	case r.Variant != "":
		list = append(list, "filter "+r.Variant)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Chosen)) {
		digits := 3
		if x := r.Chosen[name]; x == math.Trunc(x) {
			digits = -1 // a count
		}
		list = append(list, name+" "+strconv.FormatFloat(r.Chosen[name], 'g', digits, 64))
	}
	return strings.Join(list, ", ")
}

// calibrationText says in words how the reported uncertainty compares with the errors on the test
// users.
func calibrationText(c *evaluate.Calibration) string {
	if c.Withheld {
		return "no uncertainty: two halves of the validation users do not agree on it"
	}
	whole := fmt.Sprintf("%.2f", c.Query)
	if c.Query <= 0 { // the estimate of a square from products of few differences
		whole = "- (too few test users)"
	}
	return fmt.Sprintf("squared errors over the expected ones: %.2f event by event,\n"+
		"  %s for whole users (1: the reported uncertainty is right)", c.Overall, whole)
}
