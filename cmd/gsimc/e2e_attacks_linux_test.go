package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/h2test"
	"github.com/gsimc/gsimc/internal/test/soak"
)

// The bounds of every attack, far above what is measured: a server without a defence passes them.
const (
	maxAttackedMemory     = 512 << 20
	maxAttackedGoroutines = 30000 // three for each of the connections that there may be, and more
	settledGoroutines     = 100   // that may be left of an attack some time after it
)

// attack is a client that means ill.
type attack struct {
	name string
	does string // what the server does, for the table
	tls  bool   // of a server with TLS
	json bool   // of the JSON side
	// status, if not empty, is the number of the code with which all calls end that there is room
	// for, and some do.
	status string
	// run attacks until the context ends, once in each of two goroutines.
	run func(*assault)
}

// assault is an attack that goes on.
type assault struct {
	context.Context
	t       *testing.T
	address string
	sent    atomic.Int64 // frames, calls or connections
	conns   int          // to be opened by attacks that open connections

	answered atomic.Bool // a call on a connection that is still open has ended

	mu       sync.Mutex
	statuses map[string]int // with which calls have ended
}

// note takes in how the calls of a connection have ended.
func (a *assault) note(c *h2test.Client) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for code, n := range c.StatusCounts() {
		a.statuses[code] += n
	}
}

// unanswered reports whether no call is known to have ended.
func (a *assault) unanswered() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.statuses) == 0 && !a.answered.Load()
}

// over reports whether the attack has come to its end.
func (a *assault) over() bool { return a.Err() != nil }

// TestAttacks lets one attack after the other run against a server of its own. The server lives on,
// its memory and goroutines stay within bounds and come back, and a good client is answered
// meanwhile and afterwards. With -v the test prints the table of docs/security.md.
func TestAttacks(t *testing.T) {
	soak.Only(t)
	_, model := smallModel(t)
	certificates := attackedCertificates(t)
	var table strings.Builder
	table.WriteString("| attack | the server | sent | processor s of s | MiB before, peak | " +
		"goroutines before, peak, after | good client: answers, failures, p99 |\n" +
		"|---|---|--:|--:|--:|--:|--:|\n")
	all := slices.Concat(attacks(), jsonAttacks())
	some := soak.SomeOf(t, len(all), 2)
	for _, i := range some {
		a := all[i]
		t.Run(strings.ReplaceAll(a.name, " ", "_"), func(t *testing.T) {
			flags := []string{"--store", "memory", "--json-listen", "127.0.0.1:0"}
			if a.tls {
				flags = append(flags, certificates...)
			}
			table.WriteString(a.against(t, startServe(t, model, t.TempDir(), flags...)))
		})
	}
	t.Logf("%d processors; each attack takes %v\n%s", runtime.NumCPU(), attackTime(), &table)
	soak.Injected(t, len(some), "attacks")
}

// attackTime is how long each attack goes on.
func attackTime() time.Duration {
	if soak.Long() {
		return 10 * time.Second
	}
	return 200 * time.Millisecond
}

// against runs an attack and returns its line of the table.
func (a *attack) against(t *testing.T, p *serverProcess) string {
	good := newGoodClient(t, p, a)
	good.mustAnswer(20)
	before := measure(t, p)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	assault := &assault{Context: ctx, t: t, address: p.GRPC, conns: attackers(),
		statuses: map[string]int{}}
	if a.json {
		assault.address = p.JSON
	}
	peak := before
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() { a.run(assault) })
	}
	all.Go(func() { good.askUntil(ctx) })
	// On a busy machine the first of something large takes its time, and so does its answer.
	for (assault.sent.Load() == 0 || a.status != "" && assault.unanswered()) &&
		time.Since(before.at) < 20*time.Second || time.Since(before.at) < attackTime() {
		now := measure(t, p)
		peak.goroutines = max(peak.goroutines, now.goroutines)
		time.Sleep(50 * time.Millisecond)
	}
	cancel()
	all.Wait()
	after := measure(t, p)
	answered, failed, p99 := good.outcome()
	good.mustAnswer(20)
	settled := after
	if !eventually(func() bool {
		settled = measure(t, p)
		return settled.goroutines <= before.goroutines+settledGoroutines
	}) {
		t.Errorf("%d goroutines are left of the attack, %d before", settled.goroutines,
			before.goroutines)
	}
	if after.peak > maxAttackedMemory || peak.goroutines > maxAttackedGoroutines {
		t.Errorf("%d MiB and %d goroutines", after.peak>>20, peak.goroutines)
	}
	if failed > 0 && a.json {
		t.Errorf("%d posts of the good client failed, %d did not", failed, answered)
	}
	if answered == 0 || assault.sent.Load() == 0 {
		t.Errorf("%d answers to the good client, %d things sent by the bad one", answered,
			assault.sent.Load())
	}
	// A call that there is no room for is refused, or ended when others need its room.
	for _, code := range []codes.Code{codes.ResourceExhausted, codes.DeadlineExceeded} {
		delete(assault.statuses, strconv.Itoa(int(code)))
	}
	if n := assault.statuses[a.status]; a.status != "" && (n == 0 || len(assault.statuses) > 1) {
		t.Errorf("the calls end with %v, want all with %s", assault.statuses, a.status)
	}
	return fmt.Sprintf("| %s | %s | %d | %.1f of %.1f | %d, %d | %d, %d, %d | %d, %d, %v |\n",
		a.name, a.does, assault.sent.Load(), (after.cpu - before.cpu).Seconds(), after.at.Sub(before.at).Seconds(),
		before.memory>>20, after.peak>>20, before.goroutines, peak.goroutines, settled.goroutines,
		answered, failed, p99.Round(100*time.Microsecond))
}

