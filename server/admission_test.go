package server

import (
	"context"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/h2test"
	"github.com/gsimc/gsimc/server/internal/admission"
	"github.com/gsimc/gsimc/server/internal/calls"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// A thousand half-sent messages on a few connections fill no memory, and others are answered.
func TestHalfMessages(t *testing.T) {
	for _, attack := range []struct {
		method string
		stay   int // calls that may be left, as nobody needs their room
	}{
		{pb.EventService_BatchObserve_FullMethodName, maxReceiving},
		{healthpb.Health_Check_FullMethodName, maxProbes},
		{healthpb.Health_Watch_FullMethodName, maxProbes},
	} {
		t.Run(path.Base(attack.method), func(t *testing.T) {
			t.Parallel()
			halfMessages(t, attack.method, attack.stay)
		})
	}
}

func halfMessages(t *testing.T, method string, stay int) {
	ts := start(t, setup{})
	const calls = 1000
	var attackers []*h2test.Client
	for sent := 0; sent < calls; {
		c := h2test.Dial(t, ts.rpc)
		attackers = append(attackers, c)
		for range c.Streams {
			c.Send(c.Call(method, h2test.Timeout(time.Hour)), 4<<20, make([]byte, 256))
			sent++
		}
	}
	for range 20 {
		ts.observe(t, newEvent("ann", 1))
		ts.ask(t, forUser("ann"))
		if _, err := healthpb.NewHealthClient(ts.conn).Check(ctx(t),
			&healthpb.HealthCheckRequest{}); err != nil {
			t.Errorf("health: %v", err)
		}
	}
	eventually(t, "all but a few calls are ended", func() bool {
		ended := 0
		for _, c := range attackers {
			for _, n := range c.StatusCounts() {
				ended += n
			}
		}
		return ended >= calls-stay
	})
}

// Calls of operators' methods on the listener of clients take no room of operators.
func TestClientsKeepNoOperatorOut(t *testing.T) {
	ts := start(t, setup{})
	for method := range calls.OfOperators() {
		for range 100 { // more than class admin has room for
			_, _ = ts.gate.Admit(t.Context(), method) // some are refused, the others stay
		}
	}
	for range 20 {
		reply(t, ts.admin.GetStatus, &pb.GetStatusRequest{})
	}
}

// maxProbes is the number of questions about the health whose message may take long to come.
const maxProbes = 16

// Calls that end before their message came are under way no more.
func TestCallsThatDieHalfWay(t *testing.T) {
	ts := start(t, setup{})
	c := h2test.Dial(t, ts.rpc)
	for i := range 60 {
		id := c.Call(pb.RecommenderService_Recommend_FullMethodName, h2test.Timeout(50*time.Millisecond))
		if i%2 == 0 {
			_ = c.Write(func(f *http2.Framer) error {
				return f.WriteRSTStream(id, http2.ErrCodeCancel)
			})
		}
	}
	eventually(t, "none is receiving", func() bool {
		return value1(t, ts, `gsimc_calls_under_way{class="recommend",state="receiving"}`) == 0
	})
}

// The time of a call counts from its headers.
func TestDeadlineFromTheFirstByte(t *testing.T) {
	ts := start(t, setup{config: func(c *Config) { c.DefaultTimeout = 50 * time.Millisecond }})
	c := h2test.Dial(t, ts.rpc)
	id := c.Call(pb.RecommenderService_Recommend_FullMethodName)
	c.Send(id, 100, []byte("x"))
	eventually(t, "the call ends", func() bool { return c.Status(id) == "4" })
}

// slowStore holds writes until release is closed.
func slowStore(release <-chan struct{}) store.Store {
	inner := memory.New()
	return &hookedStore{Store: inner,
		AppendFunc: func(ctx context.Context, records []store.Record) ([]store.Result, error) {
			<-release
			return inner.Append(ctx, records)
		}}
}

// A full class refuses at once, with all that a client needs to know; probes and other classes go
// on; and calls are taken again when there is room.
func TestOverload(t *testing.T) {
	release := make(chan struct{})
	ts := start(t, setup{store: slowStore(release), config: func(c *Config) { c.MaxInFlight = 2 }})
	var wg sync.WaitGroup
	for range 4 { // two run and two wait
		wg.Go(func() {
			_, _ = ts.events.Observe(ctx(t), &pb.ObserveRequest{Event: newEvent("ann", 1)})
		})
	}
	shows := func(lines ...string) bool {
		_, page := ts.get(t, "/metrics")
		return !slices.ContainsFunc(lines, func(l string) bool { return !strings.Contains(page, l) })
	}
	eventually(t, "the class is full", func() bool {
		return shows(`gsimc_calls_under_way{class="observe",state="running"} 2`,
			`gsimc_calls_under_way{class="observe",state="queued"} 2`)
	})
	_, err := ts.events.Observe(ctx(t), &pb.ObserveRequest{Event: newEvent("ann", 1)})
	want := problem{Code: codes.ResourceExhausted, Reason: "OVERLOADED", Retry: true}
	same(t, want, problemOf(t, err), "the call is refused with")
	ts.ask(t, forUser("ann"))
	for _, probe := range []string{"/readyz", "/livez"} {
		if code, _ := ts.get(t, probe); code != 200 {
			t.Errorf("%s answers %d", probe, code)
		}
	}
	if _, err := healthpb.NewHealthClient(ts.conn).Check(ctx(t), &healthpb.HealthCheckRequest{
		Service: pb.EventService_ServiceDesc.ServiceName}); err != nil {
		t.Errorf("health: %v", err)
	}
	close(release)
	wg.Wait()
	ts.observe(t, newEvent("ann", 2))
	if !shows(`gsimc_calls_shed_total{class="observe",reason="limit"} 1`) {
		t.Error("the refusal is not counted")
	}
	check.Lacks(t, ts.logs.String(), "call failed", "log of a refusal")
}

// A refusal tells clients that repeat calls by themselves when they may, unless it is by the
// headers.
func TestPushback(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	ts := start(t, setup{store: slowStore(release), config: func(c *Config) {
		c.MaxInFlight, c.MaxStreams = 1, 1
	}})
	busy := openStream(t, ts)
	busy.send(t, 1, newEvent("bob", 1)) // never settled: the stream makes no room
	for range 2 {                       // one runs and one waits
		go func() {
			_, _ = ts.events.Observe(t.Context(), &pb.ObserveRequest{Event: newEvent("ann", 1)})
		}()
	}
	eventually(t, "the classes are full", func() bool {
		return value1(t, ts, `gsimc_calls_under_way{class="observe",state="queued"}`) == 1 &&
			value1(t, ts, `gsimc_calls_under_way{class="stream",state="running"}`) == 1
	})
	for within, want := range map[time.Duration][]string{time.Hour: {"250"}, 0: nil} {
		c, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		if within == 0 { // none
			c = t.Context()
		}
		var trailer metadata.MD
		_, err := ts.events.Observe(c, &pb.ObserveRequest{Event: newEvent("ann", 1)},
			grpc.Trailer(&trailer))
		if got := problemOf(t, err).Reason; got != "OVERLOADED" {
			t.Errorf("a call ends with %v", err)
		}
		same(t, want, trailer.Get("grpc-retry-pushback-ms"), "a call with a deadline of %v", within)
		stream, err := ts.events.StreamObserve(c)
		must(t, err)
		if _, err := stream.Recv(); problemOf(t, err).Reason != "OVERLOADED" {
			t.Errorf("a stream ends with %v", err)
		}
		same(t, want, stream.Trailer().Get("grpc-retry-pushback-ms"),
			"a stream with a deadline of %v", within)
	}
}

// Silent connections keep nobody out.
func TestSilentConnections(t *testing.T) {
	ts := start(t, setup{config: func(c *Config) { c.MaxConnections = 5 }})
	ts.ask(t, forUser("ann"))
	var silent []*h2test.Client
	for range 20 {
		silent = append(silent, h2test.Dial(t, ts.rpc))
	}
	for range 5 {
		c := dial(t, ts.rpc)
		if _, err := pb.NewRecommenderServiceClient(c).Recommend(ctx(t),
			forUser("ann")); err != nil {
			t.Errorf("a new client: %v", err)
		}
		c.Close()
	}
	eventually(t, "all but five silent connections are closed", func() bool {
		return openOf(silent) <= 5
	})
	if _, page := ts.get(t, "/metrics"); strings.Contains(page,
		"gsimc_connections_evicted_total 0\n") {
		t.Error("the closed connections are not counted")
	}
}

// Connections to the listener of operators have a bound of their own: their descriptors are counted.
func TestConnectionsOfOperators(t *testing.T) {
	ts := start(t, setup{})
	var silent []*h2test.Client
	for range 100 {
		silent = append(silent, h2test.Dial(t, ts.adminConn.Target()))
	}
	reply(t, ts.admin.GetStatus, &pb.GetStatusRequest{})
	eventually(t, "those beyond the bound are closed", func() bool {
		return openOf(silent) <= OperatorConnections/2
	})
}

// Streams beyond the limit are refused, those that are open go on, and silent ones end.
func TestSilentStreams(t *testing.T) {
	ts := start(t, setup{config: func(c *Config) { c.MaxStreams, c.StreamIdle = 4, time.Second }})
	var silent []clientStream
	for range 3 {
		silent = append(silent, openStream(t, ts))
	}
	runningStream(t, ts)
	eventually(t, "a fifth stream is refused", func() bool {
		one := openStream(t, ts)
		defer one.cancel()
		_, err := one.Recv()
		return problemOf(t, err).Reason == "OVERLOADED"
	})
	ts.observe(t, newEvent("ann", 2))
	for _, s := range silent {
		want := problem{Code: codes.Unavailable, Reason: "STREAM_IDLE", Retry: true}
		same(t, want, problemOf(t, s.rest(t).err), "a silent stream ends with")
	}
	runningStream(t, ts) // there is room after them
}

// Silent streams keep nobody out, whether a client has many or many clients have a few.
func TestSilentStreamsMakeRoom(t *testing.T) {
	for name, attackers := range map[string]int{"one client": 1, "many clients": 8} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ts := start(t, setup{config: func(c *Config) { c.MaxStreams = 32 }})
			busy := runningStream(t, ts)
			silent := silentStreams(t, ts.rpc, pb.EventService_StreamObserve_FullMethodName,
				attackers, 31)
			eventually(t, "the class is full", func() bool {
				return value1(t, ts, `gsimc_calls_under_way{class="stream",state="running"}`) == 32
			})
			n := uint64(1)
			eventually(t, "a newcomer is taken", func() bool {
				n++ // the stream goes on, so that it is none of those that make room
				busy.send(t, n, newEvent("ann", int(n)))
				check.Get(busy.Recv())(t)
				newcomer := openStream(t, ts)
				_ = newcomer.Send(&pb.StreamObserveRequest{Sequence: 1,
					Event: newEvent("bob", 1)})
				_, err := newcomer.Recv()
				return err == nil && n > 5
			})
			eventually(t, "the silent streams learn why", func() bool {
				return silent()["14"] > 0
			})
			if _, page := ts.get(t, "/metrics"); strings.Contains(page,
				`gsimc_calls_shed_total{class="stream",reason="idle"} 0`) {
				t.Error("the streams that made room are not counted")
			}
		})
	}
}

