package deploy

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// served is a running `gsimc serve`.
type served struct {
	cmd       *exec.Cmd
	ops, json string // addresses
	log       chan string
}

// gsimc builds the program and returns its path.
func gsimc(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gsimc")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", path, "./cmd/gsimc")
	build.Dir, build.Env = "..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

func serve(t *testing.T, program string, args ...string) *served {
	t.Helper()
	s := &served{log: make(chan string, 10_000), cmd: exec.Command(program, append([]string{"serve",
		"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0",
		"--json-listen", "127.0.0.1:0", "--drain-delay", "0s", "--log-format", "json"}, args...)...)}
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill(); _ = s.cmd.Wait() })
	go func() {
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			select {
			case s.log <- lines.Text():
			default: // nobody waits for so many
			}
		}
		close(s.log)
	}()
	var serving struct{ Ops, JSON string }
	if err := json.Unmarshal([]byte(s.await(t, `"msg":"serving"`)), &serving); err != nil {
		t.Fatal(err)
	}
	s.ops, s.json = serving.Ops, serving.JSON
	return s
}

// await returns the first line of the log from here on that has the text.
func (s *served) await(t *testing.T, text string) string {
	t.Helper()
	late, last := time.After(20*time.Second), ""
	for {
		select {
		case line, open := <-s.log:
			if !open {
				t.Fatalf("the server ended: %s", last)
			}
			if last = line; strings.Contains(line, text) {
				return line
			}
		case <-late:
			t.Fatalf("the log has no %s", text)
		}
	}
}

// call returns the status of a JSON call; 0: there was no answer.
func (s *served) call(path, body string) int {
	resp, err := http.Post("http://"+s.json+path, "application/json", strings.NewReader(body))
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// refusals makes calls, several at a time, until so many had this status.
func (s *served) refusals(t *testing.T, status, enough int, path, body string) {
	t.Helper()
	var got atomic.Int64
	var all sync.WaitGroup
	begun := time.Now()
	for range 16 {
		all.Go(func() {
			for int(got.Load()) < enough && time.Since(begun) < 20*time.Second {
				if s.call(path, body) == status {
					got.Add(1)
				}
			}
		})
	}
	all.Wait()
	if int(got.Load()) < enough {
		t.Fatalf("%d of the calls to %s had status %d, want %d", got.Load(), path, status, enough)
	}
}

// train writes a model that says it is three weeks old.
func train(t *testing.T, program string) (model string) {
	t.Helper()
	dir := t.TempDir()
	events, model := filepath.Join(dir, "events.csv"), filepath.Join(dir, "model.gsimc")
	old := "SOURCE_DATE_EPOCH=" + strconv.FormatInt(time.Now().AddDate(0, 0, -21).Unix(), 10)
	for _, args := range [][]string{
		{"generate", "--users", "300", "--items", "120", "--events", "6000", "--out", events},
		{"train", "--data", events, "--rank", "16", "--out", model},
	} {
		cmd := exec.Command(program, args...)
		cmd.Env = append(os.Environ(), old)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("gsimc %v: %v\n%s", args, err, out)
		}
	}
	return model
}

// reserve is a --store-reserve that is more than the free space of a disk, and less than its size.
func reserve(t *testing.T, dir string) string {
	t.Helper()
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		t.Fatal(err)
	}
	free, size := fs.Bavail*uint64(fs.Bsize), fs.Blocks*uint64(fs.Bsize)
	if size-free < 64<<20 {
		return ""
	}
	return fmt.Sprintf("%dMiB", (free+(size-free)/2)>>20)
}

