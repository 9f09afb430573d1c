package server

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/server/internal/calls"
	"github.com/gsimc/gsimc/server/internal/outcome"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// value1 is the value of one series on /metrics.
func value1(t testing.TB, ts *testServer, series string) float64 {
	t.Helper()
	_, page := ts.get(t, "/metrics")
	for sc := bufio.NewScanner(strings.NewReader(page)); sc.Scan(); {
		if rest, found := strings.CutPrefix(sc.Text(), series+" "); found {
			return check.Get(strconv.ParseFloat(rest, 64))(t)
		}
	}
	t.Fatalf("no series %s on /metrics", series)
	return 0
}

func TestHealthAndProbes(t *testing.T) {
	ts := start(t, setup{config: func(c *Config) { c.Pprof = true }})
	health := healthpb.NewHealthClient(ts.conn)
	for _, service := range []string{"", "gsimc.v1.RecommenderService", "gsimc.v1.EventService",
		"gsimc.v1.UserService", "gsimc.v1.AdminService"} {
		resp := reply(t, health.Check, &healthpb.HealthCheckRequest{Service: service})
		same(t, healthpb.HealthCheckResponse_SERVING, resp.GetStatus(), "health of %q", service)
	}
	for path, want := range map[string]int{"/livez": 200, "/readyz": 200, "/metrics": 200,
		"/debug/pprof/": 200, "/debug/pprof/goroutine": 200, "/": 200, "/nothing": 404} {
		if got, _ := ts.get(t, path); got != want {
			t.Errorf("GET %s: %d, want %d", path, got, want)
		}
	}
	_, pages := ts.get(t, "/")
	same(t, "/metrics\n/livez\n/readyz\n/console/\n/v1/\n/openapi.json\n/debug/pprof/\n", pages,
		"the list of pages")
	refl, err := grpc_reflection_v1.NewServerReflectionClient(ts.adminConn).ServerReflectionInfo(ctx(t))
	must(t, err)
	list := &grpc_reflection_v1.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{},
	}
	must(t, refl.Send(list))
	resp, err := refl.Recv()
	if err != nil || len(resp.GetListServicesResponse().GetService()) < 3 {
		t.Errorf("reflection: %v, %v", resp, err)
	}
	must(t, refl.CloseSend())
	must(t, ts.store.Close())
	if got, body := ts.get(t, "/readyz"); got != http.StatusServiceUnavailable ||
		!strings.Contains(body, "store") {
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
	ts.observe(t, newEvent("ann", 1))
	ts.ask(t, forUser("ann"))
	ts.ask(t, forUser("nobody"))
	for series, want := range map[string]float64{
		`gsimc_events_total{disposition="applied",event_type="like"}`:  1,
		`gsimc_events_total{disposition="rejected",event_type="like"}`: 0,
		`gsimc_recommend_results_total{source="personalized"}`:         10,
		`gsimc_recommend_results_total{source="popular"}`:              10,
		`gsimc_recommend_degraded_total{reason="unknown_user"}`:        1,
		`gsimc_recommend_degraded_total{reason="filter_too_narrow"}`:   0,
		`gsimc_recommend_stage_seconds_count{stage="state"}`:           2,
		`gsimc_recommend_stage_seconds_count{stage="filter"}`:          2,
		`gsimc_recommend_stage_seconds_count{stage="topn"}`:            2,
		`gsimc_recommend_stage_seconds_count{stage="encode"}`:          2,
		`gsimc_store_sync_seconds_count`:                               1,
		`gsimc_store_sync_seconds_bucket{le="0.002"}`:                  0,
		`gsimc_store_sync_seconds_bucket{le="0.003"}`:                  1,
		`gsimc_user_states`:                                 1,
		`gsimc_user_state_requests_total{result="hit"}`:     1,
		`gsimc_user_state_requests_total{result="advance"}`: 0,
		`gsimc_model_items`:                                 testItems,
		`gsimc_model_rank`:                                  testRank,
		`gsimc_model_loads_total{result="success"}`:         1,
		`gsimc_build_info{version="v1"}`:                    1,
		`gsimc_draining`:                                    0,
		`gsimc_panics_total`:                                0,
		`grpc_server_handled_total{grpc_code="OK",` +
			`grpc_method="Recommend",grpc_service="gsimc.v1.RecommenderService",` +
			`grpc_type="unary"}`: 2,
		`grpc_server_handling_seconds_bucket{grpc_method="Observe",` +
			`grpc_service="gsimc.v1.EventService",grpc_type="unary",le="1"}`: 1,
		`grpc_server_handling_seconds_bucket{grpc_method="Observe",` +
			`grpc_service="gsimc.v1.EventService",grpc_type="unary",le="+Inf"}`: 1,
		`grpc_server_started_total{grpc_method="DeleteUser",` +
			`grpc_service="gsimc.v1.UserService",grpc_type="unary"}`: 0,
	} {
		same(t, want, value1(t, ts, series), "%s", series)
	}
	for _, series := range []string{"gsimc_user_state_bytes", "gsimc_store_bytes",
		"gsimc_model_load_timestamp_seconds", "go_goroutines", "process_open_fds"} {
		if value1(t, ts, series) <= 0 {
			t.Errorf("%s is not positive", series)
		}
	}
}

