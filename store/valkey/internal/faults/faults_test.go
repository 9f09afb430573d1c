package faults

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/enginetest"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/store/storetest/load"
	"github.com/gsimc/gsimc/store/valkey"
)

// durable is a store as servers open it.
var durable = valkey.Options{Replicas: 2}

// lag is for how long replicas are paused before their primary dies. It is less than the node
// timeout.
const lag = 1500 * time.Millisecond

var faults = []struct {
	name     string // in the plural
	most     int    // times in make soak
	pressure pressure
	inject   func(*trial)
}{
	{"kills of a primary", 20, steady, func(r *trial) { r.shards[0].primary.Kill() }},
	{"kills of a primary that syncs always and restarts at once", 5, steady, restartAtOnce},
	{"pauses of a primary for 1 to 6 s", 10, steady, func(r *trial) {
		p := r.shards[0].primary
		p.Pause()
		time.Sleep(time.Duration(1+(r.number+3)%6) * time.Second) // 4 s first
		p.Resume()
	}},
	{"kills of a primary whose replicas lag", 5, heavy, killWhileLagging},
	{"elections of a replica that lags", 5, heavy, electLagging},
	{"planned failovers", 10, steady, func(r *trial) {
		heir := r.shards[0].replicas[r.number%2]
		r.do(heir, "CLUSTER", "FAILOVER")
		r.await("the replica takes over", func() error { return isPrimary(heir) })
	}},
	{"moves of 24 slots", 3, steady, moveSlots},
}

func isPrimary(node *enginetest.RedisNode) error {
	if role, err := node.Role(); err != nil || role != "primary" {
		return fmt.Errorf("it is %s: %w", role, err)
	}
	return nil
}

// restartAtOnce kills a primary and starts it again before another one is elected. It has to have
// all in its file then, see TestRestartAfterSlowSync.
func restartAtOnce(r *trial) {
	p := r.shards[0].primary
	r.do(p, "CONFIG", "SET", "appendfsync", "always") // until it starts again
	r.acknowledges(enough / 100)
	p.Kill()
	check.Must(r, p.Start())
}

// killWhileLagging pauses the replicas, or one of them, and kills the primary before they have gone
// on.
func killWhileLagging(r *trial) {
	s := r.shards[0]
	paused := s.replicas[:2-r.number%2]
	for _, p := range paused {
		p.Pause()
	}
	time.Sleep(lag)
	s.primary.Kill()
	for _, p := range paused {
		p.Resume()
	}
}

// electLagging pauses one replica, kills the primary, and pauses the other replica, which has all
// that was acknowledged, until the first one has been elected.
func electLagging(r *trial) {
	s := r.shards[0]
	behind, ahead := s.replicas[r.number%2], s.replicas[1-r.number%2]
	behind.Pause()
	time.Sleep(lag)
	s.primary.Kill()
	ahead.Pause()
	behind.Resume()
	r.await("the replica that lags is elected", func() error { return isPrimary(behind) })
	ahead.Resume()
}

// moveSlots moves slots of users from the first shard to the second one, key by key.
func moveSlots(r *trial) {
	from, to := r.shards[0].primary, r.shards[1].primary
	fromID, toID := r.do(from, "CLUSTER", "MYID"), r.do(to, "CLUSTER", "MYID")
	moved := map[uint16]bool{}
	for _, user := range r.users(r.namespace, "user", 48)[0] {
		slot := slotOf(r.namespace, user)
		if moved[slot] {
			continue
		}
		if len(moved) == 24 {
			return
		}
		moved[slot] = true
		moveSlot(r, slot, from, to, fromID, toID)
	}
}

func moveSlot(r *trial, slot uint16, from, to *enginetest.RedisNode, fromID, toID string) {
	number := fmt.Sprint(slot)
	r.do(to, "CLUSTER", "SETSLOT", number, "IMPORTING", fromID)
	r.do(from, "CLUSTER", "SETSLOT", number, "MIGRATING", toID)
	for {
		key := r.do(from, "CLUSTER", "GETKEYSINSLOT", number, "1")
		if key == "" {
			break
		}
		host, port, _ := strings.Cut(to.Addr, ":")
		r.do(from, "MIGRATE", host, port, key, "0", "5000")
		time.Sleep(5 * time.Millisecond) // calls find one key of a user here and the other there
	}
	for _, node := range []*enginetest.RedisNode{to, from, r.shards[2].primary} {
		r.do(node, "CLUSTER", "SETSLOT", number, "NODE", toID)
	}
}

