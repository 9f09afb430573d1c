package cluster

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
)

// The vector is that of the specification of Redis Cluster; the others are what servers answer to
// CLUSTER KEYSLOT.
func TestSlot(t *testing.T) {
	for key, want := range map[string]uint16{
		"123456789": 0x31c3, "": 0, "foo": 12182, "{foo}bar": 12182, "x{foo}{bar}": 12182,
		"{}foo": Slot("{}foo"), "{user1000}.following": Slot("user1000"),
		"foo{{bar}}zap": Slot("{bar"), "foo{bar": 15278,
	} {
		check.Same(t, want, Slot(key), "Slot(%q)", key)
	}
	if Slot("{}foo") == Slot("foo") {
		t.Error("an empty tag counts")
	}
	for slot, tag := range Tags("n/") {
		if !strings.HasPrefix(tag, "n/") || Slot("{"+tag+"}t") != uint16(slot) {
			t.Fatalf("the tag of slot %d is %q", slot, tag)
		}
	}
}

func TestParseInfo(t *testing.T) {
	got := parseInfo("a:1", "# Replication\r\nrole:master\r\nconnected_slaves:3\r\n"+
		"slave0:ip=127.0.0.1,port=2,state=online,offset=14,lag=0\r\n"+
		"slave1:ip=127.0.0.1,port=3,state=wait_bgsave,offset=0,lag=0\r\n"+
		"slave2:ip=127.0.0.1,port=4,state=online,offset=14,lag=1\r\n"+
		"# Memory\r\nused_memory:1000\r\nused_memory_human:1K\r\nmaxmemory:2000\r\n")
	want := Info{Addr: "a:1", Primary: true, Replicas: 2, Memory: 1000, MaxMemory: 2000}
	check.Same(t, want, got, "(-want +got)")
}

func TestStableSlots(t *testing.T) {
	stable := stableSlots("a1 1.2.3.4:1@2 slave b2 0 0 1 connected\n" +
		"b2 1.2.3.4:3@4,host myself,master - 0 0 2 connected 0-2 5 7-9 [8->-c3] [11-<-c3]\n" +
		"c3 1.2.3.4:5@6 master - 0 0 3 connected 10-16383\n")
	var got []int
	for slot, is := range stable {
		if is {
			got = append(got, slot)
		}
	}
	check.Same(t, []int{0, 1, 2, 5, 7, 9}, got, "(-want +got)")
}

// A queue gives out calls in order, in groups that are bounded, and drops those that nobody waits
// for.
func TestQueue(t *testing.T) {
	n := newNode(&Cluster{}, "a:1")
	ctx, cancel := context.WithCancel(t.Context())
	gone := &batch{ctx: ctx, left: 1}
	waiting := &batch{ctx: t.Context(), left: 1}
	var calls []*Call
	for i := range 10 {
		b := waiting
		if i%3 == 0 {
			b = gone
		}
		calls = append(calls, &Call{Function: fmt.Sprint(i), batch: b, room: n, bytes: 10})
	}
	calls = append(calls, &Call{Function: "large", batch: waiting, room: n, bytes: groupBytes},
		&Call{Function: "last", batch: waiting, room: n})
	n.taken.Store(int64(len(calls)))
	n.queue.put(calls)
	cancel()
	for _, want := range []string{"1 2 4 5 7 8", "large last"} {
		var names []string
		for _, c := range n.queue.take(nil) {
			names = append(names, c.Function)
		}
		check.Same(t, want, strings.Join(names, " "), "took")
	}
	check.Same(t, int64(8), n.taken.Load(), "calls that have room")
	n.queue.put([]*Call{{batch: gone, room: n}, {Function: "kept", batch: waiting, room: n}})
	n.queue.sweep()
	if left := n.queue.close(); len(left) != 1 || left[0].Function != "kept" {
		t.Errorf("after sweep: %d calls", len(left))
	}
	if got := n.queue.take(nil); len(got) != 0 || n.queue.put(nil) {
		t.Errorf("a closed queue gives %d calls, or takes some", len(got))
	}
}

func TestPauses(t *testing.T) {
	for attempts, want := range []time.Duration{0, 10, 20, 40, 80, 160, 160} {
		check.Same(t, want*time.Millisecond, pauseAfter(attempts), "after %d attempts", attempts)
	}
}

// Writes of a primary without replicas are refused as soon as waiting is of no use.
func TestAlone(t *testing.T) {
	linked := &Info{Primary: true, Replicas: 1}
	for name, c := range map[string]struct {
		before     *Info // what the node said before
		candidates int64
		after      time.Duration // since then
		refused    bool
	}{
		"the replica has just gone":               {linked, 1, linkPatience / 2, false},
		"the replica has gone":                    {linked, 1, linkPatience, true},
		"a new primary, others may follow it":     {&Info{}, 1, alonePatience / 2, false},
		"a new primary that nobody has followed":  {&Info{}, 1, alonePatience, true},
		"a new primary, nobody is there":          {&Info{}, 0, linkPatience, true},
		"a new primary, nobody is known yet":      {&Info{}, 0, linkPatience / 2, false},
		"a replica that became primary, followed": {&Info{Replicas: 1}, 1, linkPatience, false},
	} {
		n := newNode(&Cluster{options: Options{Replicas: 2}}, "a:1")
		n.candidates.Store(c.candidates)
		info := Info{Primary: true, Looked: time.Now()}
		info.noteAlone(c.before)
		next := Info{Primary: true, Looked: time.Now()}
		next.noteAlone(&info) // the next look keeps what the first has found
		next.Alone = next.Alone.Add(-c.after)
		n.info.Store(&next)
		err := n.alone()
		check.Same(t, c.refused, err != nil, "%s: %v, refused", name, err)
		if err != nil && !strings.Contains(err.Error(), "0 replicas are linked to a:1, want 2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
