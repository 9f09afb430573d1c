package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/client"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/enginetest"
	"github.com/gsimc/gsimc/internal/test/soak"
)

// waysToBeGone are the ways in which a whole cluster goes away and comes back.
var waysToBeGone = []struct {
	name       string
	away, back func(n *enginetest.RedisNode) error
}{
	{"hanging processes",
		func(n *enginetest.RedisNode) error { n.Pause(); return nil },
		func(n *enginetest.RedisNode) error { n.Resume(); return nil }},
	{"killed processes",
		func(n *enginetest.RedisNode) error { n.Kill(); return nil },
		(*enginetest.RedisNode).Start},
}

// A shared store goes away as a whole under load and comes back: its processes hang, or are killed
// and started again. Meanwhile probes are green, and calls fail as UNAVAILABLE, at once when there
// is no room to wait. Then the same server goes on, with every acknowledged event.
func TestStoreIsGone(t *testing.T) {
	soak.Processes(t, "the real binary")
	t.Parallel()
	_, model := smallModel(t)
	gone := 4 * time.Second
	if soak.Long() {
		gone = 30 * time.Second
	}
	for _, way := range waysToBeGone {
		t.Run(way.name, func(t *testing.T) {
			// As all end at once, each has to have its file synced.
			c := enginetest.Redis(t, enginetest.RedisConfig{Primaries: 3, Replicas: 2,
				Args: []string{"--appendfsync", "always"}})
			all := func(do func(n *enginetest.RedisNode) error) {
				for _, n := range c.Nodes {
					check.Must(t, do(n))
				}
			}
			const room = 16
			server := startShared(t, model, fmt.Sprintf("valkey://%s/%s?replicas=2&room=%d",
				strings.Join(c.Addrs(), ","), enginetest.Namespace(), room))
			l := &goneLoad{t: t, server: server, callers: 6 * room}
			l.start()
			l.await(2000)
			before := measure(t, server)
			all(way.away)
			l.turn("gone")
			l.probe(gone)
			all(way.back)
			l.turn("back")
			l.await(2000)
			l.stop()
			check.Must(t, c.Settled(time.Minute))
			after := measure(t, server)
			l.report(gone)
			t.Logf("the first event was acknowledged %v after the store came back; memory %d MiB "+
				"before, %d MiB at most", l.first.Sub(l.since).Round(time.Millisecond),
				before.memory>>20, after.peak>>20)
			if after.peak > before.memory+256<<20 {
				t.Errorf("the memory grew from %d to %d MiB", before.memory>>20, after.peak>>20)
			}
			l.checkKept()
			soak.Injected(t, 1, "losses of the whole store")
			server.mustStop(t)
		})
	}
}

// goneLoad is callers of Observe, each with a user.
type goneLoad struct {
	t       *testing.T
	server  *serverProcess
	callers int
	end     context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	phase  string
	since  time.Time // when the phase began
	first  time.Time // when the first call of the phase "back" succeeded
	acked  []int64
	total  int64
	failed map[string][]failure // by phase
}

// failure is a call that failed.
type failure struct {
	code codes.Code
	took time.Duration
}

const goneDeadline = time.Second // of each call

func (l *goneLoad) start() {
	var ctx context.Context
	ctx, l.end = context.WithCancel(l.t.Context())
	l.failed, l.acked = map[string][]failure{}, make([]int64, l.callers)
	var events pb.EventServiceClient
	for i := range l.callers {
		if i%32 == 0 { // a connection has room for some calls only
			c := check.Get(client.Dial(client.Options{Address: l.server.GRPC,
				Retry: client.Retry{Attempts: 1}}))(l.t)
			l.t.Cleanup(func() { _ = c.Close() })
			events = pb.NewEventServiceClient(c.Conn())
		}
		calls := events
		l.running.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				l.observe(calls, i, n)
			}
		})
	}
}