// A cluster under each of these faults loses no acknowledged event and keeps all other promises.
func TestFaults(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			times := min(f.most, soak.Times(1))
			var sum outcome
			sum.Report = &load.Report{}
			for i := range times {
				o := try(t, i, durable, f.pressure, f.inject)
				t.Log(o)
				check.Pass(t, o.Err(), "the report")
				sum.Acked, sum.Lost = sum.Acked+o.Acked, sum.Lost+o.Lost
				sum.gap, sum.others = max(sum.gap, o.gap), max(sum.others, o.others)
			}
			soak.Injected(t, times, f.name)
			t.Logf("| %s | %d | %d | %d | %.1f s | %.1f s |", f.name, times, sum.Acked, sum.Lost,
				sum.gap.Seconds(), sum.others.Seconds())
		})
	}
}

// Acknowledgements go on with one replica less, and the store says so: at once when the replica is
// killed, and after repl-timeout when it hangs.
func TestOneReplicaLess(t *testing.T) {
	for name, lose := range map[string]func(*enginetest.RedisNode){
		"kills of a replica": (*enginetest.RedisNode).Kill,
		"hanging replicas":   (*enginetest.RedisNode).Pause,
	} {
		t.Run(name, func(t *testing.T) {
			if name == "hanging replicas" && !soak.Long() {
				t.Skip("waits for repl-timeout: in make soak")
			}
			loseReplica(t, name, lose)
		})
	}
}

func loseReplica(t *testing.T, name string, lose func(*enginetest.RedisNode)) {
	o := try(t, 0, durable, steady, func(r *trial) {
		degraded := func() error {
			stats, err := r.store.Stats(t.Context())
			return errors.Join(err, stats.Degraded)
		}
		check.Pass(t, degraded(), "a whole cluster")
		for setting, value := range map[string][2]string{
			"repl-timeout": {"4", "60"}, "repl-ping-replica-period": {"1", "10"},
		} {
			r.do(r.shards[0].primary, "CONFIG", "SET", setting, value[0])
			defer r.do(r.shards[0].primary, "CONFIG", "SET", setting, value[1])
		}
		lose(r.shards[0].replicas[0])
		r.await("the store tells of it", func() error {
			if degraded() == nil {
				return errors.New("it does not")
			}
			return nil
		})
		r.acknowledges(enough / 10)
		r.heal()
		r.await("the store tells that it is over", degraded)
	})
	t.Log(o)
	check.Pass(t, o.Err(), "the report")
	soak.Injected(t, 1, name)
}

// Without waiting for replicas acknowledged events are lost, so the tests above can fail. The marks
// tell every state of a history that is no more, where revisions alone do not.
func TestNotDurable(t *testing.T) {
	keeping := heavy
	keeping.options.KeepUsers = true
	times := min(5, soak.Times(1))
	want := min(2, times)
	lossy, untold, alone := 0, 0, 0
	for i := range times {
		o := try(t, i, valkey.Options{NotDurable: true}, keeping, func(r *trial) {
			killFarAhead(r)
			r.acknowledges(enough / 4) // until histories are as long again
		})
		t.Log(o)
		if o.Lost > 0 {
			lossy++
		}
		untold += o.Untold + o.Broken[load.Ambiguous]
		alone += o.ByRevision
	}
	if lossy < want || untold > 0 || alone == 0 {
		t.Errorf("%d trials with losses, want %d; states of another history: %d not told by their "+
			"marks, %d told by them and not by revisions", lossy, want, untold, alone)
	}
}

// killFarAhead pauses the replicas of a primary until it has more for each of them than the buffers
// of sockets hold, which deliver after its end, and kills it.
func killFarAhead(r *trial) {
	s := r.shards[0]
	for _, p := range s.replicas {
		p.Pause()
	}
	r.await("the replicas lag", func() error {
		list, err := s.primary.Do("CLIENT", "LIST", "TYPE", "replica")
		if n := len(aheadBy.FindAllString(list, -1)); err != nil || n < len(s.replicas) {
			return fmt.Errorf("%d of them do: %w", n, err)
		}
		return nil
	})
	s.primary.Kill()
	for _, p := range s.replicas {
		p.Resume()
	}
}

// aheadBy finds replicas for whom a primary keeps a megabyte or more.
var aheadBy = regexp.MustCompile(` omem=\d{7,} `)
