package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// value1 is the value of one series on /metrics.
func value1(t testing.TB, ts *testServer, series string) float64 {
	t.Helper()
	_, page := ts.get(t, "/metrics")
	for sc := bufio.NewScanner(strings.NewReader(page)); sc.Scan(); {
		if rest, found := strings.CutPrefix(sc.Text(), series+" "); found {
			v, err := strconv.ParseFloat(rest, 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
	}
	t.Fatalf("no series %s on /metrics", series)
	return 0
}

// modelFiles writes two models to files and returns the path of a link that can be turned to either.
func modelFiles(t testing.TB) (paths [2]string, models [2]*model.Model) {
	t.Helper()
	for i := range paths {
		paths[i] = filepath.Join(t.TempDir(), "model.gsimc")
		models[i] = newModel(t, uint64(i+1))
		if err := models[i].WriteFile(paths[i]); err != nil {
			t.Fatal(err)
		}
	}
	return paths, models
}

// Models alternate under load, every fifth file is bad: no request fails, and every answer is wholly that of the model
// which it names. The files are mapped, so using a model after its release would crash.
func TestReloadUnderLoad(t *testing.T) {
	paths, _ := modelFiles(t)
	var current atomic.Pointer[string]
	current.Store(&paths[0])
	ts := start(t, setup{open: func() (*model.Model, error) { return model.Open(*current.Load()) }})
	for i := range 5 {
		ts.observe(t, event("ann", i*5))
	}
	requests := []*pb.RecommendRequest{forUser("ann"), forHistory(2, 9, 4), forUser("nobody")}
	want := map[string][]*pb.RecommendResponse{}
	for i := range paths {
		current.Store(&paths[i])
		if err := ts.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, req := range requests {
			resp := ts.ask(t, req)
			want[resp.GetModelVersion()] = append(want[resp.GetModelVersion()], resp)
		}
	}
	if len(want) != 2 {
		t.Fatalf("%d model versions, want 2", len(want))
	}

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
					t.Errorf("answer of version %q differs from that model's:\n%s", resp.GetModelVersion(), cmp.Diff(w, resp, protocmp.Transform()))
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
	if got := value1(t, ts, `gsimc_model_loads_total{result="failure"}`); got != 12 {
		t.Errorf("%v failed loads counted, want 12", got)
	}
}

func TestReloadModel(t *testing.T) {
	first, second := newModel(t, 1), newModel(t, 2)
	next, failure := first, error(nil)
	ts := start(t, setup{open: func() (*model.Model, error) { return next, failure }})
	status, err := ts.admin.GetStatus(ctx(t), &pb.GetStatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if m := status.GetModel(); m.GetVersion() != first.Version() || m.GetItemCount() != testItems || m.GetRank() != testRank ||
		m.GetGraph() != "hypergraph" || m.GetFilter() != "random-walk" || !m.GetLoadTime().IsValid() {
		t.Errorf("status: %v", status)
	}
	if status.GetDraining() || !status.GetStartTime().IsValid() || status.GetBuildVersion() != "unknown" {
		t.Errorf("status: %v", status)
	}
	next = second
	resp, err := ts.admin.ReloadModel(ctx(t), &pb.ReloadModelRequest{})
	if err != nil || resp.GetModel().GetVersion() != second.Version() || resp.GetPreviousVersion() != first.Version() {
		t.Errorf("ReloadModel: %v, %v", resp, err)
	}
	failure = errors.New("model.gsimc is truncated: 12 of 4096 bytes")
	_, err = ts.admin.ReloadModel(ctx(t), &pb.ReloadModelRequest{})
	if d := cmp.Diff(problem{Code: codes.FailedPrecondition, Reason: "MODEL_REJECTED"}, problemOf(t, err)); d != "" {
		t.Errorf("ReloadModel of a bad file (-want +got):\n%s", d)
	}
	if !strings.Contains(err.Error(), failure.Error()) {
		t.Errorf("the error %q does not say what is wrong with the file", err)
	}
	if got := ts.ask(t, forUser("x")); got.GetModelVersion() != second.Version() {
		t.Error("a bad file took the place of the model")
	}
	if _, err := New(DefaultConfig(), memory.New(), func() (*model.Model, error) { return nil, failure }); !errors.Is(err, failure) {
		t.Errorf("New with a bad file: %v", err)
	}
}

// Events on an item that only the next model knows count from its load on, and those on an item that it no longer knows
// wait.
func TestPendingEventsJoin(t *testing.T) {
	next := newModel(t, 1)
	ts := start(t, setup{open: func() (*model.Model, error) { return next, nil }})
	ts.observe(t, &pb.Event{UserId: "ann", ItemId: "later"})
	ts.observe(t, event("bob", testItems-1))
	check := func(user string, personal bool) {
		t.Helper()
		resp, err := ts.users.GetUser(ctx(t), &pb.GetUserRequest{UserId: user})
		if err != nil {
			t.Fatal(err)
		}
		if got := resp.GetUser().GetPendingEventCount() == 0; got != personal {
			t.Errorf("%s has %d pending events", user, resp.GetUser().GetPendingEventCount())
		}
		got := ts.ask(t, forUser(user)).GetItems()[0].GetSource() == pb.ResultSource_RESULT_SOURCE_PERSONALIZED
		if got != personal {
			t.Errorf("%s gets a personal list: %v, want %v", user, got, personal)
		}
	}
	check("ann", false)
	check("bob", true)
	next = newModelOf(t, 1, func(i int) string {
		if i == testItems-1 {
			return "later"
		}
		return item(i)
	})
	if err := ts.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("ann", true)
	check("bob", false)
}

func TestHealthAndProbes(t *testing.T) {
	ts := start(t, setup{})
	health := healthpb.NewHealthClient(ts.conn)
	for _, service := range []string{"", "gsimc.v1.RecommenderService", "gsimc.v1.EventService", "gsimc.v1.UserService", "gsimc.v1.AdminService"} {
		resp, err := health.Check(ctx(t), &healthpb.HealthCheckRequest{Service: service})
		if err != nil || resp.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("health of %q: %v, %v", service, resp.GetStatus(), err)
		}
	}
	for path, want := range map[string]int{"/livez": 200, "/readyz": 200, "/metrics": 200, "/debug/pprof/": 200, "/debug/pprof/goroutine": 200, "/": 404} {
		if got, _ := ts.get(t, path); got != want {
			t.Errorf("GET %s: %d, want %d", path, got, want)
		}
	}
	refl, err := grpc_reflection_v1.NewServerReflectionClient(ts.conn).ServerReflectionInfo(ctx(t))
	if err != nil {
		t.Fatal(err)
	}
	list := &grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}}
	if err := refl.Send(list); err != nil {
		t.Fatal(err)
	}
	resp, err := refl.Recv()
	if err != nil || len(resp.GetListServicesResponse().GetService()) < 5 {
		t.Errorf("reflection: %v, %v", resp, err)
	}
	if err := refl.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if err := ts.store.Close(); err != nil {
		t.Fatal(err)
	}
	if got, body := ts.get(t, "/readyz"); got != http.StatusServiceUnavailable || !strings.Contains(body, "store") {
		t.Errorf("/readyz with a closed store: %d %s", got, body)
	}
	if got, _ := ts.get(t, "/livez"); got != 200 {
		t.Errorf("/livez with a closed store: %d", got)
	}
}