// observe sends one event.
func (l *goneLoad) observe(events pb.EventServiceClient, caller, n int) {
	ctx, cancel := context.WithTimeout(l.t.Context(), goneDeadline)
	defer cancel()
	began := time.Now()
	_, err := events.Observe(ctx, &pb.ObserveRequest{Event: &pb.Event{
		UserId: fmt.Sprint("user-", caller), EventId: fmt.Sprint(n), ItemId: fmt.Sprint(n % 100)}})
	took := time.Since(began)
	l.mu.Lock()
	if err == nil {
		l.acked[caller]++
		l.total++
		if l.phase == "back" && l.first.IsZero() {
			l.first = time.Now()
		}
	} else if began.After(l.since) {
		l.failed[l.phase] = append(l.failed[l.phase], failure{status.Code(err), took})
	}
	l.mu.Unlock()
	if err != nil {
		time.Sleep(20 * time.Millisecond)
	} else {
		time.Sleep(5 * time.Millisecond)
	}
}

// await waits until n more events are acknowledged.
func (l *goneLoad) await(n int64) {
	l.t.Helper()
	total := func() int64 {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.total
	}
	from := total()
	await(l.t, fmt.Sprint(n, " more events are acknowledged"), func() bool {
		return total() >= from+n
	})
}

// turn begins a phase.
func (l *goneLoad) turn(phase string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.phase, l.since = phase, time.Now()
}

// probe asks for a list, which cannot be had, and the probes for a time, which must be green.
func (l *goneLoad) probe(d time.Duration) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), goneDeadline)
	defer cancel()
	_, err := pb.NewRecommenderServiceClient(l.server.client(l.t)).Recommend(ctx,
		&pb.RecommendRequest{Subject: &pb.RecommendRequest_UserId{UserId: "somebody"}})
	if code := status.Code(err); code != codes.Unavailable && code != codes.DeadlineExceeded {
		l.t.Errorf("Recommend while the store is gone: %v, want UNAVAILABLE", err)
	}
	await(l.t, "the metrics say that the store is away", func() bool {
		return strings.Contains(l.server.metricsPage(l.t), "\ngsimc_store_away 1\n")
	})
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		for _, path := range []string{"/livez", "/readyz"} {
			l.server.page(l.t, path)
		}
	}
}

func (l *goneLoad) stop() {
	l.end()
	l.running.Wait()
}

// report checks how calls failed while the store was gone, and prints it.
func (l *goneLoad) report(gone time.Duration) {
	var quick []time.Duration
	waited := 0
	for _, c := range l.failed["gone"] {
		switch {
		case c.code != codes.Unavailable && c.code != codes.ResourceExhausted &&
			c.code != codes.DeadlineExceeded:
			l.t.Errorf("a call while the store is gone: %v after %v", c.code, c.took)
		case c.code != codes.DeadlineExceeded && c.took < goneDeadline/2:
			quick = append(quick, c.took)
		default: // a busy machine looks into the queue late
			waited++
		}
	}
	if len(quick) == 0 || waited == 0 {
		l.t.Fatalf("%d calls were refused at once, %d at their deadline or late, want some "+
			"of each", len(quick), waited)
	}
	slices.Sort(quick)
	l.t.Logf("%v without a store: %d calls refused at once (median %v, 99 %% %v, slowest %v), %d "+
		"at their deadline of %v or late; %d events acknowledged before and after", gone,
		len(quick), quick[len(quick)/2].Round(time.Microsecond),
		quick[len(quick)*99/100].Round(time.Microsecond),
		quick[len(quick)-1].Round(time.Microsecond), waited, goneDeadline, l.total)
}

// checkKept checks that the store has the acknowledged events. Of one that failed it may have some.
func (l *goneLoad) checkKept() {
	users := pb.NewUserServiceClient(l.server.client(l.t))
	for caller, acked := range l.acked {
		got := check.Get(users.GetUser(l.t.Context(),
			&pb.GetUserRequest{UserId: fmt.Sprint("user-", caller)}))(l.t)
		if n := got.GetUser().GetEventCount(); n < acked {
			l.t.Errorf("user %d has %d events, %d were acknowledged", caller, n, acked)
		}
	}
}
