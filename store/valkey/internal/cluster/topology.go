package cluster

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// refreshEvery is the interval at which the topology and the linked replicas are looked up, and
// refreshRest the least time between two look-ups.
const (
	refreshEvery = 250 * time.Millisecond
	refreshRest  = 20 * time.Millisecond
)

// refreshSoon has the topology looked up before its time.
func (c *Cluster) refreshSoon() {
	select {
	case c.wanted <- struct{}{}:
	default:
	}
}

// keepFresh looks the topology up until Close.
func (c *Cluster) keepFresh() {
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-time.After(refreshRest):
		}
		select {
		case <-c.ctx.Done():
			return
		case <-c.wanted:
		case <-time.After(refreshEvery - refreshRest):
		}
		err := c.learn(c.ctx)
		c.mu.Lock()
		c.trouble = err
		c.mu.Unlock()
		c.look(c.ctx) // a primary that does not answer must not hold up the others
	}
}

// look has all primaries looked at; the group waits for that.
func (c *Cluster) look(ctx context.Context) *sync.WaitGroup {
	var looking sync.WaitGroup
	for _, n := range c.primaries() {
		looking.Go(func() { n.look(ctx) })
	}
	return &looking
}

// hedge is the time for which one node is given to say who has which slots before another one is
// asked too.
const hedge = 100 * time.Millisecond

// learn asks the nodes that are known who has which slots, and takes the first answer.
func (c *Cluster) learn(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	known := c.inTurn()
	type answer struct {
		owners []owner
		err    error
	}
	answers := make(chan answer, len(known))
	asked, err := 0, unavailable("no node of the cluster is known")
	for answered := 0; answered < len(known); {
		var next <-chan time.Time // never, when all have been asked
		if asked < len(known) {
			n := known[asked]
			asked++
			go func() {
				owners, err := n.owners(ctx)
				answers <- answer{owners, err}
			}()
			next = time.After(hedge)
		}
		select {
		case a := <-answers:
			answered++
			if err = a.err; err == nil {
				c.adopt(a.owners)
				return nil
			}
		case <-next:
		}
	}
	return err
}

// inTurn returns the nodes that are known, each time another one first.
func (c *Cluster) inTurn() []*node {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := slices.SortedFunc(maps.Values(c.nodes), byAddr)
	if len(known) == 0 {
		return nil
	}
	c.turn = (c.turn + 1) % len(known)
	return slices.Concat(known[c.turn:], known[:c.turn])
}

func byAddr(a, b *node) int { return strings.Compare(a.addr, b.addr) }

// owner has the slots from, …, to.
type owner struct {
	from, to int
	addr     string
	replicas []string
}

// owners asks a node who has which slots.
func (n *node) owners(ctx context.Context) ([]owner, error) {
	answers, err := n.do(ctx, command("CLUSTER", "SLOTS"))
	if err != nil {
		return nil, err
	}
	ranges, err := answers[0].ToArray()
	if err != nil {
		return nil, n.unreachable("ask for the slots", err)
	}
	owners := make([]owner, 0, len(ranges))
	for i := range ranges {
		o, err := parseOwner(&ranges[i], n.addr)
		if err != nil {
			return nil, unavailable("ask %s for the slots: %v", n.addr, err)
		}
		owners = append(owners, o)
	}
	return owners, nil
}

// parseOwner reads an element of CLUSTER SLOTS: first slot, last slot, primary, replicas.
func parseOwner(m *rueidis.RedisMessage, asked string) (o owner, err error) {
	parts, err := m.ToArray()
	if err != nil || len(parts) < 3 {
		return o, fmt.Errorf("a range of %d parts: %w", len(parts), err)
	}
	from, _ := parts[0].AsInt64()
	to, _ := parts[1].AsInt64()
	if from < 0 || to < from || to >= Slots {
		return o, fmt.Errorf("slots from %d to %d", from, to)
	}
	o.from, o.to = int(from), int(to)
	for i := range parts[2:] {
		addr, err := parseAddr(&parts[2+i], asked)
		switch {
		case err != nil:
			return o, err
		case i == 0:
			o.addr = addr
		default:
			o.replicas = append(o.replicas, addr)
		}
	}
	return o, nil
}

// parseAddr reads a node of CLUSTER SLOTS. One without a host has that of the node that was asked.
func parseAddr(m *rueidis.RedisMessage, asked string) (string, error) {
	parts, err := m.ToArray()
	if err != nil || len(parts) < 2 {
		return "", fmt.Errorf("a node of %d parts: %w", len(parts), err)
	}
	host, _ := parts[0].ToString() // nil if it is not known
	port, err := parts[1].AsInt64()
	if err != nil {
		return "", err
	}
	if host == "" || host == "?" {
		host, _, _ = net.SplitHostPort(asked) // an address of this package
	}
	return net.JoinHostPort(host, strconv.FormatInt(port, 10)), nil
}

// adopt makes the owners the primaries of their slots, and forgets nodes that have left.
func (c *Cluster) adopt(owners []owner) {
	var table [Slots]*node
	present := map[string]bool{}
	for _, addr := range c.options.Addrs {
		present[addr] = true
	}
	for _, o := range owners {
		n := c.node(o.addr)
		if n == nil {
			return // closed meanwhile
		}
		n.candidates.Store(int64(len(o.replicas)))
		present[o.addr] = true
		for _, addr := range o.replicas {
			c.node(addr)
			present[addr] = true
		}
		for s := o.from; s <= o.to; s++ {
			table[s] = n
		}
	}
	for s := range table {
		if table[s] != nil { // else the last owner will say where it has gone
			c.slots[s].Store(table[s])
		}
	}
	c.forget(present)
}

// forget closes nodes that have left the cluster, and sends their calls elsewhere.
func (c *Cluster) forget(present map[string]bool) {
	used := map[*node]bool{}
	for _, n := range c.primaries() {
		used[n] = true
	}
	c.mu.Lock()
	var gone []*node
	for addr, n := range c.nodes {
		if !present[addr] && !used[n] && n.taken.Load() == 0 {
			delete(c.nodes, addr)
			gone = append(gone, n)
		}
	}
	c.mu.Unlock()
	for _, n := range gone {
		c.again(n.close(), unavailable("%s has left the cluster", n.addr))
	}
}

// load loads the functions on a node if it does not have them. A node that is a replica by now gets
// them from its primary, which gets them with its first call.
func (c *Cluster) load(ctx context.Context, n *node) error {
	answers, err := n.do(ctx, command("FUNCTION", "LOAD", c.options.Library))
	if err != nil {
		return err
	}
	reply, refused := rueidis.IsRedisErr(answers[0].Error())
	if !refused || says(reply, "already exists") || says(reply, "READONLY") {
		return nil
	}
	return unavailable("load the functions on %s: %v", n.addr, reply)
}

// Load loads the functions on all primaries.
func (c *Cluster) Load(ctx context.Context) error {
	for _, n := range c.primaries() {
		if err := c.load(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// Primaries returns what the primaries last said of themselves, in the order of their addresses,
// and the trouble with learning the topology, if there is any.
func (c *Cluster) Primaries() ([]Info, error) {
	var infos []Info
	for _, n := range c.primaries() {
		if info := n.info.Load(); info != nil {
			infos = append(infos, *info)
		} else {
			infos = append(infos, Info{Addr: n.addr, Err: unavailable("%s has said nothing yet",
				n.addr)})
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return infos, c.trouble
}