// TestAlertsOfARealServer brings servers into the states that can be provoked cheaply, and sees the
// alerts fire on what Prometheus scrapes of them. TestAlerts has the others by series alone.
func TestAlertsOfARealServer(t *testing.T) {
	program := gsimc(t)
	model, data := train(t, program), t.TempDir()
	calm := serve(t, program, "--model", model, "--data-dir", data, "--max-in-flight", "8")
	p := startPrometheus(t, calm.ops)
	p.advance(true)
	p.metricsOfAlertsExist()
	write(t, model+".bad", "no model")
	if err := os.Rename(model, model+".good"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(model+".bad", model); err != nil {
		t.Fatal(err)
	}
	signal(t, calm, syscall.SIGHUP)
	calm.await(t, "model reload failed")
	if err := os.Rename(model+".good", model); err != nil {
		t.Fatal(err)
	}
	p.until("GsimcModelLoadFailed", calm, 1, nil)
	p.until("GsimcListsNotPersonal", calm, 20, func() {
		calm.call("/v1/recommend", `{"userId": "nobody"}`)
	})
	p.until("GsimcModelStale", calm, 20, nil)
	p.until("GsimcShedding", calm, 8, func() {
		subjects := strings.Repeat(`{"userId": "a"},`, 255) + `{"userId": "b"}`
		calm.refusals(t, http.StatusTooManyRequests, 400, "/v1/recommend:batch",
			`{"subjects": [`+subjects+`]}`)
	})
	signal(t, calm, syscall.SIGKILL)
	_ = calm.cmd.Wait()
	p.down()
	fullDisk(t, program, model, data)
}

// fullDisk opens the store with a reserve that the disk does not have: it is there to be read.
func fullDisk(t *testing.T, program, model, data string) {
	t.Helper()
	kept := reserve(t, data)
	if kept == "" {
		t.Skip("the disk is nearly empty: it cannot seem full")
	}
	s := serve(t, program, "--model", model, "--data-dir", data, "--store-reserve", kept)
	p := startPrometheus(t, s.ops)
	p.until("GsimcStoreRefusing", s, 3, nil)
	p.until("GsimcStoreFillsUp", s, 6, nil)
	event := `{"userId": "a", "itemId": "i1"}`
	p.until("GsimcErrorsFast", s, 3, func() {
		s.refusals(t, http.StatusTooManyRequests, 100, "/v1/events", event)
	})
	p.until("GsimcErrorsSlow", s, 3, nil)
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func signal(t *testing.T, s *served, sig syscall.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

var (
	metricNames = regexp.MustCompile(`\b(gsimc|grpc_server)_[a-z_]+[a-z]\b`)
	firstPages  = regexp.MustCompile("curl (?:-s )?METRICS(/[a-z]+)")
)

// metricsOfAlertsExist: every series that an alert reads is there after a scrape, those of what has
// not happened too.
func (p *prometheus) metricsOfAlertsExist() {
	p.t.Helper()
	for name, rule := range loadAlerts(p.t) {
		for _, metric := range metricNames.FindAllString(rule.Expr, -1) {
			if !p.exists(metric) {
				p.t.Errorf("%s reads %s, which is not scraped", name, metric)
			}
		}
	}
}

// until scrapes the server, after another provocation each time, until an alert fires, which it must
// after so many scrapes, and not before the first provocation. Then its page of the runbook must
// hold.
func (p *prometheus) until(alert string, s *served, most int, provoke func()) {
	p.t.Helper()
	if p.firing()[alert] && provoke != nil {
		p.t.Errorf("%s fires before it is called for", alert)
	}
	for range most {
		if provoke != nil {
			provoke()
		}
		p.advance(true)
		if p.firing()[alert] {
			p.runbook(alert, s)
			return
		}
	}
	p.t.Errorf("%s does not fire", alert)
}

// runbook looks at what the page of an alert tells to look at: pages that answer, and metrics that
// they have.
func (p *prometheus) runbook(alert string, s *served) {
	p.t.Helper()
	_, section, _ := strings.Cut(read(p.t, "../docs/runbook.md"), "\n## "+alert+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	metrics := page(p.t, s, "/metrics")
	for _, m := range firstPages.FindAllStringSubmatch(strings.ReplaceAll(section, "\n", " "), -1) {
		page(p.t, s, m[1])
	}
	for _, name := range metricNames.FindAllString(section, -1) {
		if !bytes.Contains(metrics, []byte("\n"+name)) {
			p.t.Errorf("the runbook of %s names %s, which the server does not have", alert, name)
		}
	}
}

func page(t *testing.T, s *served, path string) []byte {
	t.Helper()
	resp, err := http.Get("http://" + s.ops + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("%s: %s, %v: %s", path, resp.Status, err, text)
	}
	return text
}

// down sees GsimcDown of a server that has gone.
func (p *prometheus) down() {
	p.t.Helper()
	p.advance(false)
	p.advance(false)
	if !p.firing()["GsimcDown"] {
		p.t.Error("GsimcDown does not fire")
	}
}
