package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/gsimc/gsimc/internal/capacity"
	"github.com/gsimc/gsimc/loadtest"
)

// BenchmarkConstants measures the constants of package capacity again, by bench with a server of
// its own: the processor time of the server for a list, for an event in a call of its own, and for
// one of a stream. It reports each beside what the plan says, as a ratio: above 1 the plan promises
// too much on this machine. Run it with -benchtime=1x on a machine that does nothing else.
func BenchmarkConstants(b *testing.B) {
	for _, c := range []struct {
		name, scenario, figure string
		items                  int64
		perCall                float64
		part                   int // of the plan
	}{
		{"list, 20000 items", "throughput", "Recommend", 20_000, 100, 1},
		{"list, 200000 items", "throughput", "Recommend", 200_000, 100, 1},
		{"event by itself", "observe", "Observe", 20_000, 1, 0},
		{"event in a stream", "stream", "streamed event", 20_000, 100, 0},
	} {
		b.Run(c.name, func(b *testing.B) {
			for range b.N {
				got := measureServer(b, c.scenario, c.figure, c.items)
				plan, err := capacity.New(capacity.Need{
					Users: 10_000, Items: c.items, Events: 200_000, Rank: 256,
					EventsPerSecond: 1e6, RecommendsPerSecond: 1e6, EventsPerCall: c.perCall,
					Store: capacity.Pebble, Rows: capacity.Random, Load: 1, Active: 1,
					MachineCores: 2, MachineMemory: 16e9,
				})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(got, "µs")
				b.ReportMetric(got/plan.Parts[c.part].Cores, "ratio")
			}
		})
	}
}

// measureServer returns the processor time of a server for one call or event, in µs.
func measureServer(b *testing.B, scenario, figure string, items int64) float64 {
	report := filepath.Join(b.TempDir(), "report.json")
	bench := exec.Command(binary(b), "bench", "--quiet", "--scenario", scenario, "--items",
		strconv.FormatInt(items, 10), "--rank", "256", "--repetitions", "3", "--timeout", "10s",
		"--json", report)
	if out, err := bench.CombinedOutput(); err != nil {
		b.Fatalf("gsimc bench: %v\n%s", err, out)
	}
	text, err := os.ReadFile(report)
	if err != nil {
		b.Fatal(err)
	}
	var r loadtest.Report
	if err := json.Unmarshal(text, &r); err != nil {
		b.Fatal(err)
	}
	for _, s := range r.Series {
		if s.Name == "server processor time, "+figure {
			return s.Points[0].Y.Median
		}
	}
	b.Skip("the system does not tell the processor time of processes")
	return 0
}
