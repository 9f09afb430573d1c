package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/client"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/proctest"
)

// asProgram makes the program of the tests gsimc-kafka itself.
const asProgram = "GSIMC_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	code := m.Run()
	if brokerOf.broker != nil {
		brokerOf.kill()
	}
	_ = os.RemoveAll(brokerOf.dir)
	os.Exit(code)
}

// server is a real `gsimc serve` with its store on disk.
type server struct {
	*proctest.Process
	address string
	*client.Client
}

func startServer(t testing.TB, flags ...string) *server {
	t.Helper()
	binary := check.Get(filepath.Abs("../../bin/gsimc"))(t)
	if _, err := os.Stat(binary); err != nil {
		t.Fatalf("%v: run make build", err)
	}
	s := &server{Process: proctest.Start(t, nil, binary, append([]string{"serve", "--listen", "127.0.0.1:0",
		"--admin-listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--drain-delay", "0s",
		"--data-dir", t.TempDir(), "--retrain-every", "24h"}, flags...)...)}
	s.address = s.Says(t, `"grpc":"([^"]+)"`)
	s.Client = check.Get(client.Dial(client.Options{Address: s.address}))(t)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// history returns the events of a user, the oldest first.
func (s *server) history(t testing.TB, user string) (events []*pb.Event) {
	t.Helper()
	stream := check.Get(pb.NewUserServiceClient(s.Conn()).ExportUser(t.Context(),
		&pb.ExportUserRequest{UserId: user}))(t)
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
	*proctest.Process
	pages string
}

func startConsumer(t testing.TB, args ...string) *consumer {
	t.Helper()
	exe := check.Get(os.Executable())(t)
	c := &consumer{Process: proctest.Start(t, []string{asProgram + "=1"}, exe,
		append(args, "--metrics-listen", "127.0.0.1:0")...)}
	c.pages = "http://" + c.Says(t, `metrics=(\S+)`)
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
