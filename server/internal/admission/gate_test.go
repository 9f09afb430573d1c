package admission

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/peer"

	"github.com/gsimc/gsimc/internal/test/check"
)

var must, eventually = check.Must, check.Await

// newGate is a gate with methods that begin as their classes do.
func newGate(t testing.TB, change func(*Config)) *Gate {
	t.Helper()
	cfg := Config{
		Methods: map[string]Method{
			"/r": {Class: Recommend}, "/o": {Class: Observe}, "/a": {Class: Admin}, "/p": {Class: Probe},
			"/s": {Class: Stream, Stream: true, Feed: true}, "/w": {Class: Watch, Stream: true},
		},
		DefaultTimeout: time.Second, MaxTimeout: 30 * time.Second,
		MaxInFlight: 8, MaxStreams: 3, MaxWatches: 2, MaxReceiving: 4,
	}
	if change != nil {
		change(&cfg)
	}
	return New(cfg, NewMetrics())
}

// by is the context of calls of a connection.
func by(t *testing.T, c *conn) context.Context {
	return peer.NewContext(t.Context(), &peer.Peer{Addr: address{&net.TCPAddr{}, c}})
}

// call is a call of a test, whose transport ends it.
type call struct {
	*Ticket
	end context.CancelFunc
}

func admit(t *testing.T, g *Gate, method string) (call, error) {
	t.Helper()
	c, cancel := context.WithCancel(t.Context())
	ctx, err := g.Admit(c, method)
	return call{Of(ctx), cancel}, err
}

// refusal is why a call was not admitted; empty: it was.
func refusal[T any](_ T, err error) Reason { return reasonOf(err) }

// reasonOf is the text of an error that is no refusal.
func reasonOf(err error) Reason {
	if r, ok := errors.AsType[*RefusedError](err); ok {
		return r.Reason
	}
	if err != nil {
		return Reason(err.Error())
	}
	return ""
}

func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, nil)
		for _, test := range []struct {
			method     string
			given, got time.Duration // 0: none
		}{
			{"/r", 0, time.Second}, {"/r", time.Minute, 30 * time.Second},
			{"/r", 5 * time.Second, 5 * time.Second}, {"/s", 0, 0}, {"/s", time.Hour, time.Hour},
			{"/p", 0, time.Second}, {"/w", 0, 0}, {"/unknown", 0, time.Second}, {"/a", time.Hour, time.Hour},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			if test.given > 0 {
				ctx, cancel = context.WithTimeout(ctx, test.given)
			}
			admitted := check.Get(g.Admit(ctx, test.method))(t)
			deadline, set := admitted.Deadline()
			if got := time.Until(deadline); set != (test.got > 0) || set && got != test.got {
				t.Errorf("%s, given %v: %v (set %t), want %v", test.method, test.given, got, set,
					test.got)
			}
			cancel()
		}
	})
}

// Calls whose message does not come make room for others once they are slow, and not before.
func TestReceivingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, func(c *Config) { c.MaxInFlight = 1000 })
		var calls []call
		for range 4 * burst {
			c := check.Get(admit(t, g, "/r"))(t)
			defer c.end()
			calls = append(calls, c)
		}
		check.Same(t, Receiving, refusal(admit(t, g, "/o")), "beyond a burst")
		time.Sleep(2 * slowAfter)
		for i, c := range calls {
			early := i < len(calls)-4
			check.Same(t, early, c.Context.Err() != nil, "call %d: ended", i)
			if early && !errors.Is(c.Err(), context.DeadlineExceeded) {
				t.Errorf("call %d ends with %v, want the end of its time", i, c.Err())
			}
			if err := c.Run(); early && reasonOf(err) != Slow || !early && err != nil {
				t.Errorf("call %d runs with %v", i, err)
			}
		}
		check.Same(t, 0, g.receiving.n, "calls left")
		check.Same(t, 0, g.classes[Recommend].receiving, "calls left of the class")
	})
}

// A newcomer takes the place of a slow call of its class, or of any when too many are receiving.
func TestNewcomerTakesThePlaceOfTheSlowest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, func(c *Config) { c.MaxInFlight, c.MaxReceiving = 4, 100 })
		room := g.classes[Recommend].room()
		var calls []call
		for range room {
			c := check.Get(admit(t, g, "/r"))(t)
			calls = append(calls, c)
			time.Sleep(time.Millisecond)
		}
		check.Same(t, Full, refusal(admit(t, g, "/r")), "into a full class")
		check.Same(t, Reason(""), refusal(admit(t, g, "/o")), "another class")
		time.Sleep(slowAfter)
		check.Same(t, Reason(""), refusal(admit(t, g, "/r")), "beside slow ones")
		if calls[0].Context.Err() == nil || calls[1].Context.Err() != nil {
			t.Error("the newcomer did not take the place of the slowest")
		}
		for _, c := range calls {
			c.end()
		}
	})
}

