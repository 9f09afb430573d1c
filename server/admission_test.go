package server

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// Every method that is served has a class, and no other.
func TestEveryMethodIsAdmitted(t *testing.T) {
	ts := start(t, setup{})
	served := ts.grpc.GetServiceInfo()
	maps.Copy(served, ts.adminGRPC.GetServiceInfo())
	left := maps.Clone(admitted)
	for service, info := range served {
		for _, m := range info.Methods {
			name := "/" + service + "/" + m.Name
			got, ok := admitted[name]
			if !ok || got.Stream != (m.IsClientStream || m.IsServerStream) &&
				!strings.Contains(service, "health") {
				t.Errorf("%s is admitted as %+v (known %t)", name, got, ok)
			}
			delete(left, name)
		}
	}
	if len(left) > 0 {
		t.Errorf("not served: %v", left)
	}
}

// A thousand half-sent messages on a few connections fill no memory, and others are answered.
func TestHalfMessages(t *testing.T) {
	ts := start(t, setup{})
	const calls = 1000
	var attackers []*rawClient
	for sent := 0; sent < calls; {
		c := dialRaw(t, ts.rpc)
		attackers = append(attackers, c)
		for range c.streams {
			c.send(c.call(pb.EventService_BatchObserve_FullMethodName, timeout(time.Hour)), 4<<20,
				make([]byte, 256))
			sent++
		}
	}
	for range 20 {
		ts.observe(t, newEvent("ann", 1))
		ts.ask(t, forUser("ann"))
	}
	eventually(t, "all but 64 calls are ended", func() bool {
		ended := 0
		for _, c := range attackers {
			for _, n := range c.statusCounts() {
				ended += n
			}
		}
		return ended >= calls-maxReceiving
	})
}

// The time of a call counts from its headers.
func TestDeadlineFromTheFirstByte(t *testing.T) {
	ts := start(t, setup{config: func(c *Config) { c.DefaultTimeout = 50 * time.Millisecond }})
	c := dialRaw(t, ts.rpc)
	id := c.call(pb.RecommenderService_Recommend_FullMethodName)
	c.send(id, 100, []byte("x"))
	eventually(t, "the call ends", func() bool { return c.status(id) == "4" })
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
	for range 3 { // two run and one waits
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
			`gsimc_calls_under_way{class="observe",state="queued"} 1`)
	})
	_, err := ts.events.Observe(ctx(t), &pb.ObserveRequest{Event: newEvent("ann", 1)})
	want := problem{Code: codes.ResourceExhausted, Reason: "OVERLOADED", Retry: true}
	if d := cmp.Diff(want, problemOf(t, err)); d != "" {
		t.Errorf("the call is refused with (-want +got):\n%s", d)
	}
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
	if strings.Contains(ts.logs.String(), "call failed") {
		t.Error("a refusal is logged as a failure")
	}
}
