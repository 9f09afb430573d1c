package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/enginetest"
)

// TestStoreOutOfReach stops all processes of a cluster under a real server that is under load. The
// server says so and stays up and small; calls beyond its room are refused at once; and it goes on
// by itself when the cluster does.
func TestStoreOutOfReach(t *testing.T) {
	_, model := smallModel(t)
	cluster := enginetest.Redis(t, enginetest.RedisConfig{Primaries: 3, Replicas: 1})
	// --data-dir as it is without the flag
	p := startServe(t, model, "./state", "--max-timeout", "20s", "--store",
		"valkey://"+strings.Join(cluster.Addrs(), ",")+"/n?room=8")
	p.awaitLog(t, "promise of the store", 10)
	// not our client, which repeats calls
	conn, err := grpc.NewClient(p.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	events, lists := pb.NewEventServiceClient(conn), pb.NewRecommenderServiceClient(conn)
	observe := func(user string, timeout time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		_, err := events.Observe(ctx, &pb.ObserveRequest{
			Event: &pb.Event{UserId: user, ItemId: "item-1"}})
		return err
	}
	if err := observe("ann", 10*time.Second); err != nil {
		t.Fatal(err)
	}
	pid, before := p.PID(), measure(t, p)

	for _, n := range cluster.Nodes {
		n.Pause()
	}
	refused := loadWithoutStore(t, observe)
	t.Logf("%d calls were refused at once: median %v, p99 %v, slowest %v", len(refused),
		refused[len(refused)/2], refused[len(refused)*99/100], refused[len(refused)-1])
	wantUnavailable(t, "Observe", observe("ann", time.Second))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = lists.Recommend(ctx, &pb.RecommendRequest{
		Subject: &pb.RecommendRequest_UserId{UserId: "bob"}})
	wantUnavailable(t, "Recommend", err)
	if !eventually(10*time.Second, func() bool {
		return strings.Contains(p.metricsPage(t), "\ngsimc_store_away 1\n")
	}) {
		t.Error("the metrics do not say that the store is away")
	}
	for _, probe := range []string{"/livez", "/readyz"} {
		resp, err := http.Get("http://" + p.Ops + probe)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", probe, resp.Status)
		}
	}
	t.Logf("memory: %d MiB before, %d MiB without the store", before.memory>>20,
		measure(t, p).memory>>20)

	for _, n := range cluster.Nodes {
		n.Resume()
	}
	if err := cluster.Settled(30 * time.Second); err != nil {
		t.Fatal(err)
	}
	back := time.Now()
	if !eventually(20*time.Second, func() bool { return observe("ann", time.Second) == nil }) {
		t.Fatal("the server does not go on")
	}
	t.Logf("events are taken %v after the cluster had settled", time.Since(back))
	if after := measure(t, p); p.PID() != pid || after.memory > before.memory+64<<20 {
		t.Errorf("process %d with %d MiB, was %d with %d MiB", p.PID(), after.memory>>20, pid,
			before.memory>>20)
	}
	p.mustStop(t)
}

// loadWithoutStore sends events of many users, more than there is room for, and returns how long
// those waited that were refused before their deadline, in order.
func loadWithoutStore(t *testing.T, observe func(string, time.Duration) error) []time.Duration {
	const callers, calls, deadline = 64, 40, 4 * time.Second
	var mu sync.Mutex
	var refused []time.Duration
	seen := map[codes.Code]int{}
	var running sync.WaitGroup
	for c := range callers {
		running.Go(func() {
			for i := range calls {
				begin := time.Now()
				err := observe(fmt.Sprint("user-", c, "-", i), deadline)
				took := time.Since(begin)
				if s := status.Code(err); s != codes.Unavailable && s != codes.DeadlineExceeded &&
					s != codes.ResourceExhausted {
					t.Errorf("Observe without a store: %v", err)
					return
				}
				mu.Lock()
				seen[status.Code(err)]++
				if took < deadline/2 && status.Code(err) == codes.Unavailable {
					refused = append(refused, took)
				}
				mu.Unlock()
				if took > deadline/2 {
					return // the store had room for this one
				}
			}
		})
	}
	running.Wait()
	t.Logf("calls without a store by their status: %v", seen)
	if len(refused) == 0 {
		t.Fatal("no call was refused at once")
	}
	slices.Sort(refused)
	return refused
}

func wantUnavailable(t *testing.T, what string, err error) {
	t.Helper()
	if status.Code(err) != codes.Unavailable && status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("%s without a store: %v, want UNAVAILABLE", what, err)
	}
}
