package cluster

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/gsimc/gsimc/store"
)

// slotsAtOnce is the largest number of slots whose keys are asked for in one pipeline. The first
// time it is fewSlots, and it shrinks while an answer has more than keysAtOnce keys.
const (
	fewSlots    = 16
	slotsAtOnce = 512
	keysAtOnce  = 50_000
)

// EachKeys calls fn for the keys of all slots, in parts. A key that is there all the time is passed
// once, also while slots move. The first error of fn ends the call and is returned as it is.
func (c *Cluster) EachKeys(ctx context.Context, fn func(keys []string) error) error {
	most := fewSlots
	for from := 0; from < Slots; {
		keys, to, err := c.keysFrom(ctx, from, most)
		if err != nil {
			return err
		}
		if err := fn(keys); err != nil {
			return err
		}
		switch {
		case len(keys) > keysAtOnce:
			most = max(most/2, 1)
		case len(keys) < keysAtOnce/2:
			most = min(2*most, slotsAtOnce)
		}
		from = to
	}
	return nil
}

// keysFrom returns the keys of the slots from, …, to-1, at most a number of slots. It repeats until
// it has an answer or ctx ends.
func (c *Cluster) keysFrom(ctx context.Context, from, most int) (keys []string, to int, err error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	for attempts := 1; ; attempts++ {
		n, to := c.run(from, most)
		if keys, err = c.keysOf(ctx, n, from, to); err == nil {
			return keys, to, nil
		}
		c.refreshSoon()
		select {
		case <-ctx.Done():
			return nil, 0, ended(ctx, err)
		case <-time.After(pauseAfter(attempts)):
		}
	}
}

// run returns the primary of a slot, and the end of the next slots that it has too, at most a
// number with the first one.
func (c *Cluster) run(from, most int) (n *node, to int) {
	n = c.slots[from].Load()
	for to = from + 1; to < min(Slots, from+most) && c.slots[to].Load() == n; {
		to++
	}
	return n, to
}

// keysOf returns the keys of the slots from, …, to-1.
//
// The node is asked about its slots after it has been asked for the keys. Of a slot that it does
// not have, or that moves away, the other primaries are asked too: a key that has gone when the
// node is asked is there when they are.
func (c *Cluster) keysOf(ctx context.Context, n *node, from, to int) ([]string, error) {
	if n == nil {
		return nil, unavailable("a slot has no primary")
	}
	bySlot, text, err := n.keys(ctx, from, to)
	if err != nil {
		return nil, err
	}
	stable := stableSlots(text)
	var keys []string
	for i := range bySlot {
		slot := from + i
		if stable[slot] {
			keys = append(keys, bySlot[i]...)
			continue
		}
		seen := map[string]bool{}
		for _, key := range bySlot[i] {
			seen[key] = true
		}
		for _, other := range c.primaries() {
			more, _, err := other.keys(ctx, slot, slot+1)
			if err != nil {
				return nil, err
			}
			for _, key := range more[0] {
				seen[key] = true
			}
		}
		keys = slices.AppendSeq(keys, maps.Keys(seen))
	}
	return keys, nil
}

// keys asks a node for the keys of slots, and then for the table of nodes.
func (n *node) keys(ctx context.Context, from, to int) (bySlot [][]string, nodes string,
	err error,
) {
	var commands []rueidis.Completed
	for slot := from; slot < to; slot++ {
		commands = append(commands, command("CLUSTER", "GETKEYSINSLOT", strconv.Itoa(slot),
			strconv.Itoa(math.MaxInt32)))
	}
	answers, err := n.do(ctx, append(commands, command("CLUSTER", "NODES"))...)
	if err != nil {
		return nil, "", err
	}
	bySlot = make([][]string, to-from)
	for i := range bySlot {
		if bySlot[i], err = answers[i].AsStrSlice(); err != nil {
			return nil, "", unavailable("ask %s for the keys of a slot: %v", n.addr, err)
		}
	}
	if nodes, err = answers[to-from].ToString(); err != nil {
		return nil, "", unavailable("ask %s for the nodes: %v", n.addr, err)
	}
	return bySlot, nodes, nil
}

// stableSlots reads from the answer to CLUSTER NODES which slots the node that answers has, without
// those that are moving away. Its line is: id, address, flags with "myself", primary, ping, pong,
// epoch, link, and then slots, as 7, 0-9, [8->-id] or [9-<-id].
func stableSlots(nodes string) *[Slots]bool {
	var stable [Slots]bool
	for line := range strings.Lines(nodes) {
		fields := strings.Fields(line)
		if len(fields) < 8 || !strings.Contains(fields[2], "myself") {
			continue
		}
		for _, field := range fields[8:] {
			if moving, ok := strings.CutPrefix(field, "["); ok {
				slot, _, _ := strings.Cut(moving, "-")
				if s, err := strconv.Atoi(slot); err == nil && s >= 0 && s < Slots {
					stable[s] = false
				}
				continue
			}
			first, last, isRange := strings.Cut(field, "-")
			if !isRange {
				last = first
			}
			from, err1 := strconv.Atoi(first)
			to, err2 := strconv.Atoi(last)
			for s := from; err1 == nil && err2 == nil && s >= 0 && s <= min(to, Slots-1); s++ {
				stable[s] = true
			}
		}
	}
	return &stable
}

// ReadAll makes one call of a function that does not write for each list of keys, those of one
// primary in one round trip, and returns the answers in order. The answer about a key that holds
// what it should not is the zero message.
func (c *Cluster) ReadAll(
	ctx context.Context, function string, keys [][]string, args ...string,
) ([]rueidis.RedisMessage, error) {
	replies := make([]rueidis.RedisMessage, len(keys))
	byNode := map[*node][]int{}
	for i := range keys {
		n := c.slots[Slot(keys[i][0])].Load()
		byNode[n] = append(byNode[n], i)
	}
	for n, indices := range byNode {
		answers := make([]rueidis.RedisResult, len(indices))
		if n != nil {
			commands := make([]rueidis.Completed, len(indices))
			for at, i := range indices {
				commands[at] = functionCall("FCALL_RO", function, keys[i], args)
			}
			if got, err := n.do(ctx, commands...); err == nil {
				answers = got
			}
		}
		for at, i := range indices {
			var err error
			replies[i], err = answers[at].ToMessage()
			if n != nil && err == nil && replies[i].IsArray() {
				continue
			}
			replies[i], err = c.Read(ctx, function, keys[i], args...)
			if err != nil && !errors.Is(err, store.ErrCorrupt) {
				return nil, err
			}
		}
	}
	return replies, nil
}

// Nodes returns the addresses of all nodes that are known, replicas too.
func (c *Cluster) Nodes() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.nodes))
}

// Ask sends a command to a node. An error that wraps store.ErrUnavailable means that there is no
// answer; others are answers of the node.
func (c *Cluster) Ask(ctx context.Context, addr string, words ...string) (rueidis.RedisMessage,
	error,
) {
	n := c.node(addr)
	if n == nil {
		return rueidis.RedisMessage{}, unavailable("%s has left the cluster", addr)
	}
	answers, err := n.do(ctx, command(words...))
	if err != nil {
		return rueidis.RedisMessage{}, err
	}
	return answers[0].ToMessage()
}

// Uncovered returns the number of slots without a primary.
func (c *Cluster) Uncovered() (slots int) {
	for i := range c.slots {
		if c.slots[i].Load() == nil {
			slots++
		}
	}
	return slots
}