// Every metric that the documentation names is there, before anything happened.
func TestMetricsExist(t *testing.T) {
	metrics := NewMetrics()
	ts := start(t, setup{config: func(c *Config) { c.Metrics, c.BuildVersion = metrics, "v1" }})
	metrics.StoreSynced(3 * time.Millisecond)
	ts.observe(t, event("ann", 1))
	ts.ask(t, forUser("ann"))
	ts.ask(t, forUser("nobody"))
	version := newModel(t, 1).Version()
	for series, want := range map[string]float64{
		`gsimc_events_total{disposition="applied"}`:                                           1,
		`gsimc_events_total{disposition="rejected"}`:                                          0,
		`gsimc_recommend_results_total{source="personalized"}`:                                10,
		`gsimc_recommend_results_total{source="popular"}`:                                     10,
		`gsimc_recommend_degraded_total{reason="unknown_user"}`:                               1,
		`gsimc_recommend_degraded_total{reason="filter_too_narrow"}`:                          0,
		`gsimc_recommend_stage_seconds_count{stage="state"}`:                                  2,
		`gsimc_recommend_stage_seconds_count{stage="filter"}`:                                 2,
		`gsimc_recommend_stage_seconds_count{stage="topn"}`:                                   2,
		`gsimc_recommend_stage_seconds_count{stage="encode"}`:                                 2,
		`gsimc_observe_visible_seconds_count`:                                                 1,
		`gsimc_store_sync_seconds_count`:                                                      1,
		`gsimc_store_sync_seconds_bucket{le="0.002"}`:                                         0,
		`gsimc_store_sync_seconds_bucket{le="0.003"}`:                                         1,
		`gsimc_user_states`:                                                                   1,
		`gsimc_user_state_requests_total{result="hit"}`:                                       1,
		`gsimc_user_state_requests_total{result="advance"}`:                                   0,
		`gsimc_model_info{filter="random-walk",graph="hypergraph",version="` + version + `"}`: 1,
		`gsimc_model_items`:                                                                   testItems,
		`gsimc_model_rank`:                                                                    testRank,
		`gsimc_model_loads_total{result="success"}`:                                           1,
		`gsimc_build_info{version="v1"}`:                                                      1,
		`gsimc_draining`:                                                                      0,
		`gsimc_panics_total`:                                                                  0,
		`grpc_server_handled_total{grpc_code="OK",grpc_method="Recommend",grpc_service="gsimc.v1.RecommenderService",grpc_type="unary"}`: 2,
		`grpc_server_handling_seconds_bucket{grpc_method="Observe",grpc_service="gsimc.v1.EventService",grpc_type="unary",le="1"}`:       1,
		`grpc_server_handling_seconds_bucket{grpc_method="Observe",grpc_service="gsimc.v1.EventService",grpc_type="unary",le="+Inf"}`:    1,
		`grpc_server_started_total{grpc_method="DeleteUser",grpc_service="gsimc.v1.UserService",grpc_type="unary"}`:                      0,
	} {
		if got := value1(t, ts, series); got != want {
			t.Errorf("%s = %v, want %v", series, got, want)
		}
	}
	for _, series := range []string{"gsimc_user_state_bytes", "gsimc_store_bytes", "gsimc_model_load_timestamp_seconds", "go_goroutines", "process_open_fds"} {
		if value1(t, ts, series) <= 0 {
			t.Errorf("%s is not positive", series)
		}
	}
}

