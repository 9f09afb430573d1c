package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/nettest"
	"github.com/gsimc/gsimc/internal/test/soak"
)

// A history of calls is linearizable if each call seems to take place at one moment between its
// beginning and its end. The calls of a user are checked against the simplest system there is: a
// list of event ids. Calls whose outcome is open take place before the end of their server, or
// never.

// linearCall is what a client asks for. Without an id it is a Recommend, or a DeleteUser if
// erase is set, or a ListUserEvents if list is. With one it is an Observe, or a RetractEvents if
// retract is set.
type linearCall struct {
	user, id             string
	erase, list, retract bool
}

// linearAnswer is what came back. The revision of a DeleteUser is the number of deleted events. A
// retraction of nothing is a duplicate.
type linearAnswer struct {
	open      bool
	repeated  bool // an attempt of a call that may have taken place besides; open, too
	duplicate bool
	revision  uint64
	ids       string // that a ListUserEvents shows, as in the state
}

// linearHistory is the model: its state is the ids of a user's events, joined by commas.
var linearHistory = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{""} },
	Step: func(state, input, output any) []any {
		next, want := input.(linearCall).do(state.(string))
		switch answer := output.(linearAnswer); {
		case answer.open && next != state:
			return []any{state, next}
		case answer.open:
			return []any{state}
		case answer == want:
			return []any{next}
		}
		return nil
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v %+v", input, output) },
}).ToModel()

// do returns the state after the call, and its answer.
func (c linearCall) do(state string) (next string, answer linearAnswer) {
	var ids []string
	if state != "" {
		ids = strings.Split(state, ",")
	}
	at := slices.Index(ids, c.id)
	switch {
	case c.erase:
		return "", linearAnswer{revision: uint64(len(ids))}
	case c.list:
		return state, linearAnswer{revision: uint64(len(ids)), ids: state}
	case c.id == "":
		return state, linearAnswer{revision: uint64(len(ids))}
	case c.retract && at < 0:
		return state, linearAnswer{duplicate: true, revision: uint64(len(ids))}
	case c.retract:
		return strings.Join(slices.Delete(ids, at, at+1), ","),
			linearAnswer{revision: uint64(len(ids) - 1)}
	case at >= 0:
		return state, linearAnswer{duplicate: true, revision: uint64(at + 1)}
	}
	return strings.Join(append(ids, c.id), ","), linearAnswer{revision: uint64(len(ids) + 1)}
}

// linearServer is a server that is killed, stopped and asked to reload while clients call it.
type linearServer struct {
	*serverProcess
	model, dir string
	dialer     func(context.Context, string) (net.Conn, error) // nil: that of gRPC
	began      time.Time
	conn       atomic.Pointer[linearConn]
	beginning  sync.RWMutex // of a call; held while there is no process
	calls      callCount
	deaths     []time.Duration // since began, of the processes that are over; for the test alone
}

// callCount counts the calls that have come back, for a test that waits for a number of them.
type callCount struct {
	mu      sync.Mutex
	n, goal int
	reached chan struct{} // closed when n is goal
}

func (c *callCount) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n++; c.n == c.goal {
		close(c.reached)
	}
}

// await returns when n more calls have come back.
func (c *callCount) await(n int) {
	c.mu.Lock()
	c.goal, c.reached = c.n+n, make(chan struct{})
	reached := c.reached
	c.mu.Unlock()
	<-reached
}

// linearConn is a connection to one of the processes.
type linearConn struct {
	*grpc.ClientConn
	process int // its death is deaths[process]
}

// start starts the server, again after a kill, and points the clients to it. Until then they ask for
// the address of the one before, which no other test's server may have.
func (s *linearServer) start(t *testing.T) {
	s.serverProcess = startServe(t, s.model, s.dir, "--listen", nettest.Loopback(t))
	s.connect(t)
}

// connect gives the clients a new connection and closes the old one, with the calls on it. Calls
// wait for the server rather than fail, since each call with an open outcome doubles the orders to
// try. They are not repeated: a repeated call would be two.
func (s *linearServer) connect(t *testing.T) {
	options := []grpc.DialOption{grpc.WithDisableRetry(),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)),
		grpc.WithTransportCredentials(insecure.NewCredentials())}
	if s.dialer != nil {
		options = append(options, grpc.WithContextDialer(s.dialer))
	}
	conn := check.Get(grpc.NewClient(s.GRPC, options...))(t)
	t.Cleanup(func() { _ = conn.Close() })
	if old := s.conn.Swap(&linearConn{conn, len(s.deaths)}); old != nil {
		_ = old.Close()
	}
}

// die kills the process. Nothing that it was asked for takes place afterwards.
func (s *linearServer) die(t *testing.T) {
	t.Helper()
	check.Must(t, s.Kill())
	s.deaths = append(s.deaths, time.Since(s.began))
}

// restart kills the process and starts another one. No call begins meanwhile: it would not take
// place, and the checker cannot know.
func (s *linearServer) restart(t *testing.T) {
	t.Helper()
	s.beginning.Lock()
	defer s.beginning.Unlock()
	s.die(t)
	s.start(t)
}

