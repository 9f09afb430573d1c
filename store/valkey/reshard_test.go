package valkey_test

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/enginetest"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/storetest"
	"github.com/gsimc/gsimc/store/valkey"
)

// mover moves the slot of a user from the first node of a cluster to the second, step by step.
type mover struct {
	*testing.T
	from, to *enginetest.RedisNode
	slot     string
	ids      [2]string
}

func newMover(t *testing.T, c *enginetest.RedisCluster, key string) *mover {
	m := &mover{T: t}
	slot := m.do(c.Nodes[0], "CLUSTER", "KEYSLOT", key)
	m.slot, m.from, m.to = slot, c.Nodes[0], c.Nodes[1]
	if n, _ := strconv.Atoi(slot); n >= 16384/2 {
		m.from, m.to = m.to, m.from
	}
	for i, n := range []*enginetest.RedisNode{m.from, m.to} {
		m.ids[i] = m.do(n, "CLUSTER", "MYID")
	}
	return m
}

func (m *mover) do(n *enginetest.RedisNode, args ...string) string {
	m.Helper()
	got, err := n.Do(args...)
	if err != nil {
		m.Fatalf("%v: %v", args, err)
	}
	return got
}

// begin has the slot on the move, with no key moved yet.
func (m *mover) begin() {
	m.do(m.to, "CLUSTER", "SETSLOT", m.slot, "IMPORTING", m.ids[0])
	m.do(m.from, "CLUSTER", "SETSLOT", m.slot, "MIGRATING", m.ids[1])
}

// key moves a key.
func (m *mover) key(key string) {
	host, port, _ := net.SplitHostPort(m.to.Addr)
	m.do(m.from, "MIGRATE", host, port, key, "0", "5000")
}

// end gives the slot to its new node.
func (m *mover) end() {
	for _, n := range []*enginetest.RedisNode{m.to, m.from} {
		m.do(n, "CLUSTER", "SETSLOT", m.slot, "NODE", m.ids[1])
	}
}

// While a slot moves, its users are served from wherever their keys are, and nobody is missed or
// met twice by Each; a user whose keys are half moved waits.
func TestSlotMoves(t *testing.T) {
	soak.Only(t)
	t.Parallel()
	c := enginetest.Redis(t, enginetest.RedisConfig{Primaries: 2})
	s := open(t, valkey.Options{Addrs: c.Addrs(), Namespace: "n", NotDurable: true})
	defer s.Close()
	users := map[string]uint64{"u": 0}
	for i := range 30 {
		users[fmt.Sprint("other-", i)] = 0
	}
	add := func(ctx context.Context, user string) error {
		users[user]++
		results, err := s.Append(ctx, []store.Record{record(user, int(users[user]))})
		if err == nil && (results[0].Revision != users[user] || results[0].Duplicate) {
			err = fmt.Errorf("%+v, want revision %d", results[0], users[user])
		}
		return err
	}
	holds := func(stage string) {
		t.Helper()
		for user := range users {
			check.Pass(t, add(within(t, 10*time.Second), user), "%s: Append", stage)
		}
		seen := map[string]uint64{}
		err := s.Each(t.Context(), 0, 1, func(user string, head store.Version) error {
			if _, twice := seen[user]; twice {
				t.Errorf("%s: Each passes a user twice", stage)
			}
			seen[user] = head.Revision
			return nil
		})
		if diff := cmp.Diff(users, seen); err != nil || diff != "" {
			t.Errorf("%s: Each: %v (-want +got):\n%s", stage, err, diff)
		}
		n := check.Get(storetest.Revision(t.Context(), s, "u"))(t)
		check.Same(t, users["u"], n, "%s: revision", stage)
	}
	holds("before")
	m := newMover(t, c, "{n:u}h")
	m.begin()
	holds("with all keys at the old node")
	m.key("{n:u}i")
	half := make(chan error, 1)
	go func() { half <- add(within(t, 10*time.Second), "u") }()
	check.Await(t, "a call has to wait", func() bool {
		select {
		case err := <-half:
			t.Fatalf("a call went through with half of the keys: %v", err)
		default:
		}
		stats, err := m.from.Do("INFO", "errorstats")
		return err == nil && strings.Contains(stats, "errorstat_TRYAGAIN")
	})
	m.key("{n:u}h")
	check.Pass(t, <-half, "a call with half of the keys")
	holds("with all keys at the new node")
	m.end()
	holds("after")
}
