package faults

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/enginetest"
	"github.com/gsimc/gsimc/store/valkey"
	"github.com/gsimc/gsimc/store/valkey/internal/cluster"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

// patience is how long a cluster may take to heal, and a shard to acknowledge again.
const patience = 60 * time.Second

// nine is the cluster of all tests.
type nine struct {
	testing.TB
	*enginetest.RedisCluster
	shards []shard
}

// shard is a primary, its replicas and its slots.
type shard struct {
	primary  *enginetest.RedisNode
	replicas []*enginetest.RedisNode
	slots    map[uint16]bool
}

// name is the same for a shard, whichever of its nodes is the primary.
func (s shard) name() string {
	return min(s.primary.Addr, s.replicas[0].Addr, s.replicas[1].Addr)
}

// healthy returns the cluster with all processes running and linked, and without data.
func healthy(t testing.TB) *nine {
	t.Helper()
	n := &nine{TB: t, RedisCluster: enginetest.SharedRedis(t, 3, 2)}
	n.heal()
	if err := n.ElectAfter(2 * time.Second); err != nil { // it is disturbed here after all
		t.Fatal(err)
	}
	for _, s := range n.shards {
		n.do(s.primary, "FLUSHALL")
	}
	return n
}

// do sends a command.
func (n *nine) do(node *enginetest.RedisNode, args ...string) string {
	n.Helper()
	answer, err := node.Do(args...)
	if err != nil {
		n.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	return answer
}

// await repeats try until it succeeds.
func (n *nine) await(what string, try func() error) {
	n.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			n.Fatalf("waited %v until %s: %v", patience, what, err)
		}
	}
}

// heal lets all processes run and waits until each primary has its replicas.
func (n *nine) heal() {
	n.Helper()
	for _, node := range n.Nodes {
		node.Resume()
		check.Must(n, node.Start())
	}
	n.await("the cluster is whole", func() (err error) {
		if err := n.Settled(patience); err != nil {
			return err
		}
		n.shards, err = n.look()
		return err
	})
}

// look asks each node for its part.
func (n *nine) look() ([]shard, error) {
	shards := map[string]*shard{} // by the id of the primary
	of := func(id string) *shard {
		if shards[id] == nil {
			shards[id] = &shard{slots: map[uint16]bool{}}
		}
		return shards[id]
	}
	covered := 0
	for _, node := range n.Nodes {
		m, err := lookAt(node)
		if err != nil {
			return nil, err
		}
		if m.primary == "" {
			of(m.id).primary, of(m.id).slots = node, m.slots
			covered += len(m.slots)
		} else {
			of(m.primary).replicas = append(of(m.primary).replicas, node)
		}
	}
	var all []shard
	for id, s := range shards {
		if s.primary == nil || len(s.replicas) != 2 {
			return nil, fmt.Errorf("primary %s is known: %v, with %d replicas", id,
				s.primary != nil, len(s.replicas))
		}
		info, err := s.primary.Do("INFO", "replication")
		if err != nil || strings.Count(info, "state=online") != 2 {
			return nil, fmt.Errorf("not both replicas are linked: %w: %s", err, info)
		}
		all = append(all, *s)
	}
	if len(all) != 3 || covered != cluster.Slots {
		return nil, fmt.Errorf("%d primaries have %d slots", len(all), covered)
	}
	slices.SortFunc(all, func(a, b shard) int { return strings.Compare(a.name(), b.name()) })
	return all, nil
}

// member is what a node says of itself.
type member struct {
	id      string
	primary string // the id of its primary; empty if it is one
	slots   map[uint16]bool
}

func lookAt(node *enginetest.RedisNode) (m member, err error) {
	text, err := node.Do("CLUSTER", "NODES")
	if err != nil {
		return m, err
	}
	m.slots = map[uint16]bool{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 8 || !strings.Contains(words[2], "myself") {
			continue
		}
		m.id = words[0]
		if strings.Contains(words[2], "slave") {
			m.primary = words[3]
		}
		for _, w := range words[8:] {
			if strings.HasPrefix(w, "[") { // a slot that moves
				return m, fmt.Errorf("a slot moves: %s", w)
			}
			first, last, isRange := strings.Cut(w, "-")
			from, _ := strconv.Atoi(first)
			to := from
			if isRange {
				to, _ = strconv.Atoi(last)
			}
			for s := from; s <= to; s++ {
				m.slots[uint16(s)] = true
			}
		}
	}
	if m.id == "" {
		return m, fmt.Errorf("a node does not know itself:\n%s", text)
	}
	return m, nil
}

// open opens a store in the cluster.
func (n *nine) open(o valkey.Options) *valkey.Store {
	n.Helper()
	o.Addrs = n.Addrs()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s := check.Get(valkey.Open(ctx, o))(n)
	n.Cleanup(func() { _ = s.Close() }) // the test has closed it, or failed
	return s
}

// slotOf returns the slot of a user.
func slotOf(namespace, user string) uint16 {
	return cluster.Slot("{" + namespace + ":" + user + "}")
}

// users returns some users of each shard, whose ids begin with a prefix.
func (n *nine) users(namespace, prefix string, of int) [][]string {
	groups := make([][]string, len(n.shards))
	for i := 0; slices.ContainsFunc(groups, func(g []string) bool { return len(g) < of }); i++ {
		user := fmt.Sprint(prefix, "-", i)
		for g, s := range n.shards {
			if s.slots[slotOf(namespace, user)] && len(groups[g]) < of {
				groups[g] = append(groups[g], user)
			}
		}
	}
	return groups
}
