package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/testing/protocmp"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/proctest"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/servertest"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// Short names for what the tests of the server's parts share.
const (
	testItems = servertest.Items
	testUsers = servertest.Users
	testRank  = servertest.Rank
)

var (
	must            = check.Must
	eventually      = check.Await
	newModel        = servertest.NewModel
	newModelOf      = servertest.NewModelOf
	newLearnedModel = servertest.NewLearnedModel
	buildModel      = servertest.BuildModel
	item            = servertest.Item
	testNow         = servertest.Now
)

type (
	lockedBuffer = proctest.Output
	hookedStore  = servertest.Store
)

// testServer is a server that listens on the loopback, with a client.
type testServer struct {
	*Server
	conn        *grpc.ClientConn // to the listener of clients
	adminConn   *grpc.ClientConn
	recommend   pb.RecommenderServiceClient
	events      pb.EventServiceClient
	users       pb.UserServiceClient
	items       pb.ItemServiceClient
	admin       pb.AdminServiceClient
	rpc, ops    string        // addresses
	jsonAddress string        // the same; empty: there is no JSON side
	logs        *lockedBuffer // what was logged
	stop        context.CancelFunc
	stopped     chan error // gets the result of Serve
}

// setup are the parts of a test server that tests vary.
type setup struct {
	config func(*Config)
	bounds func(*bounds)
	store  store.Store
	open   func() (*model.Model, error)
}

func start(t testing.TB, su setup) *testServer {
	t.Helper()
	ts := &testServer{logs: &lockedBuffer{}, stopped: make(chan error, 1)}
	cfg := DefaultConfig()
	cfg.DrainDelay = 0
	cfg.ExtendEvery = 0
	cfg.DefaultTimeout = 20 * time.Second // the race detector on a busy machine
	cfg.Logger = slog.New(slog.NewJSONHandler(ts.logs,
		&slog.HandlerOptions{Level: slog.LevelDebug}))
	// A clock that never shows the same time twice, as events without id and time are told apart by
	// it.
	var mu sync.Mutex
	ticks := testNow
	cfg.Now = func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		ticks = ticks.Add(time.Microsecond)
		return ticks
	}
	if su.config != nil {
		su.config(&cfg)
	}
	if su.store == nil {
		su.store = memory.New()
	}
	if su.open == nil {
		su.open = named(t, "paper")
	}
	var err error
	b := usualBounds(&cfg)
	if su.bounds != nil {
		su.bounds(&b)
	}
	if ts.Server, err = newBounded(cfg, su.store, freshOnly(t, su.open), b); err != nil {
		t.Fatal(err)
	}
	l := Listeners{GRPC: listen(t), Admin: listen(t), Ops: listen(t)}
	ts.rpc, ts.ops = l.GRPC.Addr().String(), l.Ops.Addr().String()
	if cfg.JSONListen != "" {
		l.JSON = listen(t)
		ts.jsonAddress = l.JSON.Addr().String()
	}
	ctx, cancel := context.WithCancel(context.Background())
	ts.stop = cancel
	go func() { ts.stopped <- ts.Serve(ctx, l) }()
	ts.conn, ts.adminConn = dial(t, ts.rpc), dial(t, l.Admin.Addr().String())
	ts.recommend = pb.NewRecommenderServiceClient(ts.conn)
	ts.events = pb.NewEventServiceClient(ts.conn)
	ts.users = pb.NewUserServiceClient(ts.conn)
	ts.items = pb.NewItemServiceClient(ts.conn)
	ts.admin = pb.NewAdminServiceClient(ts.adminConn)
	t.Cleanup(func() {
		ts.conn.Close()
		ts.adminConn.Close()
		ts.shutdown(t)
	})
	return ts
}

// freshOnly returns open and fails the test when open returns a model for the second time: the server
// closes each model that it was given, even one of the version that serves.
func freshOnly(t testing.TB, open func() (*model.Model, error)) func() (*model.Model, error) {
	var given sync.Map
	return func() (*model.Model, error) {
		m, err := open()
		if _, again := given.LoadOrStore(m, true); again && err == nil {
			t.Error("a model was opened that the server has been given before")
		}
		return m, err
	}
}

// shutdown drains the server and waits for its end; a second call does nothing.
func (ts *testServer) shutdown(t testing.TB) {
	t.Helper()
	ts.stop()
	if ts.stopped == nil {
		return
	}
	select {
	case err := <-ts.stopped:
		ts.stopped = nil
		if err != nil {
			t.Errorf("Serve returned %v after its context ended, want nil", err)
		}
	// less than the deadline of the test's own calls, which would end them
	case <-time.After(30 * time.Second):
		t.Fatal("the server did not stop")
	}
}

// same and mustSame are functions, so that vet sees their formats.
func same(t testing.TB, want, got any, what string, args ...any) {
	t.Helper()
	check.Same(t, want, got, what, args...)
}

