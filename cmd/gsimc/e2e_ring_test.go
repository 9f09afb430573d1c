package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/client"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/enginetest"
	"github.com/gsimc/gsimc/internal/test/nettest"
	"github.com/gsimc/gsimc/internal/test/soak"
)

// sharedStore is the value of --store for servers of this test: a namespace of a cluster of real
// processes.
func sharedStore(t *testing.T) string {
	t.Helper()
	cluster := enginetest.SharedRedis(t, 3, 1)
	return "valkey://" + strings.Join(cluster.Addrs(), ",") + "/" + enginetest.Namespace()
}

// startShared starts a server without a disk over a store that others share, at an address of this
// test alone. An empty model: flags say which.
func startShared(t testing.TB, model, store string, flags ...string) *serverProcess {
	t.Helper()
	args := sharedArgs(store, append([]string{"--listen", nettest.Loopback(t)}, flags...)...)
	if model != "" {
		args = append(args, "--model", model)
	}
	return start(t, nil, args...)
}

// startSeveral is startShared of n servers.
func startSeveral(
	t testing.TB, n int, model, store string, flags ...string,
) (all []*serverProcess) {
	t.Helper()
	for range n {
		all = append(all, startShared(t, model, store, flags...))
	}
	return all
}

// sharedArgs are flags of servers over a store.
func sharedArgs(store string, flags ...string) []string {
	return append([]string{"--store", store, "--drain-delay", "300ms", "--extend-every", "0s"},
		flags...)
}

// ringLoad is calls about users through a ring: each client sends an event of one of its users and
// asks for a list of that user, over and over.
type ringLoad struct {
	t     *testing.T
	ring  *client.Ring
	name  string // begins the ids of its users, so that loads do not share them
	users int
	item  func(rng *rand.Rand) string       // draws the item of an event
	took  func(user int, item, from string) // not nil: told of acknowledged events
	rest  time.Duration                     // of a client, between two visits

	calls, failed atomic.Int64
	slowest       atomic.Int64  // nanoseconds
	calm          time.Duration // the slowest call before the first fault

	mu     sync.Mutex
	sent   [][]sentEvent // acknowledged events of each user
	homes  []string      // address of the server that answered the user's latest list
	before []string      // homes when the server gone was ended; nil: none was
	gone   string
	moved  int // lists from elsewhere than before, of users whose server runs
}

// sentEvent is an acknowledged event.
type sentEvent struct {
	id, by string
	at     time.Time
}

// loadClients is the number of clients of a ringLoad.
const loadClients = 8

func newRingLoad(t *testing.T, servers []*serverProcess) *ringLoad {
	t.Helper()
	opt := client.RingOptions{Timeout: 10 * time.Second}
	for _, s := range servers {
		opt.Addresses = append(opt.Addresses, s.GRPC)
	}
	ring := check.Get(client.DialRing(opt))(t)
	t.Cleanup(func() { _ = ring.Close() })
	const users = 240
	return &ringLoad{t: t, ring: ring, name: enginetest.Namespace(), users: users,
		item:  func(rng *rand.Rand) string { return fmt.Sprint(rng.IntN(smallItems)) },
		rest:  time.Millisecond, // servers and store have two cores together
		sent:  make([][]sentEvent, users),
		homes: make([]string, users)}
}

func (l *ringLoad) user(u int) string { return fmt.Sprint(l.name, "-", u) }

// start begins the load. The returned function ends it and checks that no call failed.
func (l *ringLoad) start() (stop func()) {
	ctx, cancel := context.WithCancel(l.t.Context())
	var clients sync.WaitGroup
	for c := range loadClients {
		clients.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(c), 7))
			for n := 0; ctx.Err() == nil; n++ {
				user := c + loadClients*rng.IntN(l.users/loadClients)
				l.visit(user, fmt.Sprintf("%d-%d", c, n), l.item(rng))
				time.Sleep(l.rest)
			}
		})
	}
	return func() {
		cancel()
		clients.Wait()
		if n := l.failed.Load(); n > 0 {
			l.t.Errorf("%d of %d calls failed", n, l.calls.Load())
		}
	}
}