// No user, item or event id in the logs, on /metrics, or on the pages of the ops listener.
func TestIDsStayPrivate(t *testing.T) {
	ts := start(t, setup{config: func(c *Config) {
		c.SlowRequest, c.Pprof, c.LogKey = time.Microsecond, true, []byte("key")
	}})
	const canary = "canary-7f3a"
	e := &pb.Event{UserId: canary, ItemId: canary, EventId: canary}
	ts.observe(t, e)
	if _, err := ts.events.Observe(ctx(t),
		&pb.ObserveRequest{Event: &pb.Event{UserId: canary, ItemId: "other",
			EventId: canary}}); err == nil {
		t.Error("a conflict is accepted")
	}
	if _, err := ts.events.Observe(ctx(t),
		&pb.ObserveRequest{Event: &pb.Event{UserId: canary + strings.Repeat("x",
			300)}}); err == nil ||
		strings.Contains(err.Error(), canary) {
		t.Errorf("the error of a bad id is %v", err)
	}
	ts.ask(t, forUser(canary))
	reply(t, ts.users.GetUser, &pb.GetUserRequest{UserId: canary})
	listed := reply(t, ts.users.ListUserEvents, &pb.ListUserEventsRequest{UserId: canary})
	same(t, 1, len(listed.GetEvents()), "events")
	check.Get(ts.exported(t, canary, func(int) {}))(t)
	ts.retract(t, &pb.RetractEventsRequest{UserId: canary, EventIds: []string{canary + "-"}})
	reply(t, ts.users.MergeUsers,
		&pb.MergeUsersRequest{SourceUserId: canary + "-guest", TargetUserId: canary})
	s := openStream(t, ts)
	s.send(t, 1, e)
	must(t, s.CloseSend())
	s.rest(t)
	reply(t, ts.users.DeleteUser, &pb.DeleteUserRequest{UserId: canary})
	pages := map[string]string{"the log": ts.logs.String()}
	for _, path := range []string{"/metrics", "/readyz", "/debug/pprof/goroutine?debug=2",
		"/debug/pprof/cmdline"} {
		_, pages[path] = ts.get(t, path)
	}
	for where, text := range pages {
		check.Lacks(t, text, canary, "%s, which may show no id", where)
	}
	hash := calls.NewHasher([]byte("key")).Hash(canary)
	check.Has(t, pages["the log"], `"user_hash":"`+fmt.Sprint(hash)+`"`,
		"the log, with the hash of the user id")
	for _, text := range []string{fmt.Sprint(hash),
		fmt.Sprintf("%v %+v %#v %s %q", hash, hash, hash, hash, hash)} {
		check.Lacks(t, text, canary, "a hashed user id as text")
	}
}

// failingStore takes no more writes once it has failed, as a store on disk does.
type failingStore struct {
	store.Store
	failed  atomic.Bool
	refusal atomic.Pointer[error] // nil: none
}

var errStoreFailed = fmt.Errorf("%w: %w", store.ErrFailed, store.ErrFull)

func (f *failingStore) Stats(ctx context.Context) (store.Stats, error) {
	if f.failed.Load() {
		return store.Stats{}, errStoreFailed
	}
	stats, err := f.Store.Stats(ctx)
	if refusal := f.refusal.Load(); refusal != nil {
		stats.Refusal = *refusal
	}
	return stats, err
}

func (f *failingStore) Append(ctx context.Context, records []store.Record) ([]store.Result, error) {
	if f.failed.Load() {
		return nil, errStoreFailed
	}
	return f.Store.Append(ctx, records)
}

// healthOf is the gRPC health of a service.
func (ts *testServer) healthOf(
	t testing.TB, service string,
) healthpb.HealthCheckResponse_ServingStatus {
	t.Helper()
	resp := reply(t, healthpb.NewHealthClient(ts.conn).Check,
		&healthpb.HealthCheckRequest{Service: service})
	return resp.GetStatus()
}

