package loadtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/nettest"
)

func dial(t *testing.T, address string, connections int) *Client {
	t.Helper()
	c := check.Get(Dial(address, connections))(t)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// echoClient returns a client of an echo whose list has one item.
func echoClient(t *testing.T) *Client {
	t.Helper()
	e, err := NewEcho(encode(&pb.RecommendResponse{Items: []*pb.ScoredItem{{ItemId: "item-00"}},
		ModelVersion: "m"}),
		encode(&pb.ObserveResponse{Disposition: pb.EventDisposition_EVENT_DISPOSITION_APPLIED,
			UserRevision: 1}))
	check.Must(t, err)
	l := check.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := e.Serve(ctx, l); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
	return dial(t, l.Addr().String(), 2)
}

// An echo whose context has ended serves nothing, which is no failure.
func TestEchoEndsEarly(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e := check.Get(NewEcho(nil, nil))(t)
	l := check.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	check.Pass(t, e.Serve(ctx, l), "Serve after the end of its context")
}

func testSuite(t *testing.T) *Suite {
	t.Helper()
	c := echoClient(t)
	return &Suite{
		Server: c, Echo: c, Traffic: testTraffic(), Warmup: 50 * time.Millisecond,
		Duration: 150 * time.Millisecond, Timeout: 5 * time.Second,
		Repetitions: 2, Progress: func(string, int, int) {},
	}
}

func (s *Suite) find(t *testing.T, group, name string) Series {
	t.Helper()
	for _, x := range s.Series() {
		if x.Group == group && x.Name == name {
			return x
		}
	}
	t.Fatalf("no series %q in %q", name, group)
	return Series{}
}

// An echo compared with itself is as fast as itself, and it shows nothing of what it is told.
func TestScenariosOnEcho(t *testing.T) {
	s := testSuite(t)
	shown, err := runScenarios(t, s)
	for errors.Is(err, errTooShort) && s.Duration < 10*time.Second { // a machine that stands still
		longer := testSuite(t)
		longer.Duration = 4 * s.Duration
		s = longer
		shown, err = runScenarios(t, s)
	}
	if err != nil {
		t.Error(err)
	}
	for _, want := range []struct{ group, name string }{
		{"latency", "Recommend p50 / (echo p50 + in-process p50)"},
		{"throughput", "Recommend rate / echo rate"},
		{"observe", "Observe rate / echo rate"},
		{"observe", "(Observe p50 - echo p50) / durable write p50"},
		{"mixed", "Recommend p99 / p50"},
		{"sweep clients", "Recommend rate"},
	} {
		x := s.find(t, want.group, want.name)
		if len(x.Points) != 1 || x.Points[0].Y.Repetitions != 2 {
			t.Errorf("%s has points %+v, want one of 2 repetitions", want.name, x.Points)
		}
	}
	if want := "sweep clients, 4 clients"; !slices.Contains(shown, want) ||
		slices.Contains(shown, "sweep clients") {
		t.Errorf("progress of %q, want of %q: each point begins anew", shown, want)
	}
	followed, violations := s.find(t, "visibility", "events followed"), s.find(t, "visibility",
		"violations")
	if f, v := followed.Points[0].Y.Median, violations.Points[0].Y.Median; f == 0 || v != f {
		t.Errorf("%v of %v events are violations, want all: an echo forgets", v, f)
	}
}

// runScenarios runs each scenario and returns what the progress showed.
func runScenarios(t *testing.T, s *Suite) (shown []string, err error) {
	s.InProcess = callerFunc(func(context.Context, Request) error {
		time.Sleep(time.Millisecond)
		return nil
	})
	s.Sync = func() (time.Duration, error) { return time.Millisecond, nil }
	s.Traffic.Stream = 0 // an echo has no streams
	s.Progress = func(what string, _, _ int) { shown = append(shown, what) }
	for name, run := range map[string]func(context.Context) error{
		"latency":    s.Latency,
		"throughput": func(ctx context.Context) error { return s.Throughput(ctx, 4) },
		"observe":    func(ctx context.Context) error { return s.Observe(ctx, 4) },
		"mixed": func(ctx context.Context) error {
			return s.Mixed(ctx, Load{Share: 0.5, InFlight: 4})
		},
		"visibility": func(ctx context.Context) error { return s.Visibility(ctx, 4) },
		"sweep": func(ctx context.Context) error {
			return s.CostOfClients(ctx, Axis{"clients", "clients"}, 4)
		},
	} {
		if err := run(t.Context()); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return shown, nil
}

// What was measured before an interrupt stays; the round that it cut short does not count.
func TestInterruptedSuite(t *testing.T) {
	s := testSuite(t)
	s.Repetitions = 5
	ctx, cancel := context.WithCancel(t.Context())
	rounds := 0
	err := s.rounds(ctx, "group", "", 0, 1, func(_ context.Context, r *round) error {
		r.add("figure", "count", float64(rounds))
		if rounds++; rounds == 3 { // the last one is cut short
			cancel()
		}
		return nil
	})
	check.Fails(t, err, context.Canceled, "end of the context")
	if got := s.find(t, "group", "figure").Points[0].Y; got != (Spread{0, 0.5, 1, 2}) {
		t.Errorf("%+v, want the figures 0 and 1", got)
	}
}

// A server that answers nothing is an error with its reason, not a table.
func TestFailingServer(t *testing.T) {
	s := testSuite(t)
	s.Server = dial(t, "127.0.0.1:1", 1)
	if err := s.Latency(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "connection refused") || len(s.Series()) > 0 {
		t.Errorf("error %v and %d series, want the reason and none", err, len(s.Series()))
	}
}

// streamServer acknowledges every third message and keeps the items of each user.
type streamServer struct {
	pb.UnimplementedEventServiceServer
	breakAt, reject uint64 // sequences within a message of it; 0: never

	mu    sync.Mutex
	items map[string][]string
	total int
}

func (f *streamServer) StreamObserve(stream pb.EventService_StreamObserveServer) error {
	next := uint64(1)
	for messages := 1; ; messages++ {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		events := m.GetEvents()
		if e := m.GetEvent(); e != nil {
			events = append(events, e)
		}
		if m.GetSequence() != next || !f.take(events) {
			return status.Error(codes.InvalidArgument, "out of order")
		}
		first, last := next, next+uint64(len(events))-1
		next = last + 1
		within := func(sequence uint64) bool { return first <= sequence && sequence <= last }
		if within(f.breakAt) {
			return status.Error(codes.Unavailable, "broken")
		}
		ack := &pb.StreamObserveResponse{AckedSequence: last}
		if within(f.reject) {
			ack.Exceptions = []*pb.StreamEventResult{{Sequence: f.reject, Result: &pb.EventResult{
				Disposition: pb.EventDisposition_EVENT_DISPOSITION_REJECTED,
				Error:       &statuspb.Status{Message: "no such thing"},
			}}}
		}
		if messages%3 == 0 || within(f.reject) {
			if err := stream.Send(ack); err != nil {
				return err
			}
		}
	}
}

// take reports whether the events are complete.
func (f *streamServer) take(events []*pb.Event) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.items == nil {
		f.items = map[string][]string{}
	}
	for _, e := range events {
		if e.GetItemId() == "" {
			return false
		}
		f.items[e.GetUserId()] = append(f.items[e.GetUserId()], e.GetItemId())
	}
	f.total += len(events)
	return len(events) > 0
}

func serveStreams(t *testing.T, f *streamServer) *Client {
	t.Helper()
	address, _ := nettest.Serve(t, func(g *grpc.Server) { pb.RegisterEventServiceServer(g, f) })
	return dial(t, address, 2)
}

func TestPreload(t *testing.T) {
	traffic := testTraffic()
	for _, c := range []struct {
		name   string
		server *streamServer
		want   string // of the error
	}{
		{"all", &streamServer{}, ""},
		{"broken", &streamServer{breakAt: 100}, "broken"},
		{"rejected", &streamServer{reject: 50}, "no such thing"},
	} {
		client := serveStreams(t, c.server)
		// 6000 events: three messages on each of two connections
		const first, users, n = 10, 500, 12
		err := client.Preload(t.Context(), &traffic, first, first+users, n, func(int, int) {})
		if c.want != "" {
			check.Says(t, err, c.want, "%s", c.name)
			continue
		}
		if err != nil || c.server.total != users*n {
			t.Errorf("%s: error %v after %d events, want %d", c.name, err, c.server.total, users*n)
		}
		for u := first; u < first+users; u++ {
			var want []string
			for _, item := range traffic.Loaded(u, n) {
				want = append(want, traffic.Items[item])
			}
			check.MustSame(t, want, c.server.items[UserID(u)], "%s: history of user %d", c.name, u)
		}
	}
}

// A streamed event of a mix is answered when it is acknowledged, and a new stream follows on a
// broken one.
func TestStreamCall(t *testing.T) {
	client := serveStreams(t, &streamServer{breakAt: 4})
	var wg sync.WaitGroup
	var settled, broken atomic.Int64
	for range 60 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			if err := client.Call(ctx,
				Request{Stream, encode(&pb.Event{ItemId: "i"})}); err == nil {
				settled.Add(1)
			} else {
				broken.Add(1)
			}
		})
	}
	wg.Wait()
	if settled.Load() < 3 || broken.Load() < 1 {
		t.Errorf("%d events settled and %d broke, want both", settled.Load(), broken.Load())
	}
}

// The processor time of a call is that between the first call and the end of what it leaves behind,
// divided by the calls.
func TestServerProcessorTime(t *testing.T) {
	s := testSuite(t)
	s.Repetitions = 1
	used := time.Minute // before the measurement
	s.Work = func() time.Duration { return used }
	s.Settle = func(context.Context) { used += time.Second }
	check.Must(t, s.Observe(t.Context(), 4))
	calls := s.find(t, "observe", "Observe rate").Points[0].Y.Median * s.Duration.Seconds()
	got := s.find(t, "observe", "server processor time, Observe").Points[0].Y.Median
	// The calls of the warm-up count too, and the rate does not have them.
	if most := 1e6 / calls; got > 1.001*most || got < most/10 {
		t.Errorf("%g µs for a call of %g, want at most %g", got, calls, most)
	}
}
