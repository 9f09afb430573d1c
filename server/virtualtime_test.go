package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// The delays of a shutdown in virtual time: no test would wait for real ones.
const (
	virtualDelay   = 20 * time.Second
	virtualTimeout = 10 * time.Minute
)

// virtualServer is a server whose connections are pipes, so that its clock can be that of a bubble.
type virtualServer struct {
	server  *Server
	ops     *bufconn.Listener
	conn    *grpc.ClientConn
	stop    context.CancelFunc
	logs    *lockedBuffer
	stopped chan error
}

func startVirtual(t *testing.T, st store.Store, config func(*Config)) *virtualServer {
	t.Helper()
	v := &virtualServer{logs: &lockedBuffer{}, stopped: make(chan error, 1)}
	cfg := DefaultConfig()
	cfg.DrainDelay, cfg.DrainTimeout, cfg.ExtendEvery = virtualDelay, virtualTimeout, 0
	cfg.MaxTimeout, cfg.StreamIdle = 2*virtualTimeout, 2*virtualTimeout
	cfg.MaxConnectionAge = 10 * virtualTimeout // ± 10 %
	cfg.Logger = slog.New(slog.NewJSONHandler(v.logs, nil))
	if config != nil {
		config(&cfg)
	}
	s, err := New(cfg, st, named(t, "paper"))
	must(t, err)
	pipes := [3]*bufconn.Listener{}
	for i := range pipes {
		pipes[i] = bufconn.Listen(1 << 16)
	}
	v.server, v.ops = s, pipes[2]
	ctx, stop := context.WithCancel(context.Background())
	v.stop = stop
	go func() {
		v.stopped <- s.Serve(ctx, Listeners{GRPC: pipes[0], Admin: pipes[1], Ops: pipes[2]})
	}()
	v.conn, err = grpc.NewClient("passthrough:///pipe",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return pipes[0].DialContext(ctx)
		}))
	must(t, err)
	return v
}

// scrapeForEver asks for a page that is not done before its client gives up, long after the server.
// The console gathers the metrics at the start too. If that met the slow one, the two would wait
// for a mutex of a collector, and no clock moves while a goroutine does.
func (v *virtualServer) scrapeForEver(t *testing.T) {
	t.Helper()
	synctest.Wait() // the console has gathered them
	v.server.metrics.registry.MustRegister(prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Name: "test_slow"}, func() float64 {
			time.Sleep(2 * virtualTimeout)
			return 0
		}))
	go func() {
		conn, err := v.ops.DialContext(t.Context())
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
		_, _ = io.Copy(io.Discard, conn) // until the server closes it
	}()
}

// end waits for the end of the server and returns how long it took from a moment.
func (v *virtualServer) end(t *testing.T, since time.Time) time.Duration {
	t.Helper()
	err := <-v.stopped
	took := time.Since(since)
	must(t, errors.Join(err, v.conn.Close()))
	return took
}

// TestDrainInVirtualTime looks at the steps of a shutdown by a clock that moves only when nothing
// else can: each takes place at its moment, and not a nanosecond earlier.
func TestDrainInVirtualTime(t *testing.T) {
	for _, c := range []struct {
		name        string
		call        time.Duration // how long a call takes that is in flight; 0: none
		stream      bool          // a stream that its client does not end
		scrape      bool          // a page of the ops listener that takes for ever
		least, most time.Duration // until the server has ended
	}{
		{"idle", 0, false, false, virtualDelay, virtualDelay},
		{"a call", time.Minute, false, false, time.Minute, time.Minute},
		{"a stream", 0, true, false, virtualDelay + virtualTimeout,
			virtualDelay + virtualTimeout + cutGrace},
		{"a call that is too long", 2 * virtualTimeout, false, false, virtualDelay + virtualTimeout,
			virtualDelay + virtualTimeout + EndSlack},
		{"a scrape", 0, false, true, virtualDelay + opsGrace, virtualDelay + opsGrace},
		{"a scrape and a call that is too long", 2 * virtualTimeout, false, true,
			virtualDelay + virtualTimeout + opsGrace,
			virtualDelay + virtualTimeout + cutGrace + stopGrace + opsGrace},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hooked := &hookedStore{Store: memory.New()}
				v := startVirtual(t, hooked, nil)
				hooked.AppendFunc = func(
					ctx context.Context, r []store.Record,
				) ([]store.Result, error) {
					time.Sleep(c.call)
					return hooked.Store.Append(ctx, r)
				}
				events := pb.NewEventServiceClient(v.conn)
				begun := time.Now()
				if c.call > 0 {
					ctx, cancel := context.WithTimeout(t.Context(), 2*virtualTimeout)
					defer cancel()
					go func() {
						_, _ = events.Observe(ctx, &pb.ObserveRequest{Event: newEvent("ann", 1)})
					}()
				}
				var told atomic.Int64
				cut := make(chan error, 1)
				if c.stream {
					stream := check.Get(events.StreamObserve(t.Context()))(t)
					go func() {
						for {
							r, err := stream.Recv()
							if err != nil {
								cut <- err
								return
							}
							if r.GetDraining() {
								told.Store(int64(time.Since(begun)))
							}
						}
					}()
				}
				if c.scrape {
					v.scrapeForEver(t)
				}
				synctest.Wait() // the call is in the store, the stream is open
				v.stop()
				took := v.end(t, begun)
				if took < c.least || took > c.most {
					t.Errorf("the server ends after %v, want %v to %v", took, c.least, c.most)
				}
				if at := time.Duration(told.Load()); c.stream && at != virtualDelay {
					t.Errorf("the stream is told after %v, want %v", at, virtualDelay)
				}
				if c.stream {
					want := problem{Code: codes.Unavailable, Reason: "DRAINING", Retry: true}
					same(t, want, problemOf(t, <-cut), "the stream ends with")
				}
				time.Sleep(2 * virtualTimeout) // the call that was left behind ends
			})
		})
	}
}

