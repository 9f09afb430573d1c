package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/bench/internal/loadtest"
	"github.com/gsimc/gsimc/internal/test/check"
)

// Latencies are shown in the unit that is read most easily, and nothing is judged on a busy
// machine.
func TestPrintReport(t *testing.T) {
	limit := 5.0
	point := func(y float64) []loadtest.Point {
		return []loadtest.Point{{Y: loadtest.Spread{Min: y / 2, Median: y, Max: 2 * y,
			Repetitions: 3}}}
	}
	r := &loadtest.Report{
		Machine: loadtest.Machine{Cores: 2, Load: "0.40 3.00 9.00"}, Complete: true,
		Series: []loadtest.Series{
			{Group: "mixed", Name: "Recommend p99", Unit: "µs", Points: point(48529)},
			{Group: "mixed", Name: "echo p50", Unit: "µs", Points: point(87)},
			{Group: "mixed", Name: "Recommend p99 / p50", Unit: "ratio", AtMost: &limit,
				Points: point(6.46)},
		},
	}
	for load, want := range map[string][]string{
		"0.40 3.00 9.00": {"48.5  24.3  97.1  ms", "87", "µs", "at most 5  missed"},
		"":               {"at most 5  missed"},
		"7.10 3.00 9.00": {"at most 5  not judged",
			"Not judged: the load average was 7.1 on 2 cores"},
	} {
		r.Machine.Load = load
		var out bytes.Buffer
		printReport(&out, r)
		for _, w := range want {
			check.Has(t, out.String(), w, "load %q", load)
		}
		if strings.Contains(out.String(), "udged") != strings.HasPrefix(load, "7") {
			t.Errorf("load %q:\n%s", load, out.String())
		}
	}
}
