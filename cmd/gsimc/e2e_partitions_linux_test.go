package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/enginetest"
	"github.com/gsimc/gsimc/internal/test/nettest"
	"github.com/gsimc/gsimc/internal/test/soak"
)

// parted is a shared store, and servers over it, each on a host of its own.
type parted struct {
	t       *testing.T
	network *nettest.Network
	model   string
	store   string // the value of --store
	servers []*linearServer
	// shard returns the primary of some of the users at present, and its replicas or its standby.
	shard func() (primary int, replicas []int)
	// settled waits until the store is as it was before the faults.
	settled func() error
	// elects is set if nodes elect another primary by themselves. Meanwhile the one before may
	// answer questions of its side with what it has, which is not promised otherwise.
	elects bool

	calls, open int             // in all histories
	recoveries  []time.Duration // of one kind of faults
}

// partedServers is the number of servers. They are on the first hosts.
const partedServers = 2

// sides are the hosts that a fault lies between.
type sides struct {
	servers, primary, replicas, others []*nettest.Host // the others are other nodes
}

const halves = "cuts into two halves"

// partedFaults are the faults of a network that last for a time.
var partedFaults = []struct {
	name  string
	begin func(n *nettest.Network, s sides)
}{
	{"cuts of servers from a primary", func(n *nettest.Network, s sides) {
		n.Cut(s.servers, s.primary)
	}},
	{"cuts of a primary from its replicas", func(n *nettest.Network, s sides) {
		n.Cut(s.primary, s.replicas)
	}},
	{halves, func(n *nettest.Network, s sides) {
		// A server with the primary, and another one with the most of the nodes.
		n.Cut(append(s.servers[:1:1], s.primary...),
			append(append(s.servers[1:2:2], s.replicas...), s.others...))
	}},
	{"losses one way, from servers to a primary", func(n *nettest.Network, s sides) {
		n.Set(nettest.Fault{Loss: 1}, s.servers, s.primary)
	}},
	{"losses one way, from a primary to servers", func(n *nettest.Network, s sides) {
		n.Set(nettest.Fault{Loss: 1}, s.primary, s.servers)
	}},
	{"losses one way, from a primary to its replicas", func(n *nettest.Network, s sides) {
		n.Set(nettest.Fault{Loss: 1}, s.primary, s.replicas)
	}},
	{"delays of 200 ms", func(n *nettest.Network, _ sides) {
		n.Set(nettest.Fault{Delay: 200 * time.Millisecond}, n.Hosts, n.Hosts)
	}},
	{"losses of 5 %", func(n *nettest.Network, _ sides) {
		n.Set(nettest.Fault{Loss: 0.05}, n.Hosts, n.Hosts)
	}},
}

// enginesOf returns the hosts of the nodes of a store, which follow those of the servers.
func (p *parted) enginesOf() (hosts []enginetest.Host) {
	for _, h := range p.network.Hosts[partedServers:] {
		hosts = append(hosts, h)
	}
	return hosts
}

// TestPartitionsOfValkey parts the servers from the nodes of a cluster, and those from each other.
func TestPartitionsOfValkey(t *testing.T) {
	soak.Processes(t, "a cluster")
	t.Parallel()
	const primaries, replicas = 3, 2
	_ = enginetest.RedisServer(t)
	p := &parted{t: t, network: nettest.New(t, partedServers+primaries*(1+replicas))}
	c := enginetest.Redis(t, enginetest.RedisConfig{Primaries: primaries, Replicas: replicas,
		Hosts: p.enginesOf()})
	p.store = fmt.Sprintf("valkey://%s/%s?replicas=2", strings.Join(c.Addrs(), ","),
		enginetest.Namespace())
	p.shard = func() (primary int, followers []int) {
		primary = -1
		for i, n := range c.Nodes { // of the first shard
			if i != 0 && (i < primaries || i >= primaries+replicas) {
				continue
			}
			if role, err := n.Role(); err != nil {
				t.Fatal(err)
			} else if role == "primary" {
				primary = i
			} else {
				followers = append(followers, i)
			}
		}
		if primary < 0 {
			t.Fatal("the first shard has no primary")
		}
		return primary, followers
	}
	p.settled, p.elects = func() error { return c.Settled(time.Minute) }, true
	p.run()
}