// TestEndKeepsNewItems: what the extender has to write at the end has the rest of the drain's time.
// If it hangs, the server ends all the same, and says so.
func TestEndKeepsNewItems(t *testing.T) {
	const drained = virtualDelay + virtualTimeout
	for name, c := range map[string]struct {
		busy  time.Duration // from the look at new items that the shutdown meets, until the write
		until time.Duration // when the server has ended
		kept  bool
	}{
		"idle":  {0, virtualDelay, true},
		"slow":  {virtualDelay + time.Minute, virtualDelay + time.Minute, true},
		"hangs": {2 * virtualTimeout, drained, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				hooked := &hookedStore{Store: memory.New()}
				var busy atomic.Int64 // how long the next read takes
				hooked.SinceFunc = func(ctx context.Context, user string, known store.Version,
					fn func(store.Version, store.Event) error,
				) (store.Version, bool, error) {
					time.Sleep(time.Duration(busy.Swap(0)))
					return hooked.Store.Since(ctx, user, known, fn)
				}
				v := startVirtual(t, hooked, func(cfg *Config) {
					cfg.ExtendEvery, cfg.ExtensionDir = time.Second, dir
				})
				take := func(user string) {
					e := &pb.Event{UserId: user, ItemId: novelty}
					check.Get(pb.NewEventServiceClient(v.conn).Observe(t.Context(),
						&pb.ObserveRequest{Event: e}))(t)
				}
				for u := range 5 {
					take(fmt.Sprint("u", u))
				}
				time.Sleep(5 * time.Second) // the item joins
				busy.Store(int64(c.busy))
				take("late")
				time.Sleep(1500 * time.Millisecond)
				check.Same(t, int64(0), busy.Load(), "a read of the extender waits")
				begun := time.Now()
				v.stop()
				took := v.end(t, begun)
				if took < c.until-2*time.Second || took > c.until+EndSlack {
					t.Errorf("the server ends after %v, want about %v", took, c.until)
				}
				_, err := os.Stat(filepath.Join(dir, "extension.main"))
				check.Same(t, c.kept, err == nil, "new items are kept: %v", err)
				check.Same(t, !c.kept, strings.Contains(v.logs.String(), "not kept in time"),
					"the log says that they are not")
				time.Sleep(2 * virtualTimeout) // what was left behind ends
			})
		})
	}
}

// TestTimeoutsInVirtualTime: a call without a deadline ends after the default one, and a stream
// without events after its idle time, even if the store or the client never moves.
func TestTimeoutsInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hooked := &hookedStore{Store: memory.New()}
		hooked.AppendFunc = func(ctx context.Context, _ []store.Record) ([]store.Result, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		v := startVirtual(t, hooked, nil)
		events := pb.NewEventServiceClient(v.conn)
		begun := time.Now()
		_, err := events.Observe(t.Context(), &pb.ObserveRequest{Event: newEvent("ann", 1)})
		if took := time.Since(begun); status.Code(err) != codes.DeadlineExceeded ||
			took != DefaultConfig().DefaultTimeout {
			t.Errorf("a call without a deadline ends after %v: %v", took, err)
		}
		begun = time.Now()
		stream, err := events.StreamObserve(t.Context())
		must(t, err)
		_, err = stream.Recv()
		if took := time.Since(begun); status.Code(err) != codes.Unavailable ||
			took != 2*virtualTimeout {
			t.Errorf("a stream without events ends after %v: %v", took, err)
		}
		v.stop()
		v.end(t, begun)
	})
}