// A failed store needs a new process: health, probes, status and metrics must say so, while
// Recommend goes on.
func TestFailedStore(t *testing.T) {
	t.Parallel()
	failing := &failingStore{Store: memory.New()}
	ts := start(t, setup{store: failing})
	ts.observe(t, newEvent("ann", 1))
	failing.failed.Store(true)
	eventually(t, "the health of events turns without any call", func() bool {
		return ts.healthOf(t, "gsimc.v1.EventService") == healthpb.HealthCheckResponse_NOT_SERVING
	})
	same(t, healthpb.HealthCheckResponse_SERVING, ts.healthOf(t, "gsimc.v1.RecommenderService"),
		"health of the recommender")
	same(t, healthpb.HealthCheckResponse_NOT_SERVING, ts.healthOf(t, ""), "health of the server")
	ts.ask(t, forUser("ann"))
	for _, path := range []string{"/livez", "/readyz"} {
		if code, body := ts.get(t, path); code != http.StatusServiceUnavailable ||
			!strings.Contains(body, errStoreFailed.Error()) {
			t.Errorf("%s: %d %s, want 503 and the reason", path, code, body)
		}
	}
	if got, err := ts.admin.GetStatus(ctx(t), &pb.GetStatusRequest{}); err != nil ||
		got.GetStoreFailure() != errStoreFailed.Error() ||
		got.GetModel().GetVersion() == "" {
		t.Errorf("GetStatus: %v, %v, want the model and the failure of the store", got, err)
	}
	if _, body := ts.get(t, "/metrics"); !strings.Contains(body, "gsimc_store_failed 1") {
		t.Error("no gsimc_store_failed 1 in the metrics")
	}
	st := outcome.Status(fmt.Errorf("%w: %w", store.ErrFailed, store.ErrFull))
	if st.Code() != codes.ResourceExhausted || !strings.Contains(st.Message(), "restarted") {
		t.Errorf("status %v, want one that asks for a restart", st)
	}
}

// A full store says so to operators and stays ready: Recommend goes on.
func TestRefusingStore(t *testing.T) {
	t.Parallel()
	failing := &failingStore{Store: memory.New()}
	full := fmt.Errorf("%w: 3 MiB are free", store.ErrFull)
	failing.refusal.Store(&full)
	ts := start(t, setup{store: failing})
	ts.awaitLog(t, "takes no events for the time being")
	if code, body := ts.get(t, "/readyz"); code != http.StatusOK ||
		!strings.Contains(body, full.Error()) {
		t.Errorf("/readyz: %d %s, want 200 and the reason", code, body)
	}
	same(t, 1.0, value1(t, ts, "gsimc_store_refusing"), "gsimc_store_refusing")
	same(t, healthpb.HealthCheckResponse_SERVING, ts.healthOf(t, ""), "health of the server")
	failing.refusal.Store(nil)
	ts.awaitLog(t, "takes events again")
	if _, body := ts.get(t, "/readyz"); body != "ok\n" {
		t.Errorf("/readyz with room: %s", body)
	}
	same(t, 1, strings.Count(ts.logs.String(), "takes no events for the time being"),
		"lines tell of one refusal")
}

// A disk that hangs takes the traffic away and gives it back when it answers.
func TestStalledStore(t *testing.T) {
	t.Parallel()
	failing := &failingStore{Store: memory.New()}
	ts := start(t, setup{store: failing})
	ts.observe(t, newEvent("ann", 1))
	stalled := fmt.Errorf("%w: for 12s", store.ErrStalled)
	failing.refusal.Store(&stalled)
	stands := func(want healthpb.HealthCheckResponse_ServingStatus, code int, gauge float64) {
		t.Helper()
		eventually(t, "the health turns", func() bool {
			return ts.healthOf(t, "gsimc.v1.EventService") == want && ts.healthOf(t, "") == want
		})
		if got, body := ts.get(t, "/readyz"); got != code {
			t.Errorf("/readyz: %d %s, want %d", got, body, code)
		}
		same(t, gauge, value1(t, ts, "gsimc_store_stalled"), "gsimc_store_stalled")
	}
	stands(healthpb.HealthCheckResponse_NOT_SERVING, http.StatusServiceUnavailable, 1)
	ts.ask(t, forUser("ann"))
	same(t, healthpb.HealthCheckResponse_SERVING, ts.healthOf(t, "gsimc.v1.RecommenderService"),
		"health of the recommender")
	if code, _ := ts.get(t, "/livez"); code != http.StatusOK {
		t.Errorf("/livez: %d: a restart would not help", code)
	}
	failing.refusal.Store(nil)
	stands(healthpb.HealthCheckResponse_SERVING, http.StatusOK, 0)
	same(t, 1, strings.Count(ts.logs.String(), "takes no events for the time being"),
		"lines tell of one stall")
}

// A write that meets the failure turns the health before the next poll: the poll sees nothing here.
func TestHealthAfterAFailedWrite(t *testing.T) {
	hooked := &hookedStore{Store: memory.New()}
	hooked.AppendFunc = failingAppend(errStoreFailed)
	ts := start(t, setup{store: hooked})
	same(t, healthpb.HealthCheckResponse_SERVING, ts.healthOf(t, "gsimc.v1.EventService"),
		"health of events before the failure")
	if _, err := ts.events.Observe(ctx(t),
		&pb.ObserveRequest{Event: newEvent("ann", 1)}); err == nil {
		t.Error("a failed store takes an event")
	}
	same(t, healthpb.HealthCheckResponse_NOT_SERVING, ts.healthOf(t, "gsimc.v1.EventService"),
		"health of events after the failure")
}