// Waiting calls run in their order, and leave when their deadline cannot be met.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, func(c *Config) { c.MaxInFlight = 2 })
		var calls []call
		for range 3 {
			c := check.Get(admit(t, g, "/r"))(t)
			defer c.end()
			calls = append(calls, c)
		}
		for _, c := range calls[:2] {
			must(t, c.Run())
		}
		begin := time.Now()
		go func() {
			time.Sleep(300 * time.Millisecond)
			calls[0].Leave()
		}()
		must(t, calls[2].Run())
		check.Same(t, 300*time.Millisecond, time.Since(begin), "time until the third runs")
		late := check.Get(admit(t, g, "/r"))(t)
		defer late.end()
		check.Same(t, Late, reasonOf(late.Run()), "a call whose turn does not come")
		check.Same(t, 0, g.classes[Recommend].queue.n, "calls that wait")
		calls[1].Leave()
		calls[1].Leave()
		calls[2].Leave()
		check.Same(t, 0, g.classes[Recommend].running, "calls running")
	})
}

// When a class is full, a newcomer ends the stream that has been idle for longest, or one of a
// connection that has far more of them than its own. Handlers that do not return are bounded.
func TestStreamsMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, func(c *Config) { c.MaxStreams = 16 })
		limited := Limit(nil, Bounds{}, g.metrics)
		open := func(from *conn) (*Ticket, error) {
			ctx, err := g.Admit(by(t, from), "/s")
			if err == nil {
				err = Of(ctx).Run()
			}
			return Of(ctx), err
		}
		ended := func(in []*Ticket) (n int) {
			for _, s := range in {
				if s.Evicted() {
					n++
				}
			}
			return n
		}
		var greedy, modest []*Ticket
		from, other := &conn{of: limited}, &conn{of: limited}
		for range 13 {
			greedy = append(greedy, check.Get(open(from))(t))
		}
		for range 3 {
			modest = append(modest, check.Get(open(other))(t))
		}
		// none is idle, it has most
		check.Same(t, Full, refusal(open(from)), "one of the connection with most")
		for i := range 4 { // 16/ending may be beside the limit
			if _, err := open(&conn{of: limited}); err != nil || ended(greedy) != i+1 {
				t.Fatalf("newcomer %d: %v, %d of the connection with most have ended", i, err,
					ended(greedy))
			}
		}
		check.Same(t, Full, refusal(open(&conn{of: limited})),
			"beside four handlers that do not return")
		for _, s := range greedy {
			if s.Evicted() {
				if s.Context.Err() == nil || !errors.Is(s.Err(), context.DeadlineExceeded) {
					t.Errorf("a stream that made room ends with %v", s.Err())
				}
				s.Leave()
			}
			s.Working()
		}
		modest[0].Working()
		time.Sleep(idleAfter / 2)
		modest[1].Working()
		modest[1].Idle()
		time.Sleep(idleAfter / 2)
		if _, err := open(from); err != nil || !modest[2].Evicted() || ended(modest) != 1 {
			t.Errorf("beside an idle one: %v, %d have ended", err, ended(modest))
		}
		modest[2].Leave()
		time.Sleep(idleAfter)
		for range 3 {
			check.Same(t, Reason(""), refusal(open(from)), "beside idle ones")
		}
		if modest[0].Evicted() || ended(greedy) != 4 {
			t.Error("a stream on which something is to do made room for one of the same size")
		}
	})
}

// The handler of a stream keeps its place after its client has gone.
func TestStreamsStayWithTheirHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, func(c *Config) { c.MaxStreams = 1 })
		c := check.Get(admit(t, g, "/s"))(t)
		must(t, c.Run())
		c.end()
		synctest.Wait()
		check.Same(t, Full, refusal(admit(t, g, "/s")), "beside a handler that runs")
		c.Leave()
		next, err := admit(t, g, "/s")
		check.Pass(t, err, "after it")
		next.end()
	})
}

// A call with a far deadline is refused after its message, as the library would remember it.
func TestFarDeadline(t *testing.T) {
	g := newGate(t, func(c *Config) { c.MaxInFlight = 1 })
	for range g.classes[Recommend].room() {
		c := check.Get(admit(t, g, "/r"))(t)
		defer c.end()
	}
	before := g.receiving.n
	far, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	ctx := check.Get(g.Admit(far, "/r"))(t) // its headers alone are no reason
	check.Same(t, Full, reasonOf(Of(ctx).Run()), "it runs with")
	check.Same(t, before, g.receiving.n, "calls left")
	check.Same(t, before, g.classes[Recommend].receiving, "calls left of the class")
}

