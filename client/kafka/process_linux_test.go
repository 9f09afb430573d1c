package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/client"
)

// asProgram makes the program of the tests gsimc-kafka itself.
const asProgram = "GSIMC_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
		stop()
		os.Exit(code)
	}
	code := m.Run()
	if brokerOf.broker != nil {
		brokerOf.kill()
	}
	_ = os.RemoveAll(brokerOf.dir)
	os.Exit(code)
}

// output collects what a process writes, and may be read meanwhile.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// dyingWithParent has the kernel end a process when the thread that started it ends.
func dyingWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// process is a program that the end of the test kills.
type process struct {
	cmd *exec.Cmd
	err output
}

func start(t testing.TB, env []string, name string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(name, args...)}
	p.cmd.Env, p.cmd.Stderr = append(os.Environ(), env...), &p.err
	p.cmd.SysProcAttr = dyingWithParent()
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			log := p.err.String()
			t.Logf("log of %s:\n%s", filepath.Base(name), log[max(0, len(log)-4000):])
		}
	})
	return p
}

// kill is SIGKILL.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// stop is SIGTERM, after which the exit code must be 0.
func (p *process) stop(t testing.TB) {
	t.Helper()
	if err := errors.Join(p.cmd.Process.Signal(syscall.SIGTERM), p.cmd.Wait()); err != nil {
		t.Errorf("stopping: %v\n%s", err, p.err.String())
	}
}

// wait waits for the end and returns the exit code.
func (p *process) wait() int {
	_ = p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode()
}

// says waits until the log has the pattern, and returns its first group.
func (p *process) says(t testing.TB, pattern string) (found string) {
	t.Helper()
	re := regexp.MustCompile(pattern)
	eventually(t, "log with "+pattern, func() bool {
		m := re.FindStringSubmatch(p.err.String())
		if m != nil {
			found = m[1]
		}
		return m != nil
	})
	return found
}

// limit is how long what has to happen may take.
const limit = 5 * time.Minute

func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for begin := time.Now(); !is(); {
		if time.Since(begin) > limit {
			t.Fatalf("not within %s: %s", limit, what)
		}
		time.Sleep(20 * time.Millisecond) // between two looks at another process
	}
}

// server is a real `gsimc serve` with its store on disk.
type server struct {
	*process
	address string
	*client.Client
}

func startServer(t testing.TB, flags ...string) *server {
	t.Helper()
	binary, err := filepath.Abs("../../bin/gsimc")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(binary); err != nil {
		t.Fatalf("%v: run make build", err)
	}
	s := &server{process: start(t, nil, binary, append([]string{"serve", "--listen", "127.0.0.1:0",
		"--admin-listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--drain-delay", "0s",
		"--data-dir", t.TempDir(), "--retrain-every", "24h"}, flags...)...)}
	s.address = s.says(t, `"grpc":"([^"]+)"`)
	if s.Client, err = client.Dial(client.Options{Address: s.address}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// history returns the events of a user, the oldest first.
func (s *server) history(t testing.TB, user string) (events []*pb.Event) {
	t.Helper()
	stream, err := pb.NewUserServiceClient(s.Conn()).ExportUser(t.Context(),
		&pb.ExportUserRequest{UserId: user})
	if err != nil {
		t.Fatal(err)
	}
	for {
		message, err := stream.Recv()
		if err == io.EOF {
			return events
		}
		if err != nil {
			t.Fatalf("export of %s: %v", user, err)
		}
		for _, e := range message.GetEvents() {
			events = append(events, e.GetEvent())
		}
	}
}

// count returns the number of events of users 0 to n-1.
func (s *server) count(t testing.TB, users int) (events int) {
	t.Helper()
	for u := range users {
		got, err := pb.NewUserServiceClient(s.Conn()).GetUser(t.Context(),
			&pb.GetUserRequest{UserId: user(u)})
		if err == nil {
			events += int(got.GetUser().GetRevision())
		}
	}
	return events
}

func user(u int) string { return fmt.Sprintf("u%d", u) }

// consumer is a process of this program.
type consumer struct {
	*process
	pages string
}

func startConsumer(t testing.TB, args ...string) *consumer {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &consumer{process: start(t, []string{asProgram + "=1"}, exe,
		append(args, "--metrics-listen", "127.0.0.1:0")...)}
	c.pages = "http://" + c.says(t, `metrics=(\S+)`)
	return c
}

// page returns a page of the consumer and its status.
func (c *consumer) page(path string) (string, int) {
	answer, err := http.Get(c.pages + path)
	if err != nil {
		return err.Error(), 0
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return string(text), answer.StatusCode
}

// sum adds the values of all metrics whose line begins so.
func (c *consumer) sum(prefix string) (sum float64) {
	text, _ := c.page("/metrics")
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, prefix) {
			value, _ := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndex(line, " "):]), 64)
			sum += value
		}
	}
	return sum
}