// With streams open and a call in flight: probes turn at once, the streams are told, what was received is settled, and
// Serve returns nil.
func TestDrain(t *testing.T) {
	hooked := &hookedStore{Store: memory.New()}
	entered, release := make(chan struct{}), make(chan struct{})
	ts := start(t, setup{store: hooked, config: func(c *Config) { c.DrainDelay, c.DrainTimeout = 300*time.Millisecond, time.Hour }})
	s := openStream(t, ts)
	s.send(t, 1, event("ann", 1))
	if resp, err := s.Recv(); err != nil || resp.GetAckedSequence() != 1 {
		t.Fatal(resp, err)
	}
	watch, err := healthpb.NewHealthClient(ts.conn).Watch(ctx(t), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := watch.Recv(); err != nil || resp.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Fatal(resp, err)
	}
	hooked.append = func(c context.Context, r []store.Record) ([]store.Result, error) {
		close(entered)
		<-release
		return hooked.Store.Append(c, r)
	}
	inFlight := make(chan error, 1)
	go func() {
		_, err := ts.events.Observe(ctx(t), &pb.ObserveRequest{Event: event("bob", 1)})
		inFlight <- err
	}()
	<-entered
	hooked.append = nil

	ts.stop()
	if resp, err := watch.Recv(); err != nil || resp.GetStatus() != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Errorf("health while draining: %v, %v", resp, err)
	}
	if code, _ := ts.get(t, "/readyz"); code != http.StatusServiceUnavailable {
		t.Errorf("/readyz while draining: %d", code)
	}
	ts.ask(t, forUser("ann")) // still served during the delay
	if status, err := ts.admin.GetStatus(ctx(t), &pb.GetStatusRequest{}); err != nil || !status.GetDraining() {
		t.Errorf("status while draining: %v, %v", status, err)
	}
	resp, err := s.Recv()
	if err != nil || !resp.GetDraining() || resp.GetAckedSequence() != 1 {
		t.Fatalf("the stream is told %v, %v", resp, err)
	}
	s.send(t, 2, event("ann", 2)) // was on its way
	if err := s.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if got := s.rest(t); got.err != nil || got.acked != 2 || got.drained != 0 {
		t.Errorf("the stream ended with %+v", got)
	}
	close(release)
	if err := <-inFlight; err != nil {
		t.Errorf("the call in flight failed: %v", err)
	}
	ts.shutdown(t)
	for user, want := range map[string]uint64{"ann": 2, "bob": 1} {
		if got, err := hooked.Revision(t.Context(), user); err != nil || got != want {
			t.Errorf("%s has %d events (%v), want %d", user, got, err, want)
		}
	}
}

