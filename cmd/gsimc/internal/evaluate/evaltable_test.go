package evaluate

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/learn/evaluate"
)

// TestPrintReliability: a line for each tenth, in 80 columns, with numbers of any size.
func TestPrintReliability(t *testing.T) {
	r := &evaluate.Reliability{}
	for i := range 10 {
		x := 1.234e-12 * float64(i+1)
		s := evaluate.Tenth{Scores: 9, StdDev: x, Variance: x, Error: -x, ErrorErr: x}
		r.Random, r.Target = append(r.Random, s), append(r.Target, s)
	}
	r.Target = r.Target[:7] // fewer scores than tenths
	var b strings.Builder
	printReliability(&b, r)
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(line); n > 81 {
			t.Errorf("%d characters in the line %q, want at most 80", n, line)
		}
	}
	table, _, _ := strings.Cut(strings.TrimSpace(b.String()), "\n\n")
	if n := strings.Count(table, "\n"); n != 10 || !strings.Contains(table, "-1.2e-11") {
		t.Errorf("want a row for each of 10 tenths, the last with -1.2e-11:\n%s", &b)
	}
}

func TestPrintResults(t *testing.T) {
	metrics := func(ndcg float64) []evaluate.Metric {
		return []evaluate.Metric{{N: 10, HR: 0.5, NDCG: ndcg}, {N: 50, HR: 1}, {N: 100, HR: 1}}
	}
	results := []evaluate.Result{
		{Name: "bgs-online inverse-cosine", Metrics: metrics(0.25)},
		{Name: "gs-imc-best", Metrics: metrics(0.75), Variant: "tikhonov"},
		{Name: "ease", Metrics: metrics(0.5), Chosen: map[string]float64{"lambda": 50}},
		{Name: "vsknn", Metrics: metrics(0.5), Variant: "same, log",
			Chosen: map[string]float64{"k": 100}},
		{Name: "dynamics", Metrics: metrics(0.5),
			Calibration: &evaluate.Calibration{Overall: 1.011, Query: 0.8}},
		{Name: "dynamics 3", Metrics: metrics(0.5),
			Calibration: &evaluate.Calibration{Overall: 1.5, Query: -12.49}},
		{Name: "dynamics 2", Metrics: metrics(0.5),
			Calibration: &evaluate.Calibration{Withheld: true}},
	}
	var b strings.Builder
	printResults(&b, results, make([]time.Duration, len(results)))
	for _, want := range []string{
		"HR@10", "  *  gs-imc-best                0.5000  0.0000   0.7500",
		"gs-imc-best: filter tikhonov, chosen on the validation users",
		"ease: lambda 50, chosen",
		"vsknn: decays same, log, k 100, chosen",
		"dynamics: squared errors over the expected ones: 1.01 event by event",
		"1.50 event by event,\n  - (too few test users) for whole users",
		"dynamics 2: no uncertainty: two halves of the validation users do not agree on it",
	} {
		check.Has(t, b.String(), want, "the table")
	}
	table, _, _ := strings.Cut(b.String(), "\n\n")
	for line := range strings.Lines(table) {
		if n := utf8.RuneCountInString(line); n > 81 {
			t.Errorf("%d characters in the line %q, want at most 80", n, line)
		}
	}
	check.Same(t, 1, strings.Count(b.String(), "  *  "), "marks in\n%s", &b)
	if i := strings.IndexFunc(b.String(), func(r rune) bool {
		return r >= 'Α' && r <= 'ω'
	}); i >= 0 {
		t.Errorf("Greek in\n%s", &b)
	}
}