// attackers is the number of connections of attacks that open many.
func attackers() int {
	if soak.Long() {
		return 8000 // more than the server has room for, and within the usual limit of descriptors
	}
	return 400
}

// goodClient asks for lists, one after the other.
type goodClient struct {
	t   *testing.T
	ask func(context.Context) error

	took   []time.Duration
	failed int
}

func newGoodClient(t *testing.T, p *serverProcess, a *attack) *goodClient {
	t.Helper()
	if a.json {
		return &goodClient{t: t, ask: func(ctx context.Context) error { return p.postGood(ctx) }}
	}
	conn := p.client
	if a.tls {
		conn = p.clientTLS
	}
	calls := pb.NewRecommenderServiceClient(conn(t))
	return &goodClient{t: t, ask: func(ctx context.Context) error {
		_, err := calls.Recommend(ctx, &pb.RecommendRequest{
			Subject: &pb.RecommendRequest_UserId{UserId: "good"}})
		return err
	}}
}

// once asks with a limit of time.
func (g *goodClient) once() error {
	ctx, cancel := context.WithTimeout(g.t.Context(), 10*time.Second)
	defer cancel()
	return g.ask(ctx)
}

// askUntil asks every few milliseconds until a context ends, and once at least.
func (g *goodClient) askUntil(ctx context.Context) {
	for {
		began := time.Now()
		if err := g.once(); err != nil {
			g.failed++
			g.t.Logf("a good client after %v: %v", time.Since(began).Round(time.Millisecond), err)
		} else {
			g.took = append(g.took, time.Since(began))
		}
		if ctx.Err() != nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// mustAnswer asks a number of times, without an attack.
func (g *goodClient) mustAnswer(times int) {
	g.t.Helper()
	for range times {
		// Refusals pass within moments: the limits follow what was just before.
		await(g.t, "a good client is answered", func() bool {
			err := g.once()
			if err != nil && status.Code(err) != codes.ResourceExhausted {
				g.t.Errorf("a good client: %v", err)
			}
			return err == nil
		})
	}
}

func (g *goodClient) outcome() (answered, failed int, p99 time.Duration) {
	slices.Sort(g.took)
	if n := len(g.took); n > 0 {
		p99 = g.took[min(n*99/100, n-1)]
	}
	return len(g.took), g.failed, p99
}

// measurement is what a server costs.
type measurement struct {
	at           time.Time
	memory, peak int64 // bytes
	goroutines   int
	cpu          time.Duration
}

var goroutinesLine = regexp.MustCompile(`(?m)^go_goroutines (\d+)$`)

// measure reads the files of the kernel about a process, and its metrics.
func measure(t *testing.T, p *serverProcess) measurement {
	t.Helper()
	m := measurement{at: time.Now()}
	text := func(file string) string {
		content, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.PID(), file))
		check.Pass(t, err, "the server has ended")
		return string(content)
	}
	of := func(text, key string) int64 {
		_, rest, _ := strings.Cut(text, key)
		n, _ := strconv.ParseInt(strings.Fields(rest + " 0")[0], 10, 64)
		return n
	}
	memory := text("status")
	m.memory, m.peak = of(memory, "VmRSS:")<<10, of(memory, "VmHWM:")<<10
	_, times, _ := strings.Cut(text("stat"), ") ")
	if f := strings.Fields(times); len(f) > 12 { // utime and stime, of 10 ms
		user, _ := strconv.Atoi(f[11])
		system, _ := strconv.Atoi(f[12])
		m.cpu = time.Duration(user+system) * 10 * time.Millisecond
	}
	if found := goroutinesLine.FindStringSubmatch(p.metricsPage(t)); found != nil {
		m.goroutines, _ = strconv.Atoi(found[1])
	}
	return m
}