// A client that does not close its stream is cut off when the drain has timed out, with a status that says so.
func TestDrainTimeout(t *testing.T) {
	ts := start(t, setup{config: func(c *Config) { c.DrainTimeout = 200 * time.Millisecond }})
	s := openStream(t, ts)
	s.send(t, 1, event("ann", 1))
	if _, err := s.Recv(); err != nil {
		t.Fatal(err)
	}
	ts.stop()
	got := s.rest(t)
	if d := cmp.Diff(problem{Code: codes.Unavailable, Reason: "DRAINING", Retry: true}, problemOf(t, got.err)); d != "" {
		t.Errorf("end of the stream (-want +got):\n%s", d)
	}
	if got.drained != 1 {
		t.Errorf("the stream was told %d times, want once", got.drained)
	}
	ts.shutdown(t)
}

func TestPanicIsRecovered(t *testing.T) {
	hooked := &hookedStore{Store: memory.New()}
	hooked.append = func(_ context.Context, r []store.Record) ([]store.Result, error) {
		panic("cannot store the event of " + r[0].User)
	}
	ts := start(t, setup{store: hooked})
	internal := problem{Code: codes.Internal, Reason: "INTERNAL"}
	_, err := ts.events.Observe(ctx(t), &pb.ObserveRequest{Event: event("canary-user", 1)})
	if d := cmp.Diff(internal, problemOf(t, err)); d != "" {
		t.Errorf("unary (-want +got):\n%s", d)
	}
	s := openStream(t, ts)
	s.send(t, 1, event("canary-user", 1))
	if d := cmp.Diff(internal, problemOf(t, s.rest(t).err)); d != "" {
		t.Errorf("stream (-want +got):\n%s", d)
	}
	ts.ask(t, forUser("ann"))
	if got := value1(t, ts, "gsimc_panics_total"); got != 2 {
		t.Errorf("%v panics counted, want 2", got)
	}
	if logs := ts.logs.String(); !strings.Contains(logs, "lifecycle_test.go") || strings.Contains(logs, "canary-user") {
		t.Errorf("the log lacks the stack or has request data:\n%s", logs)
	}
}