// Idle streams of reflection keep no operator out.
func TestIdleReflectionKeepsNoOperatorOut(t *testing.T) {
	t.Parallel()
	ts := start(t, setup{})
	silentStreams(t, ts.adminConn.Target(),
		reflectionpb.ServerReflection_ServerReflectionInfo_FullMethodName, 8, 32)
	eventually(t, "an operator is served", func() bool {
		_, err := ts.admin.GetStatus(ctx(t), &pb.GetStatusRequest{})
		return err == nil
	})
	var stream reflectionpb.ServerReflection_ServerReflectionInfoClient
	eventually(t, "a stream of reflection is answered", func() bool {
		var err error
		stream, err = reflectionpb.NewServerReflectionClient(ts.adminConn).ServerReflectionInfo(ctx(t))
		must(t, err)
		_ = stream.Send(&reflectionpb.ServerReflectionRequest{
			MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}})
		_, err = stream.Recv()
		return err == nil
	})
	want := problem{Code: codes.Unavailable, Reason: "STREAM_IDLE", Retry: true}
	eventually(t, "the stream of reflection ends", func() bool {
		silentStreams(t, ts.adminConn.Target(),
			reflectionpb.ServerReflection_ServerReflectionInfo_FullMethodName, 8, 32)
		// The rounds open more connections than the listener has room for. This call, served or
		// not, keeps it from cutting the connection of the stream as the one silent for longest.
		_, _ = ts.admin.GetStatus(ctx(t), &pb.GetStatusRequest{})
		time.Sleep(100 * time.Millisecond)
		return value1(t, ts, `gsimc_calls_shed_total{class="admin",reason="idle"}`) > 32
	})
	if _, err := stream.Recv(); !cmp.Equal(want, problemOf(t, err)) {
		t.Errorf("an idle stream ends with %v", err)
	}
}