// visit sends an event and asks for a list.
func (l *ringLoad) visit(user int, event, item string) {
	id := l.user(user)
	var to, from peer.Peer
	ok := l.call(func() error {
		_, err := pb.NewEventServiceClient(l.ring.Conn()).Observe(l.t.Context(),
			&pb.ObserveRequest{Event: &pb.Event{UserId: id, EventId: event,
				ItemId: item}}, grpc.Peer(&to))
		return err
	})
	answered := l.call(func() error {
		_, err := pb.NewRecommenderServiceClient(l.ring.Conn()).Recommend(l.t.Context(),
			&pb.RecommendRequest{Subject: &pb.RecommendRequest_UserId{UserId: id}, PageSize: 10},
			grpc.Peer(&from))
		return err
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	if ok {
		l.sent[user] = append(l.sent[user], sentEvent{event, to.Addr.String(), time.Now()})
		if l.took != nil {
			l.took(user, item, to.Addr.String())
		}
	}
	if !answered {
		return
	}
	l.homes[user] = from.Addr.String()
	if l.before != nil && l.before[user] != l.gone && l.before[user] != l.homes[user] {
		l.moved++
	}
}

// call makes a call and counts it.
func (l *ringLoad) call(one func() error) bool {
	began := time.Now()
	err := one()
	took := int64(time.Since(began))
	for most := l.slowest.Load(); took > most && !l.slowest.CompareAndSwap(most, took); {
		most = l.slowest.Load()
	}
	l.calls.Add(1)
	if err == nil {
		return true
	}
	if l.failed.Add(1) <= 5 && l.t.Context().Err() == nil {
		l.t.Errorf("a call failed: %v", err)
	}
	return false
}

// leave notes that a server is about to end: from now on its users alone may move.
func (l *ringLoad) leave(address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.before, l.gone, l.homes = l.homes, address, make([]string, l.users)
}

// warm waits until the load has run for a while without faults, and notes the slowest call so far.
func (l *ringLoad) warm() {
	l.t.Helper()
	l.await(1000)
	l.calm = time.Duration(l.slowest.Swap(0))
}

// await waits until the number of calls has grown by more.
func (l *ringLoad) await(more int64) {
	l.t.Helper()
	calls := l.calls.Load()
	await(l.t, "the calls go on", func() bool { return l.calls.Load() > calls+more })
}

// places returns how many users each server had last, and waits until all users had a list.
func (l *ringLoad) places() map[string]int {
	l.t.Helper()
	var at map[string]int
	if !eventually(func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		at = map[string]int{}
		for _, home := range l.homes {
			at[home]++
		}
		return at[""] == 0
	}) {
		l.t.Fatalf("%d users had no list", at[""])
	}
	return at
}

// checkKept reads back how many events each user has: as many as were acknowledged.
func (l *ringLoad) checkKept(of *serverProcess) {
	l.t.Helper()
	service := pb.NewUserServiceClient(of.client(l.t))
	lost, kept := int64(0), int64(0)
	for user, sent := range l.sent {
		if len(sent) == 0 { // nobody
			continue
		}
		got, err := service.GetUser(l.t.Context(), &pb.GetUserRequest{UserId: l.user(user)})
		check.Must(l.t, err)
		n := got.GetUser().GetEventCount()
		kept += n
		if n != int64(len(sent)) {
			lost += int64(len(sent)) - n
			l.t.Errorf("user %d has %d events, %d were acknowledged; not there: %v", user, n,
				len(sent), l.missing(service, user))
		}
	}
	l.t.Logf("%d calls, %d failed, slowest %v, and %v before the faults; %d events kept, %d "+
		"acknowledged ones lost", l.calls.Load(), l.failed.Load(),
		time.Duration(l.slowest.Load()).Round(time.Millisecond), l.calm.Round(time.Millisecond),
		kept, lost)
}

// missing reads the history of a user again and returns the acknowledged events that it lacks.
func (l *ringLoad) missing(service pb.UserServiceClient, user int) []sentEvent {
	all, err := service.ListUserEvents(l.t.Context(), &pb.ListUserEventsRequest{
		UserId: l.user(user), PageSize: 1000})
	if err != nil {
		l.t.Error(err)
	}
	return slices.DeleteFunc(slices.Clone(l.sent[user]), func(e sentEvent) bool {
		return slices.ContainsFunc(all.GetEvents(), func(is *pb.UserEvent) bool {
			return is.GetEvent().GetEventId() == e.id
		})
	})
}

// One of four servers is killed under load. No call of a ring fails, its users go to others, the
// users of others stay where they are, and the store has every event that was acknowledged.
func TestRingLosesServer(t *testing.T) {
	t.Parallel()
	store := sharedStore(t)
	_, model := smallModel(t)
	servers := startSeveral(t, 4, model, store)
	kills := soak.Times(1)
	for i := range kills {
		l := newRingLoad(t, servers)
		gone := servers[i%len(servers)]
		stop := l.start()
		before := l.places()
		check.MustSame(t, len(servers), len(before), "users are at %v: servers with users", before)
		l.warm()
		l.leave(gone.GRPC)
		check.Must(t, gone.Kill())
		l.await(2000)
		after := l.places()
		stop()
		if after[gone.GRPC] > 0 || l.moved > 0 {
			t.Errorf("%d users are at the server that is gone, %d lists of others came from "+
				"elsewhere", after[gone.GRPC], l.moved)
		}
		t.Logf("users by server: %v, after a kill %v", before, after)
		l.checkKept(servers[(i+1)%len(servers)])
		servers[i%len(servers)] = startShared(t, model, store)
	}
	soak.Injected(t, kills, "kills")
}

// Three servers are drained and started anew, one after the other, over and over, under load. No
// call of a ring fails and no acknowledged event is lost.
func TestRollsOverSharedStore(t *testing.T) {
	t.Parallel()
	store := sharedStore(t)
	_, model := smallModel(t)
	servers := startSeveral(t, 3, model, store)
	l := newRingLoad(t, servers)
	stop := l.start()
	l.warm()
	rounds := soak.Times(3)
	for range rounds {
		for i := range servers {
			address := servers[i].GRPC
			servers[i].mustStop(t)
			servers[i] = startShared(t, model, store, "--listen", address)
			await(t, "calls reach a server that was started anew", func() bool {
				return servers[i].answered(t) > 0
			})
		}
	}
	stop()
	l.checkKept(servers[0])
	soak.Injected(t, rounds*len(servers), "restarts")
}

// Three servers watch a folder of models, to which a newer one comes, and from which it goes, over
// and over, under load. No call fails, and in each round all come to serve the same version.
func TestModelRollsOverSharedStore(t *testing.T) {
	t.Parallel()
	dir, models := t.TempDir(), t.TempDir()
	older, newer := filepath.Join(models, "older.gsimc"), filepath.Join(models, "newer.gsimc")
	train := func(seed, when, path string) {
		trainSmall(t, filepath.Join(dir, "events"+seed+".csv"), path, seed,
			"SOURCE_DATE_EPOCH="+when)
	}
	train("1", "1700000000", older)
	train("2", "1700000001", filepath.Join(dir, "kept.gsimc"))
	servers := startSeveral(t, 3, "", sharedStore(t), "--model-dir", models)
	l := newRingLoad(t, servers)
	stop := l.start()
	l.warm()
	was, rounds := servers[0].version(t), soak.Times(3)
	for round := range rounds {
		if round%2 == 0 {
			replace(t, newer, mustRead(t, filepath.Join(dir, "kept.gsimc")))
		} else if err := os.Remove(newer); err != nil {
			t.Fatal(err)
		}
		for _, s := range servers {
			await(t, "a server has another model", func() bool { return s.version(t) != was })
		}
		was = servers[0].version(t)
		for _, s := range servers {
			check.Same(t, was, s.version(t), "version of a server in round %d", round)
		}
		l.await(200)
	}
	stop()
	l.checkKept(servers[0])
	soak.Injected(t, rounds*len(servers), "models")
}

// version is that of the model with which a server answers.
func (p *serverProcess) version(t *testing.T) string {
	t.Helper()
	return listFor(t, p, "nobody").GetModelVersion()
}