// No user, item or event id in the logs, on /metrics, or on the pages of the ops listener.
func TestIDsStayPrivate(t *testing.T) {
	ts := start(t, setup{config: func(c *Config) { c.SlowRequest = time.Nanosecond * 1000; c.LogKey = []byte("key") }})
	const canary = "canary-7f3a"
	e := &pb.Event{UserId: canary, ItemId: canary, EventId: canary}
	ts.observe(t, e)
	if _, err := ts.events.Observe(ctx(t), &pb.ObserveRequest{Event: &pb.Event{UserId: canary, ItemId: "other", EventId: canary}}); err == nil {
		t.Error("a conflict is accepted")
	}
	if _, err := ts.events.Observe(ctx(t), &pb.ObserveRequest{Event: &pb.Event{UserId: canary + strings.Repeat("x", 300)}}); err == nil ||
		strings.Contains(err.Error(), canary) {
		t.Errorf("the error of a bad id is %v", err)
	}
	ts.ask(t, forUser(canary))
	if _, err := ts.users.GetUser(ctx(t), &pb.GetUserRequest{UserId: canary}); err != nil {
		t.Error(err)
	}
	s := openStream(t, ts)
	s.send(t, 1, e)
	if err := s.CloseSend(); err != nil {
		t.Fatal(err)
	}
	s.rest(t)
	if _, err := ts.users.DeleteUser(ctx(t), &pb.DeleteUserRequest{UserId: canary}); err != nil {
		t.Error(err)
	}
	pages := map[string]string{"the log": ts.logs.String()}
	for _, path := range []string{"/metrics", "/readyz", "/debug/pprof/goroutine?debug=2", "/debug/pprof/cmdline"} {
		_, pages[path] = ts.get(t, path)
	}
	for where, text := range pages {
		if strings.Contains(text, canary) {
			t.Errorf("%s shows an id", where)
		}
	}
	hash := userID{newUserHasher([]byte("key")), canary}
	if !strings.Contains(pages["the log"], `"user_hash":"`+hash.String()+`"`) {
		t.Error("the log lacks the hash of the user id")
	}
	for _, text := range []string{fmt.Sprint(hash), fmt.Sprintf("%v %+v %#v %s %q", hash, hash, hash, hash, hash)} {
		if strings.Contains(text, canary) {
			t.Errorf("a userID prints as %s", text)
		}
	}
}

// A call without a deadline gets the default one.
func TestDefaultTimeout(t *testing.T) {
	hooked := &hookedStore{Store: memory.New()}
	hooked.append = func(c context.Context, _ []store.Record) ([]store.Result, error) {
		<-c.Done()
		return nil, c.Err()
	}
	ts := start(t, setup{store: hooked, config: func(c *Config) { c.DefaultTimeout = 50 * time.Millisecond }})
	_, err := ts.events.Observe(context.Background(), &pb.ObserveRequest{Event: event("ann", 1)})
	if d := cmp.Diff(problem{Code: codes.DeadlineExceeded, Reason: "DEADLINE_EXCEEDED"}, problemOf(t, err)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestMessageTooLarge(t *testing.T) {
	ts := start(t, setup{config: func(c *Config) { c.MaxRecvBytes = 2000 }})
	req := forUser("ann")
	req.Filter = &pb.ItemFilter{DenyItemIds: slices.Repeat([]string{strings.Repeat("x", 100)}, 30)}
	if _, err := ts.recommend.Recommend(ctx(t), req); problemOf(t, err).Code != codes.ResourceExhausted {
		t.Errorf("a message over the limit: %v", err)
	}
}

func TestNoGoroutineStays(t *testing.T) {
	before := runtime.NumGoroutine()
	ts := start(t, setup{})
	for range 5 {
		s := openStream(t, ts)
		s.send(t, 1, event("ann", 1))
		if _, err := s.Recv(); err != nil {
			t.Fatal(err)
		}
		s.cancel()
	}
	ts.ask(t, forUser("ann"))
	http.DefaultClient.CloseIdleConnections()
	ts.conn.Close()
	ts.shutdown(t)
	eventually(t, "all goroutines end", func() bool {
		http.DefaultClient.CloseIdleConnections()
		return runtime.NumGoroutine() <= before
	})
}

func TestRun(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Listen, cfg.OpsListen, cfg.DrainDelay = "127.0.0.1:0", "127.0.0.1:0", 0
	s, err := New(cfg, memory.New(), func() (*model.Model, error) { return newModel(t, 1), nil })
	if err != nil {
		t.Fatal(err)
	}
	c, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Run(c); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("Run: %v", err)
	}
	taken := listen(t)
	defer taken.Close()
	cfg.OpsListen = taken.Addr().String()
	if s, err = New(cfg, memory.New(), func() (*model.Model, error) { return newModel(t, 1), nil }); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "ops listener") {
		t.Errorf("Run on an address in use: %v", err)
	}
}