// A stream whose events the server has not settled yet makes no room, however long it takes.
func TestSlowStoreEndsNoStream(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	ts := start(t, setup{store: slowStore(release), config: func(c *Config) { c.MaxStreams = 1 }})
	busy := openStream(t, ts)
	busy.send(t, 1, newEvent("ann", 1))
	opened := func() bool {
		one := openStream(t, ts)
		defer one.cancel()
		return one.Send(&pb.StreamObserveRequest{Sequence: 1, Event: newEvent("bob", 1)}) == nil &&
			func() error { _, err := one.Recv(); return err }() == nil
	}
	time.Sleep(1200 * time.Millisecond)
	if opened() {
		t.Error("a stream that waits for the store made room")
	}
	close(release)
	check.Get(busy.Recv())(t) // after the store went on
	eventually(t, "the stream makes room when it is idle", opened)
}

// silentStreams opens streams of a method on some connections each, sends nothing and
// returns a function that counts the codes with which they have ended.
func silentStreams(
	t *testing.T, address, method string, connections, streams int,
) func() map[string]int {
	t.Helper()
	clients := make([]*h2test.Client, connections)
	for i := range clients {
		clients[i] = h2test.Dial(t, address)
	}
	for i := range streams {
		clients[i%connections].Call(method)
	}
	return func() map[string]int {
		all := map[string]int{}
		for _, c := range clients {
			for code, n := range c.StatusCounts() {
				all[code] += n
			}
		}
		return all
	}
}

