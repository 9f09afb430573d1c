package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gsimc/gsimc/bench/internal/loadtest"
	"github.com/gsimc/gsimc/bench/internal/served"
	"github.com/gsimc/gsimc/internal/test/certtest"
	"github.com/gsimc/gsimc/internal/test/check"
)

// TestMain makes this test the program itself where it is started as such: for the echo, and for
// the run that is interrupted.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" || len(os.Args) > 1 && os.Args[1] == echoCommand {
		main()
	}
	code := m.Run()
	_ = os.RemoveAll(built)
	os.Exit(code)
}

// asProgram is the environment variable that makes this test the program.
const asProgram = "GSIMC_TEST_LOAD"

// built is the folder of the program that is measured, or empty.
var built string

// gsimc builds that program once, and returns its path.
var gsimc = sync.OnceValues(func() (path string, err error) {
	if built, err = os.MkdirTemp("", "gsimc-built-"); err != nil {
		return "", err
	}
	path = filepath.Join(built, "gsimc")
	build := exec.Command("go", "build", "-C", "../..", "-tags", "grpcnotrace", "-o", path,
		"./cmd/gsimc")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

// small is a run that is over in a few seconds, but for these flags.
func small(t *testing.T, args ...string) []string {
	t.Helper()
	path := check.Get(gsimc())(t)
	return append([]string{"--gsimc", path, "--items", "200", "--rank", "8", "--users", "50",
		"--events", "5", "--page", "10", "--warmup", "50ms", "--timeout", "10s"}, args...)
}

// mustRun runs a command line in this process, and returns what it prints.
func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := runLine(t, args...)
	check.MustSame(t, 0, code, "%s: exit code", stderr)
	return stdout
}

func readReport(t *testing.T, path string) *loadtest.Report {
	t.Helper()
	f := check.Get(os.Open(path))(t)
	defer f.Close()
	report := check.Get(loadtest.ReadReport(f))(t)
	return report
}

// A bench of a real server measures every scenario: nothing fails, no acknowledged event is missing
// in a list, and the file says what the tables say.
func TestAll(t *testing.T) {
	if testing.Short() {
		t.Skip("waits until servers are idle, for up to 15 s each time")
	}
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bench.json")
	out := mustRun(t, small(t, "--duration", "250ms", "--repetitions", "1",
		"--stream-share", "0.1", "--json", path)...)
	report := readReport(t, path)
	figures := map[string]float64{}
	for _, s := range report.Series {
		if len(s.Points) != 1 {
			t.Errorf("%s: %s has %d points, want a figure", s.Group, s.Name, len(s.Points))
			continue
		}
		figures[s.Group+": "+s.Name] = s.Points[0].Y.Median
		check.Has(t, out, s.Name, "the tables")
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
		!strings.HasPrefix(report.Command, "load --scenario all --items 200 --rank 8") {
		t.Errorf("complete %v, machine %+v, command %q", report.Complete, report.Machine,
			report.Command)
	}
}

// A bench of filters has the cost of each, and of none.
func TestFilters(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bench.json")
	mustRun(t, small(t, "--filter", "--duration", "20ms", "--repetitions", "1",
		"--json", path)...)
	report := readReport(t, path)
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
func TestCatalogue(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bench.json")
	mustRun(t, small(t, "--scenario", "catalogue", "--catalogue", "3000", "--duration", "20ms",
		"--timeout", "20s", "--repetitions", "1", "--json", path)...)
	figures := map[string]float64{}
	for _, s := range readReport(t, path).Series {
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
func TestSweep(t *testing.T) {
	if testing.Short() {
		t.Skip("waits until servers are idle, for up to 15 s each time")
	}
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bench.json")
	program := check.Get(gsimc())(t)
	mustRun(t, "--gsimc", program, "--sweep", "n", "--at", "50,100", "--rank", "8", "--users", "20",
		"--events", "3", "--warmup", "20ms",
		"--duration", "200ms", "--timeout", "10s", "--repetitions", "1", "--json", path)
	report := readReport(t, path)
	for range 2 {
		check.MustSame(t, 4, len(report.Series), "series")
		for _, s := range report.Series {
			if len(s.Points) != 2 || s.Points[0].X != 50 || s.Points[1].X != 100 ||
				!(s.Points[1].Y.Median > 0) {
				t.Errorf("%s has points %+v, want some at 50 and 100", s.Name, s.Points)
			}
		}
		mustRun(t, append(strings.Fields(report.Command)[1:], "--gsimc", program, "--json", path)...)
		report = readReport(t, path)
	}
}

// An interrupt in the middle prints what was measured, leaves a file that says so, and stops the
// server.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "bench.json")
	var stdout bytes.Buffer
	cmd := exec.Command(os.Args[0], small(t, "--duration", "100ms", "--repetitions", "1000",
		"--json", path)...)
	cmd.Stdout = &stdout
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, asProgram+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal interrupts the whole group
	stderr := check.Get(cmd.StderrPipe())(t)
	check.Must(t, cmd.Start())
	lines, last := bufio.NewScanner(stderr), ""
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "latency: 7 of ") {
		last = lines.Text() // why it ended, if it did
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Error(err)
	}
	for lines.Scan() {
		last = lines.Text()
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted ||
		last != "load: interrupted: the tables and "+path+" hold what was measured before; the same "+
			"command measures anew" {
		t.Fatalf("exit code %d, last line %q, want an interrupt", code, last)
	}
	if report := readReport(t, path); report.Complete || len(report.Series) == 0 {
		t.Errorf("complete %v with %d series, want an incomplete report of some", report.Complete,
			len(report.Series))
	}
	check.Has(t, stdout.String(), "Not complete", "the tables")
	left, err := filepath.Glob(filepath.Join(dir, "gsimc-load-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v %v are left", left, err)
	}
	if err := syscall.Kill(-cmd.Process.Pid, 0); err != syscall.ESRCH {
		t.Errorf("processes of the group: %v, want none", err)
	}
}

// A server that was given is measured behind TLS, with a client's certificate and a token, and with
// nothing less. Another model than its own is refused.
func TestGivenServer(t *testing.T) {
	t.Parallel()
	program := check.Get(gsimc())(t)
	dir, a := t.TempDir(), certtest.NewAuthority(t)
	write := func(name string, text []byte) string { return certtest.Write(t, dir, name, text) }
	until := time.Now().Add(time.Hour)
	server, mine := a.Issue(t, 1, until), a.Issue(t, 2, until)
	model, other := filepath.Join(dir, "model.gsimc"), filepath.Join(dir, "other.gsimc")
	for seed, path := range []string{model, other} {
		check.Must(t, writeBenchModel(path, 50, 4, false, uint64(seed)))
	}
	token, err := exec.Command(program, "token", "load", "--roles", "recommend,observe").Output()
	check.Must(t, err)
	_, line, _ := bytes.Cut(token, []byte("\n"))
	ca := write("ca.pem", a.PEM)
	s, err := served.Start(t.Context(), program, model, filepath.Join(dir, "state"),
		"--token-file", write("tokens", line), "--tls-client-ca", ca,
		"--tls-cert", write("cert.pem", server.Cert), "--tls-key", write("key.pem", server.Key))
	check.Must(t, err)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	args := []string{"--server", s.Address, "--scenario", "latency", "--users", "10", "--events",
		"2", "--repetitions", "1", "--duration", "50ms", "--warmup", "10ms", "--timeout", "10s",
		"--tls-ca", ca, "--client-cert", write("mine.pem", mine.Cert), "--client-key",
		write("mine.key", mine.Key)}
	withToken := append(args, "--client-token-file", write("token", token))
	check.Has(t, mustRun(t, append(withToken, "--model", model)...), "echo p50", "figures")
	for want, args := range map[string][]string{
		"the server at " + s.Address + " serves": append(withToken, "--model", other),
		"Unauthenticated":                        append(args, "--model", model),
	} {
		if code, _, stderr := runLine(t, args...); code != exitFailure ||
			!strings.Contains(stderr, want) {
			t.Errorf("exit code %d, %s, want %s", code, stderr, want)
		}
	}
}