// TestPartitionsOfPostgres parts the servers from PostgreSQL, and the primary from its standby.
func TestPartitionsOfPostgres(t *testing.T) {
	soak.Processes(t, "PostgreSQL")
	t.Parallel()
	p := &parted{t: t, network: nettest.New(t, partedServers+2)}
	db := enginetest.NewPostgres(t, enginetest.PostgresConfig{Standby: true,
		Hosts: p.enginesOf()})
	p.store = db.URL("postgres")
	p.shard = func() (int, []int) { return 0, []int{1} }
	p.settled = func() error { // a commit returns when the standby has confirmed it
		return db.Primary.SQL("SELECT pg_logical_emit_message(true, '', '')")
	}
	p.run()
}

// run starts the servers and injects all faults, one after the other.
func (p *parted) run() {
	t := p.t
	_, p.model = smallModel(t)
	binary(t)
	began := time.Now()
	for i := range partedServers {
		s := &linearServer{began: began, serverProcess: p.serve(p.network.Hosts[i])}
		s.dialer = func(ctx context.Context, addr string) (net.Conn, error) {
			return p.network.Hosts[i].Dial(ctx, "tcp", addr)
		}
		s.connect(t)
		p.servers = append(p.servers, s)
	}
	times, some := soak.Times(1), rand.Perm(len(partedFaults))
	if !soak.Long() {
		some = some[:fewParted] // all together keep two processors busy for minutes
	}
	for _, i := range some {
		f := partedFaults[i]
		p.recoveries = nil
		for i := range times {
			p.inject(uint64(i), f.name, f.begin)
		}
		soak.Injected(t, times, f.name)
		slices.Sort(p.recoveries)
		t.Logf("%s: all users were served again after %v in the median, and %v at most", f.name,
			p.recoveries[times/2].Round(10*time.Millisecond),
			p.recoveries[times-1].Round(10*time.Millisecond))
	}
	t.Logf("%d calls, %d of them with an open outcome; %d packets lost", p.calls, p.open,
		p.network.Lost())
}

// serve starts a server on a host. It listens on the loopback interface of that, which is its own.
func (p *parted) serve(h *nettest.Host) *serverProcess {
	var s *serverProcess
	if err := h.Do(func() error {
		s = startShared(p.t, p.model, p.store, "--listen", "127.0.0.1:0")
		return nil
	}); err != nil {
		p.t.Fatal(err)
	}
	return s
}

// fewParted is the number of faults, drawn anew each time, of a run that is no soak.
const fewParted = 2

// Of each trial: users, clients, and calls at each server before and after the fault.
const partedUsers, partedClients, partedCalls = 12, 8, 200

// partedTime is how long a fault lasts: longer than a node is missed and another one is elected.
const partedTime = 4 * time.Second

// soonRepeated is less than the time after which a store repeats a write.
const soonRepeated = 300 * time.Millisecond

