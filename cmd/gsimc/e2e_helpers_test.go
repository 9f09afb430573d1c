package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gsimc/gsimc/client"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/child"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/enginetest"
	"github.com/gsimc/gsimc/internal/test/proctest"
	"github.com/gsimc/gsimc/internal/test/soak"

	"google.golang.org/grpc"
)

// binaryDir holds the binary that binary builds.
var binaryDir string

func TestMain(m *testing.M) {
	var err error
	if binaryDir, err = os.MkdirTemp("", "gsimc-test-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	enginetest.End()
	if err := os.RemoveAll(binaryDir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// binary builds gsimc as a user would, once for all tests, and returns its path. Under -short it
// skips the test: see soak.Processes.
func binary(t testing.TB) string {
	t.Helper()
	soak.Processes(t, "the real binary")
	return check.Get(buildBinary())(t)
}

var buildBinary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(binaryDir, "gsimc")
	return path, build(path)
})

// build compiles gsimc.
func build(path string, flags ...string) error {
	cmd := exec.Command("go", append(append([]string{"build", "-buildvcs=false", "-tags",
		"grpcnotrace", "-o", path}, flags...), ".")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// gsimc starts the real binary.
func gsimc(t testing.TB, args ...string) *proctest.Process {
	t.Helper()
	return proctest.Start(t, nil, binary(t), args...)
}

// execute runs the real binary to its end and returns what it printed; any exit code but 0 fails
// the test.
func execute(t testing.TB, args ...string) string {
	t.Helper()
	p := gsimc(t, args...)
	if code := p.Wait(); code != cli.ExitOK {
		t.Fatalf("gsimc %s: exit code %d\n%s", strings.Join(args, " "), code, &p.Err)
	}
	return p.Out.String()
}

// serverProcess is a running `gsimc serve`. stop (SIGTERM, exit code 0) and kill (SIGKILL) end it;
// the end of the test kills it if it still runs.
type serverProcess struct {
	*child.Server
	log *proctest.Output
}

// startServe starts the real binary on free ports of the loopback interface with the model and the
// store in dir, and waits until it serves. flags are added, and go before the ones given here.
func startServe(t testing.TB, model, dir string, flags ...string) *serverProcess {
	t.Helper()
	return startServeIn(t, nil, model, dir, flags...)
}

// startServeIn is startServe with more variables in the environment.
func startServeIn(t testing.TB, env []string, model, dir string, flags ...string) *serverProcess {
	t.Helper()
	return start(t, env, append([]string{"--model", model, "--data-dir", dir,
		"--drain-delay", "0s"}, flags...)...)
}

// start starts a server on free ports with these flags.
func start(t testing.TB, env []string, flags ...string) *serverProcess {
	t.Helper()
	return startOf(t, binary(t), env, flags...)
}

// serveFlags are the arguments of `serve` on free ports.
func serveFlags(flags ...string) []string {
	return append([]string{"serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
		"--ops-listen", "127.0.0.1:0"}, flags...)
}

// startOf is start of another program.
func startOf(t testing.TB, path string, env []string, flags ...string) *serverProcess {
	t.Helper()
	p := &serverProcess{log: &proctest.Output{}}
	var err error
	p.Server, err = child.Start(context.Background(), path, serveFlags(flags...),
		append(os.Environ(), env...), p.log)
	check.Must(t, err)
	t.Cleanup(func() {
		if err := p.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("killing the server: %v", err)
		}
		if t.Failed() {
			t.Logf("log of the server:\n%s", p.log)
		}
	})
	return p
}

// mustStop stops the server and fails the test if it does not exit with 0.
func (p *serverProcess) mustStop(t testing.TB) {
	t.Helper()
	check.Must(t, p.Stop())
}

// metricsPage is what Prometheus reads.
func (p *serverProcess) metricsPage(t testing.TB) string { return p.page(t, "/metrics") }

// page is a page of the ops listener.
func (p *serverProcess) page(t testing.TB, path string) string {
	t.Helper()
	return get(t, "http://"+p.Ops+path)
}

// get reads a page, which must be there.
func get(t testing.TB, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	check.Must(t, err)
	defer resp.Body.Close()
	body := check.Get(io.ReadAll(resp.Body))(t)
	check.Same(t, http.StatusOK, resp.StatusCode, "%s: %s: %s", url, resp.Status, body)
	return string(body)
}

// awaitLog waits until the server's log has the text that many times.
func (p *serverProcess) awaitLog(t testing.TB, text string, times int) {
	t.Helper()
	await(t, fmt.Sprintf("the log of the server says %s %d times", text, times), func() bool {
		return strings.Count(p.log.String(), text) >= times
	})
}

// client returns a connection to the server that ends with the test.
func (p *serverProcess) client(t testing.TB) grpc.ClientConnInterface { return p.dial(t).Conn() }

// dial returns a client of the server that is closed with the test.
func (p *serverProcess) dial(t testing.TB) *client.Client { return dialTo(t, p.GRPC) }

// dialAdmin returns a client of its AdminService.
func (p *serverProcess) dialAdmin(t testing.TB) *client.Client { return dialTo(t, p.Admin) }

func dialTo(t testing.TB, address string) *client.Client {
	t.Helper()
	c := check.Get(client.Dial(client.Options{Address: address}))(t)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// small are the events and the model of smallModel, which take longer to make than to copy.
var small struct {
	once          sync.Once
	events, model string
}

// smallItems is the number of items of smallModel: "0", "1", …
const smallItems = 120

// smallModel generates events and trains a model of rank 16 in this process, and returns the paths
// of both, which are the test's own.
func smallModel(t testing.TB) (events, model string) {
	t.Helper()
	dir := t.TempDir()
	events, model = filepath.Join(dir, "events.csv.gz"), filepath.Join(dir, "model.gsimc")
	small.once.Do(func() {
		trainSmall(t, events, model, "1")
		small.events, small.model = mustRead(t, events), mustRead(t, model)
	})
	if small.model == "" {
		t.Fatal("another test could not train the model")
	}
	write(t, events, small.events)
	write(t, model, small.model)
	return events, model
}

func trainSmall(t testing.TB, events, model, seed string, env ...string) {
	t.Helper()
	for _, args := range [][]string{
		{"generate", "--users", "300", "--items", fmt.Sprint(smallItems), "--events", "6000", "--seed", seed,
			"--out", events},
		{"train", "--data", events, "--rank", "16", "--seed", seed, "--out", model},
	} {
		mustRunIn(t, env, args...)
	}
}
