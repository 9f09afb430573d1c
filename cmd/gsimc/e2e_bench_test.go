package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"

	"github.com/gsimc/gsimc/loadtest"
)

// benchArgs is a bench that is over in a few seconds.
var benchArgs = []string{"bench", "--items", "200", "--rank", "8", "--users", "50", "--events", "5",
	"--page", "10", "--warmup", "50ms",
	"--timeout", "10s"}

func readBench(t *testing.T, path string) *loadtest.Report {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	report, err := loadtest.ReadReport(f)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// A bench of a real server measures every scenario: nothing fails, no acknowledged event is missing
// in a list, and the file says what the tables say.
func TestBenchAll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bench.json")
	out := execute(t, append(benchArgs, "--duration", "250ms", "--repetitions", "1",
		"--stream-share", "0.1", "--json", path)...)
	report := readBench(t, path)
	figures := map[string]float64{}
	for _, s := range report.Series {
		if len(s.Points) != 1 {
			t.Errorf("%s: %s has %d points, want a figure", s.Group, s.Name, len(s.Points))
			continue
		}
		figures[s.Group+": "+s.Name] = s.Points[0].Y.Median
		if !strings.Contains(out, s.Name) {
			t.Errorf("the tables do not show %s", s.Name)
		}
	}
	for _, positive := range []string{
		"latency: Recommend p50", "latency: echo p50", "latency: in-process search p50",
		"latency: in-process search after a pause p50",
		"throughput: Recommend rate / echo rate",
		"observe: Observe rate", "stream: streamed events", "mixed: StreamObserve p99",
		"mixed: Recommend p99 / p50", "visibility: events followed",
	} {
		if !(figures[positive] > 0) {
			t.Errorf("%s is %v, want more than 0", positive, figures[positive])
		}
	}
	for _, none := range []string{"throughput: failed requests", "observe: failed requests",
		"mixed: failed requests", "visibility: violations"} {
		if got, ok := figures[none]; got != 0 || !ok {
			t.Errorf("%s is %v (there: %v), want 0", none, got, ok)
		}
	}
	if !report.Complete || report.Machine.Cores < 1 ||
		!strings.HasPrefix(report.Command, "gsimc bench --scenario all --items 200 --rank 8") {
		t.Errorf("complete %v, machine %+v, command %q", report.Complete, report.Machine,
			report.Command)
	}
}

// A bench of filters has the cost of each, and of none.
func TestBenchFilters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bench.json")
	execute(t, append(benchArgs, "--filter", "--duration", "20ms", "--repetitions", "1",
		"--json", path)...)
	report := readBench(t, path)
	const filters = 10
	if len(report.Series) != 1+2*filters || !strings.Contains(report.Command, " --filter ") {
		t.Errorf("%d series by %q, want a time for none, and two figures for each of %d filters",
			len(report.Series), report.Command, filters)
	}
	for _, s := range report.Series {
		if s.Group != "filters" || !(s.Points[0].Y.Median > 0) {
			t.Errorf("%s: %s is %v, want a figure above 0", s.Group, s.Name, s.Points)
		}
	}
}

// A bench of the catalogue writes every item, loses no Recommend meanwhile, and starts again with
// the items.
func TestBenchCatalogue(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bench.json")
	execute(t, append(benchArgs, "--scenario", "catalogue", "--catalogue", "3000", "--duration", "20ms",
		"--timeout", "20s", "--repetitions", "1", "--json", path)...)
	figures := map[string]float64{}
	for _, s := range readBench(t, path).Series {
		figures[s.Group+": "+s.Name] = s.Points[0].Y.Median
	}
	for _, name := range []string{"catalogue: items written", "catalogue: start without items",
		"catalogue: start with the items", "catalogue: Recommend beside new items p99",
		"catalogue: batch of items over others p50", "filters: no filter p50"} {
		if !(figures[name] > 0) {
			t.Errorf("%s is %v, want more than 0", name, figures[name])
		}
	}
	for _, what := range []string{"new items", "items over others"} {
		if n, ok := figures["catalogue: failed Recommends beside "+what]; n != 0 || !ok {
			t.Errorf("%v Recommends beside %s failed (measured: %v)", n, what, ok)
		}
	}
}

// A sweep has a point for each x, and the command that it prints repeats it.
func TestBenchSweep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bench.json")
	execute(t, "bench", "--sweep", "n", "--at", "50,100", "--rank", "8", "--users", "20",
		"--events", "3", "--warmup", "20ms",
		"--duration", "200ms", "--timeout", "10s", "--repetitions", "1", "--json", path)
	report := readBench(t, path)
	for range 2 {
		if len(report.Series) != 4 {
			t.Fatalf("%d series, want p50, p99, rate and memory", len(report.Series))
		}
		for _, s := range report.Series {
			if len(s.Points) != 2 || s.Points[0].X != 50 || s.Points[1].X != 100 ||
				!(s.Points[1].Y.Median > 0) {
				t.Errorf("%s has points %+v, want some at 50 and 100", s.Name, s.Points)
			}
		}
		execute(t, append(strings.Fields(report.Command)[1:], "--json", path)...)
		report = readBench(t, path)
	}
}

// An interrupt in the middle prints what was measured, leaves a file that says so, and stops the
// server.
func TestBenchInterrupted(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "bench.json")
	var stdout bytes.Buffer
	stderr := &serverLog{}
	cmd := exec.Command(binary(t), append(benchArgs, "--duration", "1s", "--repetitions", "1000",
		"--json", path)...)
	cmd.Stdout, cmd.Stderr = &stdout, stderr
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal interrupts the whole group
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !eventually(time.Minute, func() bool {
		return strings.Contains(stderr.String(), "latency: ")
	}) {
		t.Error("no progress in a minute")
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != cli.ExitInterrupted ||
		!strings.HasSuffix(stderr.String(),
			"gsimc: interrupted: the tables and "+path+" hold what was measured before; the same "+
				"command measures anew\n") {
		t.Fatalf("exit code %d, stderr %q, want an interrupt", code, stderr.String())
	}
	if report := readBench(t, path); report.Complete || len(report.Series) == 0 {
		t.Errorf("complete %v with %d series, want an incomplete report of some", report.Complete,
			len(report.Series))
	}
	if !strings.Contains(stdout.String(), "Not complete") {
		t.Errorf("the tables do not say that they are not complete:\n%s", stdout.String())
	}
	left, err := filepath.Glob(filepath.Join(dir, "gsimc-bench-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v %v are left", left, err)
	}
	if err := syscall.Kill(-cmd.Process.Pid, 0); err != syscall.ESRCH {
		t.Errorf("processes of the group: %v, want none", err)
	}
}