// inject has clients call both servers while a fault comes and goes, and checks their histories.
func (p *parted) inject(seed uint64, name string, begin func(*nettest.Network, sides)) {
	t := p.t
	began := p.servers[0].began
	users := linearUsers(partedUsers)
	for i := range users {
		users[i] = enginetest.Namespace() + users[i]
	}
	stop := make(chan struct{})
	clients := make([]*linearClient, partedClients)
	var running sync.WaitGroup
	for i := range clients {
		clients[i] = &linearClient{id: i, server: p.servers[i%partedServers],
			rng: rand.New(rand.NewPCG(seed, uint64(i))), items: linearItems, users: users,
			hasty: 700 * time.Millisecond, calm: 25 * time.Second, rest: time.Millisecond}
		running.Go(func() { clients[i].run(stop) })
	}
	p.await()
	broken := time.Since(began)
	begin(p.network, p.sides())
	time.Sleep(partedTime)
	p.network.Heal()
	healed := time.Since(began)
	p.await()
	close(stop)
	running.Wait()
	check.Must(t, p.settled())
	for _, c := range clients[:partedServers] {
		for _, user := range users {
			n := len(c.calls)
			if c.call(linearCall{user: user, list: true}); len(c.calls) == n {
				t.Errorf("after %s a server does not show the events of a user", name)
			}
		}
	}
	p.recoveries = append(p.recoveries, recovery(clients, healed))
	if p.elects && name == halves {
		for _, c := range clients {
			c.calls = slices.DeleteFunc(c.calls, func(op porcupine.Operation) bool {
				in := op.Input.(linearCall)
				return in.id == "" && !in.erase && op.Return > int64(broken) &&
					op.Call < int64(healed)
			})
		}
	}
	p.count(clients)
	addRepetitions(clients)
	for _, c := range clients {
		c.end([]time.Duration{time.Since(began)})
	}
	checkLinear(t, seed, clients)
	if t.Failed() {
		t.Fatalf("after %s", name)
	}
}

// count adds up calls.
func (p *parted) count(clients []*linearClient) {
	for _, c := range clients {
		p.calls += len(c.calls)
		for _, op := range c.calls {
			if op.Output.(linearAnswer).open {
				p.open++
			}
		}
	}
}

// await waits for a number of calls at each server.
func (p *parted) await() {
	for _, s := range p.servers {
		s.calls.await(partedCalls)
	}
}

// sides returns who is where at present.
func (p *parted) sides() sides {
	hosts := p.network.Hosts
	primary, replicas := p.shard()
	s := sides{servers: hosts[:partedServers]}
	for i, h := range hosts[partedServers:] {
		switch {
		case i == primary:
			s.primary = append(s.primary, h)
		case slices.Contains(replicas, i):
			s.replicas = append(s.replicas, h)
		default:
			s.others = append(s.others, h)
		}
	}
	return s
}

// addRepetitions adds an open Observe to each one for each time that its user was erased, or events
// were retracted, while it was under way. The store repeats a write whose outcome it does not know.
// So the event may have been there before the erasure, and be added after it. If another event was
// retracted meanwhile, it is still there, in a new history, in which the store does not know it for
// its own: the answer is that it is a duplicate.
func addRepetitions(clients []*linearClient) {
	removals := map[string][]porcupine.Operation{}
	for _, c := range clients {
		for _, op := range c.calls {
			in, answer := op.Input.(linearCall), op.Output.(linearAnswer)
			if in.erase && (answer.open || answer.revision > 0) || in.retract && !answer.duplicate {
				removals[in.user] = append(removals[in.user], op)
			}
		}
	}
	for _, c := range clients {
		var more []porcupine.Operation
		for _, op := range c.calls {
			in, answer := op.Input.(linearCall), op.Output.(linearAnswer)
			if in.id == "" || in.retract || op.Return-op.Call < int64(soonRepeated) {
				continue
			}
			for _, r := range removals[in.user] {
				other := r.Input.(linearCall)
				if r.Call >= op.Return || r.Return <= op.Call ||
					other.retract && other.id != in.id && !answer.duplicate {
					continue
				}
				earlier := op
				earlier.Output = linearAnswer{open: true, repeated: true}
				if !r.Output.(linearAnswer).open {
					earlier.Return = min(op.Return, r.Return)
				}
				more = append(more, earlier)
			}
		}
		c.calls = append(c.calls, more...)
	}
}

// recovery returns how long after a time each user had had an answer.
func recovery(clients []*linearClient, healed time.Duration) (slowest time.Duration) {
	first := map[string]time.Duration{}
	for _, c := range clients {
		for _, op := range c.calls {
			user, at := op.Input.(linearCall).user, time.Duration(op.Return)-healed
			if at <= 0 || op.Output.(linearAnswer).open {
				continue
			}
			if f, ok := first[user]; !ok || at < f {
				first[user] = at
			}
		}
	}
	for _, at := range first {
		slowest = max(slowest, at)
	}
	return slowest
}