// A client that does not read its acknowledgements loses its connection.
func TestUnreadAcknowledgements(t *testing.T) {
	ts := start(t, setup{bounds: func(b *bounds) { b.sendTimeout = 200 * time.Millisecond }})
	c := unreading(t, ts)
	select {
	case <-c.Closed:
	case <-time.After(20 * time.Second):
		t.Fatal("the client is not cut off")
	}
	runningStream(t, ts) // of another client
}

// As long as such clients are there, they hold no other stream up.
func TestUnreadAcknowledgementsHoldNobodyUp(t *testing.T) {
	ts := start(t, setup{bounds: func(b *bounds) {
		b.sendTimeout, b.readAhead = time.Hour, admission.NewBudget(1)
	}})
	good := openStream(t, ts)
	for range 3 {
		unreading(t, ts)
	}
	for i := range uint64(300) {
		good.send(t, i+1, newEvent("ann", 1))
		check.Get(good.Recv())(t) // of another stream
	}
}

// unreading opens a stream and reads none of its acknowledgements.
func unreading(t *testing.T, ts *testServer) *h2test.Client {
	t.Helper()
	c := h2test.Dial(t, ts.rpc)
	id := c.Call(pb.EventService_StreamObserve_FullMethodName)
	// Refused events, whose answers are larger than they are: together they fit the server's window
	// of 64 KiB, and their answers do not fit the client's.
	for i := range 1500 {
		body := check.Get(proto.Marshal(&pb.StreamObserveRequest{Sequence: uint64(10*i + 1),
			Events: []*pb.Event{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}}}))(t)
		c.Send(id, len(body), body)
	}
	return c
}

// A client that does not read the answers of its calls loses its connection, whether they have ended
// or last, and nobody else does.
func TestUnreadAnswers(t *testing.T) {
	for _, attack := range []struct {
		method string
		body   proto.Message
	}{
		{pb.RecommenderService_Recommend_FullMethodName, forUser("ann")},
		{pb.EventService_Observe_FullMethodName, &pb.ObserveRequest{Event: newEvent("ann", 1)}},
		{healthpb.Health_Check_FullMethodName, &healthpb.HealthCheckRequest{}},
		{healthpb.Health_Watch_FullMethodName, &healthpb.HealthCheckRequest{}},
	} {
		t.Run(path.Base(attack.method), func(t *testing.T) {
			t.Parallel()
			ts := start(t, setup{bounds: func(b *bounds) { b.sendTimeout = 500 * time.Millisecond }})
			watch := check.Get(healthpb.NewHealthClient(ts.conn).Watch(t.Context(),
				&healthpb.HealthCheckRequest{}))(t)
			attacker := ignorant(t, ts, attack.method, attack.body)
			eventually(t, "the client is cut off", func() bool {
				askAmongMany(t, ts, "bob")
				return isClosed(attacker)
			})
			check.Get(watch.Recv())(t) // of another client
		})
	}
}