// linearClient calls the server until stop is closed and keeps the history of its calls.
type linearClient struct {
	id     int
	server *linearServer
	rng    *rand.Rand
	items  []string
	users  []string
	hasty  time.Duration         // the deadline of its calls
	calm   time.Duration         // of three in four; zero: hasty
	rest   time.Duration         // between calls
	calls  []porcupine.Operation // the metadata of an open one is the number of its process
}

func (c *linearClient) run(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		call := linearCall{user: c.users[c.rng.IntN(len(c.users))]}
		switch c.rng.IntN(20) {
		case 0:
			call.erase = true
		case 1, 2, 3:
			call.list = true
		case 4, 5, 6, 7:
		case 8, 9:
			call.retract = true
			fallthrough
		default: // ids repeat, also after an erasure
			call.id = strconv.Itoa(c.rng.IntN(200))
		}
		c.call(call)
		time.Sleep(c.rest)
	}
}

// call makes a call and adds it to the history.
func (c *linearClient) call(call linearCall) {
	c.server.beginning.RLock()
	conn, from := c.server.conn.Load(), time.Since(c.server.began)
	c.server.beginning.RUnlock()
	answer, err := c.do(conn, call)
	until := time.Since(c.server.began)
	switch code := status.Code(err); code {
	case codes.OK:
	case codes.ResourceExhausted, codes.FailedPrecondition, codes.InvalidArgument:
		return // certainly not applied
	default:
		answer = linearAnswer{open: true}
	}
	defer c.server.calls.add()
	if answer.open && !call.erase && call.id == "" {
		return // a question without an answer tells nothing
	}
	c.calls = append(c.calls, porcupine.Operation{ClientId: c.id, Input: call, Output: answer,
		Call: int64(from), Return: int64(until), Metadata: conn.process})
}

// end lets the open calls take place until the death of the process that was asked, and not after
// it, though a client may wait for an answer until the next process is there: the checker would try
// all orders of such calls and those of the next process.
func (c *linearClient) end(deaths []time.Duration) {
	for i := range c.calls {
		op := &c.calls[i]
		if answer := op.Output.(linearAnswer); answer.open && !answer.repeated {
			op.Return = max(op.Call, int64(deaths[op.Metadata.(int)]))
		}
	}
}