func mustSame(t testing.TB, want, got any, what string, args ...any) {
	t.Helper()
	check.MustSame(t, want, got, what, args...)
}

// opened is how a server opens a model.
type opened = func() (*model.Model, error)

// overModels runs a test with each of these models.
func overModels(t *testing.T, run func(t *testing.T, open opened), names ...string) {
	t.Helper()
	for _, name := range names {
		t.Run(name, func(t *testing.T) { run(t, named(t, name)) })
	}
}

// named is a model of the paper, of learned dynamics, or of tastes that differ.
func named(t testing.TB, name string) opened {
	return func() (*model.Model, error) {
		switch name {
		case "learned":
			return newLearnedModel(t, 1, true), nil
		case "bands alone":
			return newLearnedModel(t, 1, false), nil
		case "tastes":
			return servertest.NewTastesModel(t), nil
		case "paper":
			return newModel(t, 1), nil
		}
		return nil, fmt.Errorf("no model is named %q", name)
	}
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	return check.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
}

func dial(t testing.TB, address string) *grpc.ClientConn {
	t.Helper()
	return check.Get(grpc.NewClient(address,
		grpc.WithTransportCredentials(insecure.NewCredentials())))(t)
}

func ctx(t testing.TB) context.Context {
	c, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(cancel)
	return c
}

// reply is what a method says to a request that it has to take.
func reply[Q, R any](
	t testing.TB, method func(context.Context, Q, ...grpc.CallOption) (R, error), req Q,
) R {
	t.Helper()
	return check.Get(method(ctx(t), req))(t)
}

// observe sends one event and returns the answer.
func (ts *testServer) observe(t testing.TB, e *pb.Event) *pb.ObserveResponse {
	t.Helper()
	return reply(t, ts.events.Observe, &pb.ObserveRequest{Event: e})
}

func newEvent(user string, i int) *pb.Event { return &pb.Event{UserId: user, ItemId: item(i)} }

func forUser(user string) *pb.RecommendRequest {
	return &pb.RecommendRequest{Subject: &pb.RecommendRequest_UserId{UserId: user}}
}

func forHistory(items ...int) *pb.RecommendRequest {
	h := &pb.InlineHistory{}
	for _, i := range items {
		h.Entries = append(h.Entries, &pb.HistoryEntry{ItemId: item(i)})
	}
	return &pb.RecommendRequest{Subject: &pb.RecommendRequest_History{History: h}}
}

func (ts *testServer) ask(t testing.TB, req *pb.RecommendRequest) *pb.RecommendResponse {
	t.Helper()
	return reply(t, ts.recommend.Recommend, req)
}

func itemIDs(resp *pb.RecommendResponse) []string {
	var ids []string
	for _, i := range resp.GetItems() {
		ids = append(ids, i.GetItemId())
	}
	return ids
}

// withoutTokens compares messages without their session tokens, which are random.
var withoutTokens = cmp.Options{protocmp.Transform(),
	protocmp.IgnoreFields(&pb.ObserveResponse{}, "session_token"),
	protocmp.IgnoreFields(&pb.EventResult{}, "session_token")}

// send makes a request by HTTP with headers, in pairs, of which Host is one. It returns the status,
// the body and the headers of the answer.
func send(
	t testing.TB, method, url, body string, header ...string,
) (code int, text string, answered http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx(t), method, url, strings.NewReader(body))
	must(t, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	req.Host = req.Header.Get("Host") // empty: that of the address
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	defer resp.Body.Close()
	read, err := io.ReadAll(resp.Body)
	must(t, err)
	return resp.StatusCode, string(read), resp.Header
}

// get fetches a page of the ops listener.
func (ts *testServer) get(t testing.TB, path string) (int, string) {
	t.Helper()
	code, text, _ := send(t, "GET", "http://"+ts.ops+path, "")
	return code, text
}

type problem = servertest.Problem

var problemOf = servertest.ProblemOf

// statusProto is a status with a reason, and perhaps more details.
func statusProto(
	code codes.Code, reason, message string, more ...protoadapt.MessageV1,
) *statuspb.Status {
	details := append([]protoadapt.MessageV1{
		&errdetails.ErrorInfo{Reason: reason, Domain: "gsimc"}}, more...)
	st, err := status.New(code, message).WithDetails(details...)
	if err != nil {
		panic(err) // of the test itself
	}
	return st.Proto()
}

// invalidField is the status of a value that breaks the rule of its field.
func invalidField(field, message string) *statuspb.Status {
	return statusProto(codes.InvalidArgument, "INVALID_FIELD", message,
		&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{
			{Field: field, Reason: "INVALID_FIELD",
				Description: strings.TrimPrefix(message, field+" ")}}})
}
