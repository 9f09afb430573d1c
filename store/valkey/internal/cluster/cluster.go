package cluster

import (
	"context"
	"crypto/tls"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

// Options say how to reach a cluster.
type Options struct {
	// Addrs are the addresses of some of its nodes.
	Addrs []string
	// Username is sent on every connection. An empty name is the user "default".
	Username string
	// Password and TLS are asked for by every new connection, for what it sends besides and how it
	// is secured. They may be nil: nothing, and not at all.
	Password func() (string, error)
	TLS      func() (*tls.Config, error)
	// Replicas is the number of replicas that each primary should have, for errors.
	Replicas int
	// Room is the number of calls that may wait for each primary, or be under way.
	Room int
	// NoWait has writes settled without waiting for replicas.
	NoWait bool
	// Library is the source of the functions.
	Library string
	// Dial makes connections in place of the network; it may be nil.
	Dial func(ctx context.Context, addr string, d *net.Dialer, t *tls.Config) (net.Conn, error)
}

// Cluster sends calls to the nodes of a cluster. Use [Open].
type Cluster struct {
	options Options
	slots   [Slots]atomic.Pointer[node] // the primaries; nil: not known
	wanted  chan struct{}               // a refresh is wanted
	nowhere *node                       // stands for the primary of slots where it is not known

	mu      sync.Mutex
	nodes   map[string]*node
	turn    int   // of the node that is asked for the topology next
	trouble error // why the topology could not be learned the last time

	cancel  context.CancelFunc
	ctx     context.Context // ends with Close
	running sync.WaitGroup
}

// Open connects to a cluster and learns its topology.
func Open(ctx context.Context, options Options) (*Cluster, error) {
	c := &Cluster{options: options, wanted: make(chan struct{}, 1), nodes: map[string]*node{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.nowhere = newNode(c, "a slot without a primary")
	for _, addr := range options.Addrs {
		c.node(addr)
	}
	if err := c.learn(ctx); err != nil {
		_ = c.Close()
		return nil, err
	}
	c.look(ctx).Wait()
	c.running.Go(c.keepFresh)
	return c, nil
}

// Close ends the lanes and the connections. No call may be under way.
func (c *Cluster) Close() error {
	c.cancel()
	c.mu.Lock()
	nodes := c.nodes
	c.nodes = nil
	c.mu.Unlock()
	for _, n := range nodes {
		for _, call := range n.close() {
			call.drop()
		}
	}
	c.running.Wait()
	return nil
}

// node returns the node with an address, and begins to know it; nil after Close.
func (c *Cluster) node(addr string) *node {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.nodes[addr]
	if n == nil && c.nodes != nil {
		n = newNode(c, addr)
		c.nodes[addr] = n
	}
	return n
}

// Write sends calls, waits for their outcomes, and sets them. It returns when all have one, or when
// ctx ends: those that are left then have an error, and may still take place.
func (c *Cluster) Write(ctx context.Context, calls ...*Call) {
	if len(calls) == 0 {
		return
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	b := &batch{ctx: ctx, done: make(chan struct{}), left: len(calls)}
	for _, call := range calls {
		call.batch, call.slot = b, Slot(call.Keys[0])
		for _, a := range call.Args {
			call.bytes += len(a) + 16 // about what the protocol adds
		}
	}
	for n, group := range c.byNode(calls) {
		c.admit(n, group)
	}
	select {
	case <-b.done:
	case <-ctx.Done():
		b.abandon(calls)
	}
}

// byNode groups calls by the nodes that they go to, in order; nil for those whose node is unknown.
func (c *Cluster) byNode(calls []*Call) map[*node][]*Call {
	groups := map[*node][]*Call{}
	for _, call := range calls {
		n := c.slots[call.slot].Load()
		if call.askAt != "" {
			n = c.node(call.askAt)
		}
		groups[n] = append(groups[n], call)
	}
	return groups
}

// admit gives the calls of one node to its lanes, or refuses them if it has no room.
func (c *Cluster) admit(n *node, calls []*Call) {
	room := n
	if n == nil {
		room = c.nowhere
	}
	if !room.has(c.options.Room) {
		for _, call := range calls {
			room.taken.Add(1) // which settle takes back
			call.room = room
			call.settle(rueidis.RedisMessage{}, unavailable(
				"%d calls wait for %s already, and it takes no more", c.options.Room, room.addr))
		}
		return
	}
	room.taken.Add(int64(len(calls)))
	for _, call := range calls {
		call.room = room
	}
	c.send(n, calls)
}

// has reports whether there is room for more calls.
func (n *node) has(room int) bool {
	if n.taken.Load() < int64(room) {
		return true
	}
	n.queue.sweep()
	return n.taken.Load() < int64(room)
}

// send puts calls into the queue of a node.
func (c *Cluster) send(n *node, calls []*Call) {
	if n == nil {
		c.refreshSoon()
		c.again(calls, unavailable("a slot has no primary"))
		return
	}
	n.lanes.Do(func() {
		for range lanes {
			l := &lane{node: n}
			c.running.Go(l.run)
		}
	})
	if !n.queue.put(calls) {
		c.again(calls, unavailable("%s has left the cluster", n.addr))
	}
}

// again sends calls anew: at once after a first redirection, else after a pause that grows with the
// attempts. problem is why they have no outcome, unless each has noted its own.
func (c *Cluster) again(calls []*Call, problem error) {
	pauses := map[time.Duration][]*Call{}
	for _, call := range calls {
		if problem != nil {
			call.batch.note(problem)
		}
		pause := pauseAfter(call.attempts)
		call.attempts++
		pauses[pause] = append(pauses[pause], call)
	}
	for pause, group := range pauses {
		resend := func() {
			group = slices.DeleteFunc(group, func(call *Call) bool {
				gone := call.batch.gone()
				if gone {
					call.drop()
				}
				return gone
			})
			for n, part := range c.byNode(group) {
				c.send(n, part)
			}
		}
		time.AfterFunc(pause, resend)
	}
}

// pauseAfter is the time before another attempt: 0, 10, 20, 40, 80 and then 160 ms.
func pauseAfter(attempts int) time.Duration {
	if attempts == 0 {
		return 0
	}
	return 5 * time.Millisecond << min(attempts, 5)
}

// moved notes that a slot has another primary.
func (c *Cluster) moved(slot uint16, addr string) {
	if n := c.node(addr); n != nil {
		c.slots[slot].Store(n)
	}
	c.refreshSoon()
}

// Read calls a function that does not write on the primary of its first key.
func (c *Cluster) Read(
	ctx context.Context, function string, keys []string, args ...string,
) (rueidis.RedisMessage, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	slot, askAt := Slot(keys[0]), ""
	for attempts := 0; ; attempts++ {
		n := c.slots[slot].Load()
		if askAt != "" {
			n = c.node(askAt)
		}
		reply, again, err := c.ask(ctx, n, slot, &askAt, functionCall("FCALL_RO", function, keys,
			args))
		if !again {
			return reply, err
		}
		if ctx.Err() != nil {
			return reply, ended(ctx, err)
		}
		select {
		case <-ctx.Done():
			return reply, ended(ctx, err)
		case <-time.After(pauseAfter(attempts)):
		}
	}
}

// ask makes one attempt of a read. again is set if another one may do better.
func (c *Cluster) ask(
	ctx context.Context, n *node, slot uint16, askAt *string, read rueidis.Completed,
) (reply rueidis.RedisMessage, again bool, err error) {
	if n == nil {
		c.refreshSoon()
		return reply, true, unavailable("a slot has no primary")
	}
	commands := []rueidis.Completed{read}
	if *askAt != "" {
		commands = []rueidis.Completed{command("ASKING"), read}
		*askAt = ""
	}
	answers, err := n.do(ctx, commands...)
	if err != nil {
		c.refreshSoon()
		return reply, true, err
	}
	reply, err = answers[len(answers)-1].ToMessage()
	if err == nil || rueidis.IsRedisNil(err) {
		return reply, false, nil
	}
	do, addr, problem := judge(err)
	switch do {
	case giveUp:
		return reply, false, problem
	case ask:
		*askAt = addr
	case follow:
		c.moved(slot, addr)
	case load:
		c.loadSoon(n)
	case tryAgain:
		c.refreshSoon()
	}
	return reply, true, problem
}

// loadSoon loads the functions on a node.
func (c *Cluster) loadSoon(n *node) {
	_ = c.load(c.ctx, n) // the call that needs them is repeated, and says what is wrong
}

// primaries returns the known primaries in the order of their addresses.
func (c *Cluster) primaries() []*node {
	known := map[*node]bool{}
	for i := range c.slots {
		if n := c.slots[i].Load(); n != nil {
			known[n] = true
		}
	}
	return slices.SortedFunc(maps.Keys(known), byAddr)
}