// Questions about the health are always taken, and those that do not come to an end make room.
func TestProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, nil)
		limited := Limit(nil, Bounds{}, g.metrics)
		greedy, modest := &conn{of: limited}, &conn{of: limited}
		ask := func(from *conn, method string) call {
			t.Helper()
			c, cancel := context.WithCancel(by(t, from))
			ctx := check.Get(g.Admit(c, method))(t)
			return call{Of(ctx), cancel}
		}
		good := ask(modest, "/p")
		for i := range 2 * probeBurst {
			defer ask(greedy, []string{"/p", "/w"}[i%2]).end()
		}
		check.Same(t, probeBurst, g.probes.n, "probes receiving")
		check.Pass(t, good.Run(), "one beside many of another connection")
		if !greedy.called.Load() || !modest.called.Load() {
			t.Error("connections that ask for the health count as silent")
		}
		good.Leave()
		time.Sleep(4 * slowAfter)
		synctest.Wait()
		check.Same(t, maxProbes, g.probes.n, "probes receiving for long")
		var open []call
		for range 3 {
			w := ask(modest, "/w")
			defer w.end()
			if err := w.Run(); (err == nil) != (len(open) < g.cfg.MaxWatches) {
				t.Errorf("beside %d that watch the health: %v", len(open), err)
			}
			open = append(open, w)
		}
	})
}

// Calls that are to be refused after their message count for their connection, and are not ended to
// make room in their class, of which they take none.
func TestRefusedCallsWhileReceiving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, func(c *Config) { c.MaxReceiving = 100 })
		from := &conn{of: Limit(nil, Bounds{}, g.metrics)}
		ctx, cancel := context.WithTimeout(by(t, from), time.Hour)
		defer cancel()
		room := g.classes[Admin].room()
		for range room + 3 {
			check.Get(g.Admit(ctx, "/a"))(t)
		}
		check.Same(t, room+3, from.receiving, "calls of the connection count")
		for range room {
			must(t, g.receiving.first.Run())
		}
		time.Sleep(slowAfter + time.Millisecond)
		synctest.Wait()
		check.Same(t, Full, refusal(g.Admit(t.Context(), "/a")), "into a full class")
		check.Same(t, 3, from.receiving, "calls are receiving")
		cancel()
		time.Sleep(2 * slowAfter)
		synctest.Wait()
		check.Same(t, 0, g.receiving.n, "calls receiving that have ended")
		check.Same(t, 0, from.receiving, "calls of the connection that have ended")
	})
}

// Many calls of all kinds leave nothing behind, and never run beyond the limit.
func TestGateAtRandom(t *testing.T) {
	g := newGate(t, func(c *Config) { c.MaxStreams = 16 })
	limited := Limit(nil, Bounds{}, g.metrics)
	conns := []*conn{{of: limited}, {of: limited}}
	var over, taken atomic.Int64
	var runningNow [numClasses]atomic.Int64
	var wg sync.WaitGroup
	for worker := range 32 {
		rng := rand.New(rand.NewPCG(1, uint64(worker)))
		wg.Go(func() {
			for range 300 {
				one(by(t, conns[min(worker/4, 1)]), g, rng, &runningNow, &over, &taken)
			}
		})
	}
	wg.Wait()
	g.mu.Lock()
	g.evict(&g.receiving, time.Now().Add(time.Hour), 0)
	g.mu.Unlock()
	if over.Load() > 0 || taken.Load() == 0 {
		t.Errorf("%d calls ran beyond the limit, %d in all", over.Load(), taken.Load())
	}
	eventually(t, "no streams without a handler are left", func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.classes[Stream].running == 0
	})
	for c := range numClasses {
		check.Same(t, 0, g.classes[c].underWay()+g.classes[c].ending+g.classes[c].feeds.n,
			"%s: calls are left", c)
	}
}

// one makes a call that may be given up at any step.
func one(parent context.Context, g *Gate, rng *rand.Rand, runs *[numClasses]atomic.Int64,
	over, taken *atomic.Int64) {
	ctx, cancel := context.WithTimeout(parent, time.Duration(1+rng.IntN(20))*time.Millisecond)
	defer cancel()
	admitted, err := g.Admit(ctx, []string{"/r", "/o", "/a", "/s"}[rng.IntN(4)])
	if err != nil || rng.IntN(4) == 0 {
		return
	}
	ticket := Of(admitted)
	if ticket.Run() != nil {
		return
	}
	limit := int64(8)
	switch ticket.of.Class {
	case Admin:
		limit = adminLimit
	case Stream:
		limit = 16 + 16/ending
	}
	if runs[ticket.of.Class].Add(1) > limit {
		over.Add(1)
	}
	taken.Add(1)
	time.Sleep(time.Duration(rng.IntN(300)) * time.Microsecond)
	runs[ticket.of.Class].Add(-1)
	ticket.Leave()
}

func BenchmarkGate(b *testing.B) {
	g := newGate(b, nil)
	b.ReportAllocs()
	for b.Loop() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		admitted, err := g.Admit(ctx, "/r")
		must(b, err)
		ticket := Of(admitted)
		must(b, ticket.Run())
		ticket.Leave()
		cancel()
	}
}
