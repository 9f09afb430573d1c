package server

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
	"github.com/gsimc/gsimc/store/storetest"
)

// modelFiles writes two models to files and returns the path of a link that can be turned to
// either.
func modelFiles(t testing.TB) (paths [2]string, models [2]*model.Model) {
	t.Helper()
	for i := range paths {
		paths[i] = filepath.Join(t.TempDir(), "model.gsimc")
		models[i] = newModel(t, uint64(i+1))
		must(t, models[i].WriteFile(paths[i]))
	}
	return paths, models
}

// Models alternate under load, every fifth file is bad: no request fails, and every answer is
// wholly that of the model which it names. The files are mapped, so using a model after its release
// would crash.
func TestReloadUnderLoad(t *testing.T) {
	paths, _ := modelFiles(t)
	var current atomic.Pointer[string]
	current.Store(&paths[0])
	ts := start(t, setup{open: func() (*model.Model, error) { return model.Open(*current.Load()) }})
	for i := range 5 {
		ts.observe(t, newEvent("ann", i*5))
	}
	requests := []*pb.RecommendRequest{forUser("ann"), forHistory(2, 9, 4), forUser("nobody")}
	want := map[string][]*pb.RecommendResponse{}
	for i := range paths {
		current.Store(&paths[i])
		must(t, ts.Reload(t.Context()))
		for _, req := range requests {
			resp := ts.ask(t, req)
			want[resp.GetModelVersion()] = append(want[resp.GetModelVersion()], resp)
		}
	}
	check.MustSame(t, 2, len(want), "model versions")

	done := make(chan struct{})
	var clients sync.WaitGroup
	var answers atomic.Int64
	for range 4 {
		clients.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				resp, err := ts.recommend.Recommend(t.Context(), requests[i%3])
				if err != nil {
					t.Errorf("a request failed during a reload: %v", err)
					return
				}
				if w := want[resp.GetModelVersion()]; w == nil || !proto.Equal(w[i%3], resp) {
					t.Errorf("answer of version %q differs from that model's:\n%s",
						resp.GetModelVersion(), cmp.Diff(w, resp, protocmp.Transform()))
					return
				}
				answers.Add(1)
			}
		})
	}
	missing := filepath.Join(t.TempDir(), "missing")
	for i := range 60 {
		bad := i%5 == 4
		current.Store(&paths[i%2])
		if bad {
			current.Store(&missing)
		}
		if err := ts.Reload(t.Context()); (err != nil) != bad {
			t.Errorf("reload %d: %v", i, err)
		}
	}
	eventually(t, "requests are answered", func() bool { return answers.Load() > 50 })
	close(done)
	clients.Wait()
	same(t, 12.0, value1(t, ts, `gsimc_model_loads_total{result="failure"}`),
		"failed loads counted")
}

func TestReloadModel(t *testing.T) {
	first, second := newModel(t, 1), newModel(t, 2)
	next, failure := first, error(nil)
	ts := start(t, setup{open: func() (*model.Model, error) { return next, failure }})
	status := reply(t, ts.admin.GetStatus, &pb.GetStatusRequest{})
	if m := status.GetModel(); m.GetVersion() != first.Version() || m.GetItemCount() != testItems ||
		m.GetRank() != testRank ||
		m.GetGraph() != "hypergraph" || m.GetFilter() != "random-walk" ||
		!m.GetLoadTime().IsValid() ||
		m.GetDynamics() != "none" || m.GetTrainTime() != nil {
		t.Errorf("status: %v", status)
	}
	if status.GetDraining() || !status.GetStartTime().IsValid() ||
		status.GetBuildVersion() != "unknown" {
		t.Errorf("status: %v", status)
	}
	next = second
	resp, err := ts.admin.ReloadModel(ctx(t), &pb.ReloadModelRequest{})
	if err != nil || resp.GetModel().GetVersion() != second.Version() ||
		resp.GetPreviousVersion() != first.Version() {
		t.Errorf("ReloadModel: %v, %v", resp, err)
	}
	failure = errors.New("model.gsimc is truncated: 12 of 4096 bytes")
	_, err = ts.admin.ReloadModel(ctx(t), &pb.ReloadModelRequest{})
	same(t, problem{Code: codes.FailedPrecondition, Reason: "MODEL_REJECTED"}, problemOf(t, err),
		"ReloadModel of a bad file")
	check.Says(t, err, failure.Error(), "error of the file")
	check.Same(t, second.Version(), ts.ask(t, forUser("x")).GetModelVersion(),
		"the model after a bad file")
	if _, err := New(DefaultConfig(), memory.New(),
		func() (*model.Model, error) { return nil, failure }); !errors.Is(err, failure) {
		t.Errorf("New with a bad file: %v", err)
	}
}