func (c *linearClient) do(conn *linearConn, call linearCall) (linearAnswer, error) {
	patience := c.hasty
	if c.calm > 0 && c.rng.IntN(4) > 0 {
		patience = c.calm
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	switch {
	case call.erase:
		r, err := pb.NewUserServiceClient(conn).DeleteUser(ctx,
			&pb.DeleteUserRequest{UserId: call.user, AllowMissing: true})
		return linearAnswer{revision: uint64(r.GetDeletedEventCount())}, err
	case call.list:
		r, err := pb.NewUserServiceClient(conn).ListUserEvents(ctx,
			&pb.ListUserEventsRequest{UserId: call.user, PageSize: 1000})
		if status.Code(err) == codes.NotFound {
			return linearAnswer{}, nil // nobody
		}
		var ids []string
		for _, e := range slices.Backward(r.GetEvents()) { // the newest is the first
			ids = append(ids, e.GetEvent().GetEventId())
		}
		return linearAnswer{revision: uint64(r.GetTotalSize()), ids: strings.Join(ids, ",")}, err
	case call.id == "":
		r, err := pb.NewRecommenderServiceClient(conn).Recommend(ctx, &pb.RecommendRequest{
			Subject: &pb.RecommendRequest_UserId{UserId: call.user}, PageSize: 3})
		return linearAnswer{revision: r.GetUserRevision()}, err
	}
	if call.retract {
		r, err := pb.NewUserServiceClient(conn).RetractEvents(ctx,
			&pb.RetractEventsRequest{UserId: call.user, EventIds: []string{call.id}})
		return linearAnswer{revision: r.GetUserRevision(),
			duplicate: r.GetRetractedEventCount() == 0}, err
	}
	n, _ := strconv.Atoi(call.id)
	r, err := pb.NewEventServiceClient(conn).Observe(ctx, &pb.ObserveRequest{Event: &pb.Event{
		UserId: call.user, EventId: call.id, ItemId: c.items[n%len(c.items)]}})
	return linearAnswer{revision: r.GetUserRevision(),
		duplicate: r.GetDisposition() == pb.EventDisposition_EVENT_DISPOSITION_DUPLICATE}, err
}

// TestHistoriesAreLinearizable lets clients observe, recommend, retract and erase at the same few
// users while the server is killed, stopped for a while, cut off from its clients, and given other
// models. Each user's calls must have an order that explains all answers.
func TestHistoriesAreLinearizable(t *testing.T) {
	t.Parallel()
	soak.Only(t)
	var models [2]string
	for i := range models {
		dir := t.TempDir()
		models[i] = filepath.Join(dir, "model.gsimc")
		trainSmall(t, filepath.Join(dir, "events.csv.gz"), models[i], strconv.Itoa(i+1))
	}
	faults := map[string]int{}
	calls := 0
	for seed := range uint64(soak.Times(3)) {
		calls += linearRun(t, seed, models, faults)
	}
	for _, kind := range slices.Sorted(maps.Keys(faults)) {
		soak.Injected(t, faults[kind], kind)
	}
	t.Logf("%d calls", calls)
}

// linearFaults is the number of faults of a run, and fewestCalls that of the calls before each and
// after the last one.
const linearFaults, fewestCalls = 5, 20

// linearRun makes one history, checks it and returns the number of its calls.
func linearRun(t *testing.T, seed uint64, models [2]string, faults map[string]int) int {
	dir := t.TempDir()
	server := &linearServer{model: filepath.Join(dir, "model.gsimc"), dir: filepath.Join(dir, "state")}
	replace(t, server.model, mustRead(t, models[0]))
	server.began = time.Now()
	server.start(t)
	stop := make(chan struct{})
	clients, users := make([]*linearClient, 6), linearUsers(4)
	var wg sync.WaitGroup
	for i := range clients {
		clients[i] = &linearClient{id: i, server: server,
			rng: rand.New(rand.NewPCG(seed, uint64(i))), items: linearItems, users: users,
			hasty: time.Second}
		wg.Go(func() { clients[i].run(stop) })
	}
	rng := rand.New(rand.NewPCG(seed, 100))
	for range linearFaults {
		server.calls.await(fewestCalls + rng.IntN(100))
		faults[server.disturb(t, rng, models)]++
	}
	server.calls.await(fewestCalls)
	close(stop)
	wg.Wait()
	server.die(t)
	for _, c := range clients {
		c.end(server.deaths)
	}
	return checkLinear(t, seed, clients)
}

// linearItems are the items of the events.
var linearItems = []string{"i1", "i2", "i3", "not in the model"}

// linearUsers returns names of users.
func linearUsers(n int) (names []string) {
	for i := range n {
		names = append(names, "user "+strconv.Itoa(i))
	}
	return names
}

// disturb brings about one fault and says which.
func (s *linearServer) disturb(t *testing.T, rng *rand.Rand, models [2]string) string {
	t.Helper()
	switch rng.IntN(4) {
	case 0:
		s.restart(t)
		return "kills"
	case 1:
		check.Must(t, s.Signal(syscall.SIGSTOP))
		time.Sleep(time.Duration(rng.IntN(100)) * time.Millisecond)
		check.Must(t, s.Signal(syscall.SIGCONT))
		return "stops of the process"
	case 2:
		s.connect(t)
		return "broken connections"
	}
	replace(t, s.model, mustRead(t, models[rng.IntN(2)]))
	check.Get(pb.NewAdminServiceClient(s.dialAdmin(t).Conn()).ReloadModel(t.Context(),
		&pb.ReloadModelRequest{}))(t)
	return "reloads"
}

// checkLinear checks the calls of each user.
func checkLinear(t *testing.T, seed uint64, clients []*linearClient) (n int) {
	t.Helper()
	users := map[string][]porcupine.Operation{}
	for _, c := range clients {
		for _, op := range c.calls {
			user := op.Input.(linearCall).user
			users[user] = append(users[user], op)
			n++
		}
	}
	for user, calls := range users {
		once := slices.DeleteFunc(slices.Clone(calls), func(op porcupine.Operation) bool {
			return op.Output.(linearAnswer).repeated
		})
		outcome, found := porcupine.CheckOperationsVerbose(linearHistory, once, 2*time.Minute)
		if outcome != porcupine.Ok && len(once) < len(calls) {
			outcome, found = porcupine.CheckOperationsVerbose(linearHistory, calls, 2*time.Minute)
		} else {
			calls = once
		}
		if outcome == porcupine.Ok {
			continue
		}
		t.Errorf("seed %d: the order of the %d calls of %s that explains their answers: %s", seed,
			len(calls), user, map[porcupine.CheckResult]string{
				porcupine.Illegal: "there is none", porcupine.Unknown: "not found in 2 min"}[outcome])
		logUnexplained(t, calls, found)
	}
	return n
}

// logUnexplained logs the end of the longest order that explains its calls, and the calls after it.
func logUnexplained(t *testing.T, calls []porcupine.Operation, found porcupine.LinearizationInfo) {
	t.Helper()
	var longest []int
	for _, order := range found.PartialLinearizations()[0] {
		if len(order) > len(longest) {
			longest = order
		}
	}
	const most = 200
	show := func(word string, op porcupine.Operation) {
		t.Logf("%s %d to %d µs, client %d, process %d: %+v %+v", word, op.Call/1000,
			op.Return/1000, op.ClientId, op.Metadata, op.Input, op.Output)
	}
	for _, i := range longest[max(0, len(longest)-most):] {
		show("in order:", calls[i])
	}
	var left []porcupine.Operation
	for i, op := range calls {
		if !slices.Contains(longest, i) {
			left = append(left, op)
		}
	}
	slices.SortFunc(left, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	for _, op := range left[:min(most, len(left))] {
		show("left:", op)
	}
}
