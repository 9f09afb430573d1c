package deploy

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// program is a gsimc that was built for a test, with a model.
type program struct {
	path  string
	model string // three weeks old
}

// edits are the places of the code at which testdata/provoked has a server fail, and one that has
// events sorted into tables sooner, so that there are tables to damage.
var edits = []struct{ file, was, is string }{
	{"store/pebble/internal/engine/log.go", "return f.vitalFile.SyncData()\n",
		"provoked.Hang(\"sync\")\n\tif err := provoked.Break(); err != nil {\n\t\treturn err\n\t}\n" +
			"\treturn f.vitalFile.SyncData()\n"},
	{"server/internal/recommend/subject.go", "	return l.s.States.View(ctx,",
		"	provoked.Hang(\"read\")\n\treturn l.s.States.View(ctx,"},
	{"server/internal/ingest/ingest.go", "results, err := s.Append(ctx, in.records)\n",
		"provoked.Bug()\n\tresults, err := s.Append(ctx, in.records)\n"},
	{"store/pebble/internal/recent/journal.go", "SortBytes = 16 << 20\n", "SortBytes = 1 << 18\n"},
}

const faultPackage = "github.com/gsimc/gsimc/internal/provoked"

// build compiles gsimc, with flags for the compiler.
func build(t *testing.T, flags ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gsimc")
	args := append([]string{"build", "-buildvcs=false", "-tags", "grpcnotrace", "-o", path}, flags...)
	cmd := exec.Command("go", append(args, "./cmd/gsimc")...)
	cmd.Dir, cmd.Env = "..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// overlay is the file that makes the compiler take the code with the faults.
func overlay(t *testing.T) string {
	t.Helper()
	absolute := func(path string) string { return get(filepath.Abs(path))(t) }
	dir := t.TempDir()
	replace := map[string]string{absolute("../internal/provoked/provoked.go"): absolute(
		"testdata/provoked/provoked.go")}
	for i, e := range edits {
		code := read(t, filepath.Join("..", e.file))
		if strings.Count(code, e.was) != 1 {
			t.Fatalf("%s has not once %q: the code has changed, edits must follow", e.file, e.was)
		}
		code = strings.Replace(code, e.was, e.is, 1)
		if strings.Contains(e.is, "provoked.") {
			code = strings.Replace(code, "\nimport (", "\nimport (\n\t\""+faultPackage+"\"", 1)
		}
		changed := filepath.Join(dir, strconv.Itoa(i)+".go")
		write(t, changed, code)
		replace[absolute(filepath.Join("..", e.file))] = changed
	}
	text := get(json.Marshal(map[string]any{"Replace": replace}))(t)
	path := filepath.Join(dir, "overlay.json")
	write(t, path, string(text))
	return path
}

// train writes a model that says it is three weeks old.
func train(t *testing.T, path string) (model string) {
	t.Helper()
	dir := t.TempDir()
	events, model := filepath.Join(dir, "events.csv"), filepath.Join(dir, "model.gsimc")
	old := "SOURCE_DATE_EPOCH=" + strconv.FormatInt(time.Now().AddDate(0, 0, -21).Unix(), 10)
	for _, args := range [][]string{
		{"generate", "--users", "300", "--items", "120", "--events", "6000", "--out", events},
		{"train", "--data", events, "--rank", "16", "--out", model},
	} {
		cmd := exec.Command(path, args...)
		cmd.Env = append(os.Environ(), old)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("gsimc %v: %v\n%s", args, err, out)
		}
	}
	return model
}

// served is a running `gsimc serve`.
type served struct {
	cmd              *exec.Cmd
	ops, json, admin string // addresses
	model, dir       string // its files
	faults           string // folder of the files that switch faults on
	scheme           string // of the JSON calls
	client           *http.Client
	log              chan string
}

// serve starts a server with a copy of the model.
func (p *program) serve(t *testing.T, data string, args ...string) *served {
	t.Helper()
	s := &served{log: make(chan string, 10_000), dir: data, faults: t.TempDir(),
		model: filepath.Join(t.TempDir(), "model.gsimc"), scheme: "http",
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16,
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}}
	if slices.Contains(args, "--tls-cert") {
		s.scheme = "https"
	}
	write(t, s.model, read(t, p.model))
	if !slices.Contains(args, "--store") {
		args = append(args, "--data-dir", data)
	}
	s.cmd = exec.Command(p.path, append([]string{"serve", "--model", s.model, "--listen",
		"127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0",
		"--json-listen", "127.0.0.1:0", "--drain-delay", "0s", "--log-format", "json"}, args...)...)
	s.cmd.Env = append(os.Environ(), "GSIMC_PROVOKED="+s.faults)
	stderr := get(s.cmd.StderrPipe())(t)
	must(t, s.cmd.Start())
	t.Cleanup(func() { _ = s.cmd.Process.Kill(); _ = s.cmd.Wait() })
	go func() {
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			select {
			case s.log <- lines.Text():
			default: // more are not waited for
			}
		}
		close(s.log)
	}()
	var serving struct{ Ops, JSON, Admin string }
	must(t, json.Unmarshal([]byte(s.await(t, `"msg":"serving"`)), &serving))
	s.ops, s.json, s.admin = serving.Ops, serving.JSON, serving.Admin
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
	resp, err := s.client.Post(s.scheme+"://"+s.json+path, "application/json",
		strings.NewReader(body))
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// calls makes calls, 16 at a time, until a number of them had this status.
func (s *served) calls(t *testing.T, status, enough int, path, body string) {
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
		t.Errorf("%d of the calls to %s had status %d, want %d", got.Load(), path, status, enough)
	}
}

func (s *served) signal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	must(t, s.cmd.Process.Signal(sig))
}

// end ends the server, for good or by force.
func (s *served) end(t *testing.T, sig syscall.Signal) {
	t.Helper()
	s.signal(t, sig)
	for range s.log { // until it has ended
	}
	_ = s.cmd.Wait()
}

// fault switches a fault of testdata/provoked on or off.
func (s *served) fault(t *testing.T, name string, on bool) {
	t.Helper()
	file := filepath.Join(s.faults, name)
	if on {
		write(t, file, "")
	} else if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
}

// reserve is a --store-reserve that is more than the free space of a disk, and less than its size;
// empty if the disk is too empty for one.
func reserve(t *testing.T, dir string) string {
	t.Helper()
	var fs syscall.Statfs_t
	must(t, syscall.Statfs(dir, &fs))
	free, size := fs.Bavail*uint64(fs.Bsize), fs.Blocks*uint64(fs.Bsize)
	if size-free < 64<<20 {
		return ""
	}
	return fmt.Sprintf("%dMiB", (free+(size-free)/2)>>20)
}

func write(t *testing.T, file, text string) {
	t.Helper()
	must(t, os.WriteFile(file, []byte(text), 0o600))
}