// Events on an item that only the next model knows count from its load on, and those on an item
// that it no longer knows wait.
func TestPendingEventsJoin(t *testing.T) {
	next := newModel(t, 1)
	ts := start(t, setup{open: func() (*model.Model, error) { return next, nil }})
	ts.observe(t, &pb.Event{UserId: "ann", ItemId: "later"})
	ts.observe(t, newEvent("bob", testItems-1))
	check := func(user string, personal bool) {
		t.Helper()
		resp := reply(t, ts.users.GetUser, &pb.GetUserRequest{UserId: user})
		if got := resp.GetUser().GetPendingEventCount() == 0; got != personal {
			t.Errorf("%s has %d pending events", user, resp.GetUser().GetPendingEventCount())
		}
		got := ts.ask(t,
			forUser(user)).GetItems()[0].GetSource() == pb.ResultSource_RESULT_SOURCE_PERSONALIZED
		same(t, personal, got, "%s gets a personal list", user)
	}
	check("ann", false)
	check("bob", true)
	next = newModelOf(t, 1, func(i int) string {
		if i == testItems-1 {
			return "later"
		}
		return item(i)
	})
	must(t, ts.Reload(t.Context()))
	check("ann", true)
	check("bob", false)
}

// With streams open and a call in flight: probes turn at once, the streams are told, what was
// received is settled, and Serve returns nil.
func TestDrain(t *testing.T) {
	hooked := &hookedStore{Store: memory.New()}
	entered, release := make(chan struct{}), make(chan struct{})
	ts := start(t,
		setup{store: hooked,
			config: func(c *Config) {
				c.DrainDelay, c.DrainTimeout = 300*time.Millisecond,
					time.Hour
			}})
	s := runningStream(t, ts)
	watch, err := healthpb.NewHealthClient(ts.conn).Watch(ctx(t), &healthpb.HealthCheckRequest{})
	must(t, err)
	mustSame(t, healthpb.HealthCheckResponse_SERVING, check.Get(watch.Recv())(t).GetStatus(),
		"health")
	hooked.AppendFunc = func(c context.Context, r []store.Record) ([]store.Result, error) {
		close(entered)
		<-release
		return hooked.Store.Append(c, r)
	}
	inFlight := make(chan error, 1)
	go func() {
		_, err := ts.events.Observe(ctx(t), &pb.ObserveRequest{Event: newEvent("bob", 1)})
		inFlight <- err
	}()
	<-entered
	hooked.AppendFunc = nil

	ts.stop()
	same(t, healthpb.HealthCheckResponse_NOT_SERVING, check.Get(watch.Recv())(t).GetStatus(),
		"health while draining")
	if code, _ := ts.get(t, "/readyz"); code != http.StatusServiceUnavailable {
		t.Errorf("/readyz while draining: %d", code)
	}
	ts.ask(t, forUser("ann")) // still served during the delay
	if status, err := ts.admin.GetStatus(ctx(t), &pb.GetStatusRequest{}); err != nil ||
		!status.GetDraining() {
		t.Errorf("status while draining: %v, %v", status, err)
	}
	resp, err := s.Recv()
	if err != nil || !resp.GetDraining() || resp.GetAckedSequence() != 1 {
		t.Fatalf("the stream is told %v, %v", resp, err)
	}
	s.send(t, 2, newEvent("ann", 2)) // was on its way
	must(t, s.CloseSend())
	if got := s.rest(t); got.err != nil || got.acked != 2 || got.drained != 0 {
		t.Errorf("the stream ended with %+v", got)
	}
	close(release)
	check.Pass(t, <-inFlight, "the call in flight failed")
	ts.shutdown(t)
	check.Has(t, ts.logs.String(), `"delay_ms":300,`, "log of the drain, in milliseconds")
	for user, want := range map[string]uint64{"ann": 2, "bob": 1} {
		got := check.Get(storetest.Revision(t.Context(), hooked, user))(t)
		same(t, want, got, "events of %s", user)
	}
}

