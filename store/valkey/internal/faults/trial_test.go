package faults

import (
	"fmt"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/enginetest"
	"github.com/gsimc/gsimc/store/storetest/load"
	"github.com/gsimc/gsimc/store/valkey"
)

// enough is the number of events that a trial has acknowledged at least.
const enough = 20_000

// trial is a load on the cluster during which a fault is injected into the first one of its shards.
type trial struct {
	*nine
	number    int
	namespace string
	load      *load.Load
	store     *valkey.Store // that of the writers
	reads     *valkey.Store
}

// outcome is that of a trial.
type outcome struct {
	*load.Report
	gap, others time.Duration // the longest without an acknowledgement, of the shard and others
}

// String is a line for people.
func (o outcome) String() string {
	return fmt.Sprintf("%v; longest gap of the shard %.1f s, of the others %.1f s", o.Report,
		o.gap.Seconds(), o.others.Seconds())
}

// A pressure is how much is written.
type pressure struct {
	options load.Options
	rests   [3]time.Duration // of writers to each shard
}

var (
	// steady leaves the processors some time for the processes of the cluster.
	steady = pressure{rests: [3]time.Duration{rest, rest, rest}}
	// heavy writes more to the first shard than the buffers of sockets hold while a replica is
	// paused, so that it lags when it goes on.
	heavy = pressure{load.Options{NameBytes: 250, Batch: 200}, [3]time.Duration{0, rest, rest}}
)

const rest = 3 * time.Millisecond

// try runs a trial.
func try(t *testing.T, number int, o valkey.Options, p pressure, fault func(*trial)) outcome {
	t.Helper()
	lo := p.options
	r := &trial{nine: healthy(t), number: number, namespace: enginetest.Namespace()}
	// Another shard each time: a replica that was elected is not elected again for some seconds.
	for range number % len(r.shards) {
		r.shards = append(r.shards[1:], r.shards[0])
	}
	o.Namespace = r.namespace
	r.store, r.reads = r.open(o), r.open(o)
	lo.Seed = uint64(number)
	for g, users := range r.users(r.namespace, "user", 48) {
		lo.Groups = append(lo.Groups, load.Group{Users: users, Rest: p.rests[g]})
	}
	r.load = load.Start(r.store, r.reads, lo)
	r.acknowledges(enough / 10)
	r.load.Gaps()
	fault(r)
	r.acknowledges(enough / 100)
	gaps := r.load.Gaps()
	for r.load.Acked() < enough {
		r.acknowledges(enough / 100)
	}
	r.load.Stop()
	r.heal()
	report := r.load.Check(r.reads, patience)
	for _, s := range []*valkey.Store{r.store, r.reads} {
		check.Pass(t, s.Close(), "Close")
	}
	return outcome{report, gaps[0], max(gaps[1], gaps[2])}
}

// acknowledges waits until n more events of each shard are acknowledged.
func (r *trial) acknowledges(n int64) {
	r.Helper()
	if err := r.load.Await(n, patience); err != nil {
		r.load.Stop()
		r.Fatal(err)
	}
}