// askAmongMany asks for a list until there is one: a busy machine may not answer the calls of all
// others in time, and refuses some.
func askAmongMany(t *testing.T, ts *testServer, user string) {
	t.Helper()
	overloaded := problem{Code: codes.ResourceExhausted, Reason: "OVERLOADED", Retry: true}
	eventually(t, "a list for "+user, func() bool {
		_, err := ts.recommend.Recommend(ctx(t), forUser(user))
		if err != nil {
			mustSame(t, overloaded, problemOf(t, err), "a call among many is refused with")
		}
		return err == nil
	})
}

// isClosed reports whether the server has closed the connection.
func isClosed(c *h2test.Client) bool {
	select {
	case <-c.Closed:
		return true
	default:
		return false
	}
}

// openOf is the number of connections that the server has not closed.
func openOf(all []*h2test.Client) (open int) {
	for _, c := range all {
		if !isClosed(c) {
			open++
		}
	}
	return open
}

// ignorant makes a hundred calls and leaves no room for their answers.
func ignorant(t *testing.T, ts *testServer, method string, body proto.Message) *h2test.Client {
	t.Helper()
	c := h2test.Dial(t, ts.rpc, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	message := check.Get(proto.Marshal(body))(t)
	for range 100 {
		id := c.Call(method)
		c.Send(id, len(message), message)
		c.Write(func(f *http2.Framer) error { return f.WriteData(id, true, nil) })
	}
	return c
}

// Unread answers have a bound of memory: beyond it those lose their connection that do not read. On
// a busy machine many calls of an attacker are refused, and owe little: there are more attackers
// than it takes.
func TestUnreadAnswersHaveABound(t *testing.T) {
	ts := start(t, setup{
		bounds: func(b *bounds) { b.maxUnreadSize, b.sendTimeout = 1<<20, time.Hour },
		config: func(c *Config) { c.MaxConcurrentStreams = 100 }})
	var attackers []*h2test.Client
	closed := func() int { return len(attackers) - openOf(attackers) }
	for len(attackers) < 50 && closed() < 4 {
		attackers = append(attackers, ignorant(t, ts,
			pb.RecommenderService_Recommend_FullMethodName, forUser("ann")))
		askAmongMany(t, ts, "bob")
	}
	eventually(t, "four of them are closed", func() bool { return closed() >= 4 })
	if n := value1(t, ts, "gsimc_connections_unread_total"); n < 4 {
		t.Errorf("%v closed connections are counted", n)
	}
}

// Checkpoints are few, and free again when their calls end.
func TestCheckpointsAreFew(t *testing.T) {
	ts := start(t, setup{store: &checkpointer{Store: memory.New()}})
	var open []context.CancelFunc
	for range cap(ts.bounds.operate.Checkpoints) {
		c, cancel := context.WithCancel(ctx(t))
		check.Get(ts.checkpoint(c))(t)
		open = append(open, cancel)
	}
	more := func() error {
		_, err := ts.checkpoint(ctx(t))
		return err
	}
	for range 20 {
		want := problem{Code: codes.ResourceExhausted, Reason: "TOO_MANY_CHECKPOINTS", Retry: true}
		mustSame(t, want, problemOf(t, more()), "one more is refused with")
	}
	ts.observe(t, newEvent("ann", 1))
	open[0]()
	eventually(t, "there is room again", func() bool { return more() == nil })
	open[1]()
}

// A checkpoint that is held for long ends by itself, and takes its copy along.
func TestCheckpointsEnd(t *testing.T) {
	copies := &checkpointer{Store: memory.New()}
	ts := start(t, setup{store: copies,
		bounds: func(b *bounds) { b.operate.CheckpointTime = 50 * time.Millisecond }})
	most := cap(ts.bounds.operate.Checkpoints)
	for range most + 1 {
		stream, err := ts.checkpoint(ctx(t))
		must(t, err)
		_, err = stream.Recv()
		want := problem{Code: codes.DeadlineExceeded, Reason: "DEADLINE_EXCEEDED"}
		mustSame(t, want, problemOf(t, err), "the checkpoint ends with")
	}
	made, removed := copies.made.Load(), copies.removed.Load()
	same(t, most+1, int(made), "checkpoints made")
	same(t, made, removed, "checkpoints removed")
}