func TestPanicIsRecovered(t *testing.T) {
	hooked := &hookedStore{Store: memory.New()}
	hooked.AppendFunc = func(_ context.Context, r []store.Record) ([]store.Result, error) {
		panic("cannot store the event of " + r[0].User)
	}
	ts := start(t, setup{store: hooked})
	internal := problem{Code: codes.Internal, Reason: "INTERNAL"}
	_, err := ts.events.Observe(ctx(t), &pb.ObserveRequest{Event: newEvent("canary-user", 1)})
	same(t, internal, problemOf(t, err), "unary")
	s := openStream(t, ts)
	s.send(t, 1, newEvent("canary-user", 1))
	same(t, internal, problemOf(t, s.rest(t).err), "stream")
	ts.ask(t, forUser("ann"))
	same(t, 2.0, value1(t, ts, "gsimc_panics_total"), "panics counted")
	if logs := ts.logs.String(); !strings.Contains(logs, "lifecycle_test.go") ||
		strings.Contains(logs, "canary-user") {
		t.Errorf("the log lacks the stack or has request data:\n%s", logs)
	}
}

// The goroutine that receives for a stream is not the handler's: its panics must not end the
// process either.
func TestPanicWhileReceiving(t *testing.T) {
	var broken atomic.Bool
	ts := start(t, setup{config: func(c *Config) {
		now := c.Now
		c.Now = func() time.Time {
			if broken.Load() {
				panic("the clock has stopped")
			}
			return now()
		}
	}})
	s := runningStream(t, ts)
	broken.Store(true)
	s.send(t, 2, newEvent("ann", 2))
	same(t, problem{Code: codes.Internal, Reason: "INTERNAL"}, problemOf(t, s.rest(t).err),
		"the rest of the answer")
	broken.Store(false)
	same(t, 1.0, value1(t, ts, "gsimc_panics_total"), "panics counted")
	ts.observe(t, newEvent("ann", 2))
}

func TestNoGoroutineStays(t *testing.T) {
	before := runtime.NumGoroutine()
	ts := start(t, setup{})
	for range 5 {
		s := runningStream(t, ts)
		s.cancel()
	}
	ts.ask(t, forUser("ann"))
	http.DefaultClient.CloseIdleConnections()
	ts.conn.Close()
	ts.adminConn.Close()
	ts.shutdown(t)
	eventually(t, "all goroutines end", func() bool {
		http.DefaultClient.CloseIdleConnections()
		return runtime.NumGoroutine() <= before
	})
}

func TestRun(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Listen, cfg.AdminListen, cfg.OpsListen = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	cfg.DrainDelay = 0
	s, err := New(cfg, memory.New(), named(t, "paper"))
	must(t, err)
	c, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Run(c); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("Run: %v", err)
	}
	taken := listen(t)
	defer taken.Close()
	cfg.OpsListen = taken.Addr().String()
	s, err = New(cfg, memory.New(), named(t, "paper"))
	must(t, err)
	check.Says(t, s.Run(t.Context()), "OpsListen: ", "Run on an address in use")
}

// A shutdown leaves behind what hangs: an erasure on a disk that does not answer, whose caller has
// left, and a reload of a file that does not come.
func TestShutdownLeavesHangingCallsBehind(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	erasing, opening := make(chan struct{}), make(chan struct{})
	hooked := &hookedStore{Store: memory.New()}
	hooked.EraseFunc = func(context.Context, string) (uint64, error) {
		close(erasing)
		<-hang
		return 0, nil
	}
	opened := false
	ts := start(t, setup{
		store:  hooked,
		config: func(c *Config) { c.DrainTimeout = 50 * time.Millisecond },
		open: func() (*model.Model, error) {
			if opened {
				close(opening)
				<-hang
			}
			opened = true
			return newModel(t, 1), nil
		},
	})
	calls := make(chan error, 2)
	go func() {
		_, err := ts.users.DeleteUser(ctx(t), &pb.DeleteUserRequest{UserId: "ann"})
		calls <- err
	}()
	go func() {
		_, err := ts.admin.ReloadModel(ctx(t), &pb.ReloadModelRequest{})
		calls <- err
	}()
	<-erasing
	<-opening
	if !ts.Deadline().IsZero() {
		t.Error("there is a deadline before the shutdown")
	}
	ts.shutdown(t) // hangs if it waits for them
	for range cap(calls) {
		if err := <-calls; status.Code(err) != codes.Unavailable {
			t.Errorf("a call that was left behind: %v, want UNAVAILABLE", err)
		}
	}
	check.Has(t, ts.logs.String(), "leaving them behind", "the log")
	close(hang)
}
