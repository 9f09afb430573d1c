package main

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/client"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/nettest"
	"github.com/gsimc/gsimc/internal/test/soak"
)

// balanced returns a connection to several servers that takes one after the other, with the policy
// of repetition of package client. It looks for servers that have gone sooner than gRPC does by
// default, after a second, so that the rolls may follow each other as fast.
func balanced(t *testing.T, addresses ...string) *grpc.ClientConn {
	t.Helper()
	var config map[string]any
	check.Must(t, json.Unmarshal([]byte(client.DefaultRetry().ServiceConfig()), &config))
	config["loadBalancingConfig"] = []any{map[string]any{"round_robin": map[string]any{}}}
	text := check.Get(json.Marshal(config))(t)
	names := manual.NewBuilderWithScheme("test")
	var state resolver.State
	for _, a := range addresses {
		state.Addresses = append(state.Addresses, resolver.Address{Addr: a})
	}
	names.InitialState(state)
	conn := check.Get(grpc.NewClient("test:///servers", grpc.WithResolvers(names),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(string(text)),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{
			BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, MaxDelay: time.Second}})))(t)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// Two servers are drained and started anew, one after the other, over and over, under load. No call
// of a client of both fails, and no event of a client that waits for its server; every event is
// stored once.
func TestRollsFailNoCall(t *testing.T) {
	t.Parallel()
	soak.Only(t)
	_, model := smallModel(t)
	dirs := []string{t.TempDir(), t.TempDir()}
	flags := []string{"--drain-delay", "100ms", "--extend-every", "0s"}
	var servers []*serverProcess
	for _, dir := range dirs {
		servers = append(servers, startServe(t, model, dir,
			append(slices.Clone(flags), "--listen", nettest.Loopback(t))...))
	}
	both := balanced(t, servers[0].GRPC, servers[1].GRPC)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var clients sync.WaitGroup
	var answers atomic.Int64
	for c := range 4 {
		clients.Go(func() { answers.Add(askWhile(ctx, t, both, c)) })
	}
	var sent [2]atomic.Int64
	for i := range servers {
		clients.Go(func() { observeWhile(ctx, t, balanced(t, servers[i].GRPC), &sent[i]) })
	}
	rolls := soak.Times(5)
	for i := range rolls {
		if t.Failed() {
			break
		}
		one := i % 2
		address := servers[one].GRPC
		servers[one].mustStop(t)
		servers[one] = startServe(t, model, dirs[one], append(slices.Clone(flags), "--listen",
			address)...)
		// The clients of both have found it again before the other one goes.
		await(t, "calls reach a server that was started anew", func() bool {
			return servers[one].answered(t) > 0
		})
	}
	stop()
	clients.Wait()
	for i := range servers {
		got := check.Get(pb.NewUserServiceClient(servers[i].client(t)).GetUser(t.Context(),
			&pb.GetUserRequest{UserId: "roller"}))(t)
		// The last one may have been cancelled on its way back.
		if n := got.GetUser().GetEventCount(); n != sent[i].Load() && n != sent[i].Load()+1 {
			t.Errorf("server %d has %d events, %d were acknowledged", i, n, sent[i].Load())
		}
	}
	t.Logf("%d answers and %d events over %d rolls", answers.Load(),
		sent[0].Load()+sent[1].Load(), rolls)
	soak.Injected(t, rolls, "rolls")
}

var answeredLine = regexp.MustCompile(
	`(?m)^grpc_server_handled_total{grpc_code="OK",grpc_method="Recommend",.*} (\d+)$`)

// answered is the number of lists that a server has answered.
func (p *serverProcess) answered(t *testing.T) int {
	t.Helper()
	found := answeredLine.FindStringSubmatch(p.metricsPage(t))
	if found == nil {
		return 0
	}
	n := check.Get(strconv.Atoi(found[1]))(t)
	return n
}

// askWhile asks for lists of a history until the context ends, and returns how many it got.
func askWhile(ctx context.Context, t *testing.T, conn *grpc.ClientConn, c int) (n int64) {
	calls := pb.NewRecommenderServiceClient(conn)
	req := &pb.RecommendRequest{Subject: &pb.RecommendRequest_History{History: &pb.InlineHistory{
		Entries: []*pb.HistoryEntry{{ItemId: fmt.Sprint(c)}}}}}
	for ctx.Err() == nil {
		within, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		_, err := calls.Recommend(within, req)
		cancel()
		if err != nil {
			t.Errorf("Recommend: %v", err)
			return n
		}
		n++
		time.Sleep(time.Millisecond)
	}
	return n
}

// observeWhile sends events of one user until the context ends, and counts those that were
// acknowledged. It waits for its server.
func observeWhile(ctx context.Context, t *testing.T, conn *grpc.ClientConn, sent *atomic.Int64) {
	calls := pb.NewEventServiceClient(conn)
	for i := 0; ctx.Err() == nil; i++ {
		within, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		_, err := calls.Observe(within, &pb.ObserveRequest{Event: &pb.Event{UserId: "roller",
			EventId: fmt.Sprint(i), ItemId: fmt.Sprint(i % 50)}}, grpc.WaitForReady(true))
		cancel()
		if err != nil {
			t.Errorf("Observe: %v", err)
			return
		}
		sent.Add(1)
	}
}
