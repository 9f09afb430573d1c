package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/proctest"
	"github.com/gsimc/gsimc/internal/test/soak"
)

// flow produces events of users, the k-th of a user on the item k.
type flow struct {
	*kgo.Client
	topic  string
	users  int
	made   int
	failed atomic.Pointer[error]
}

// produce produces n more events and does not wait for the broker.
func (f *flow) produce(n int) {
	for range n {
		u, k := f.made%f.users, f.made/f.users
		f.made++
		f.Produce(context.Background(), &kgo.Record{Topic: f.topic, Key: []byte(user(u)),
			Value: fmt.Appendf(nil, `{"user_id":"%s","item_id":"%d","event_type":"view"}`, user(u), k),
		}, func(_ *kgo.Record, err error) {
			if err != nil {
				f.failed.Store(&err)
			}
		})
	}
}

// check fails the test if any history is not what was produced: once and in order.
func (f *flow) check(t *testing.T, s *server) {
	t.Helper()
	check.Must(t, f.Flush(t.Context()))
	if err := f.failed.Load(); err != nil {
		t.Fatalf("producing: %v", *err)
	}
	check.Within(t, proctest.Limit, fmt.Sprintf("%d events in the store", f.made), func() bool {
		return s.count(t, f.users) >= f.made
	})
	for u := range f.users {
		events := s.history(t, user(u))
		want := (f.made - u + f.users - 1) / f.users
		check.Same(t, want, len(events), "events of %s", user(u))
		for k, e := range events {
			if e.GetItemId() != fmt.Sprint(k) {
				t.Errorf("event %d of %s is on item %s", k, user(u), e.GetItemId())
				break
			}
		}
	}
}

// However often the consumer and the broker are killed, each history is what was produced.
func TestKilledInTurns(t *testing.T) {
	b := startBroker(t)
	records, rounds := 18_000, 3
	if soak.Long() {
		records, rounds = 500_000, 40
	}
	s := startServer(t)
	f := &flow{Client: b.client(t), topic: b.topic(t, 6), users: 200}
	args := []string{"--brokers", b.address, "--topic", f.topic, "--group", "g", "--server",
		s.address, "--session-timeout", "6s", "--dead-letter", filepath.Join(t.TempDir(), "dead.jsonl")}
	c, duplicates := startConsumer(t, args...), 0.0
	for round := range rounds {
		before := c.sum("gsimc_kafka_records_total")
		f.produce(records / rounds)
		check.Within(t, proctest.Limit, "records that are done", func() bool {
			return c.sum("gsimc_kafka_records_total") > before
		})
		if round%2 == 0 {
			duplicates += c.sum(`gsimc_kafka_records_total{outcome="duplicate"`)
			c.Kill()
			c = startConsumer(t, args...)
		} else {
			b.kill()
			b.start(t)
		}
	}
	f.check(t, s)
	duplicates += c.sum(`gsimc_kafka_records_total{outcome="duplicate"`)
	check.Same(t, 0.0, c.sum(`gsimc_kafka_records_total{outcome="rejected"`), "rejected events")
	c.Stop(t)
	if duplicates == 0 {
		t.Error("no kill came between an acknowledgement and its commit")
	}
	soak.Injected(t, rounds, "kills of consumer and broker")
}
