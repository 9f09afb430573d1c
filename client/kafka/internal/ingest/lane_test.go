package ingest

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/gsimc/gsimc/client/kafka/internal/letters"
	"github.com/gsimc/gsimc/client/kafka/internal/mapping"
	"github.com/gsimc/gsimc/internal/test/check"
)

// alone returns a consumer that reaches no broker, with the first partition of t.
func alone(t *testing.T) (*Consumer, *partition) {
	t.Helper()
	nobody := kgo.SeedBrokers("127.0.0.1:1")
	producer := check.Get(kgo.NewClient(nobody))(t)
	m := check.Get(mapping.New(nil, "p"))(t)
	c, err := New(Config{Kafka: []kgo.Opt{nobody}, Topic: "t", Items: "i", Group: "g", Session: time.Minute,
		Lanes: 1, Mapping: m, Letters: letters.Topic(producer, "dead"),
		Log: slog.New(slog.DiscardHandler)})
	check.Must(t, err)
	t.Cleanup(func() {
		_ = c.letters.Close()
		c.kafka.CloseAllowingRebalance()
	})
	c.assigned(t.Context(), nil, map[string][]int32{"t": {0}})
	return c, c.partition("t", 0)
}

// large returns n records of 1 MiB from an offset on, all of them events.
func large(from, n int) (records []*kgo.Record) {
	much := []kgo.RecordHeader{{Key: "much", Value: make([]byte, 1<<20)}}
	for i := range n {
		records = append(records, &kgo.Record{Topic: "t", Offset: int64(from + i), Headers: much,
			Value: []byte(`{"user_id":"u","item_id":"i"}`)})
	}
	return records
}

// What a partition holds is bounded in bytes, from the first record that is not done on. A record is
// done when it is settled, and no sooner.
func TestHeld(t *testing.T) {
	c, p := alone(t)
	paused := func() bool { return len(c.kafka.PauseFetchPartitions(nil)) > 0 }
	settle := func(n int, next int64) {
		t.Helper()
		events := p.lane.Next(t.Context(), n)
		before, _ := p.Next()
		for range events {
			p.lane.Settled(nil)
		}
		if after, _ := p.Next(); len(events) != n || before.Offset != next || after.Offset !=
			next+int64(n) {
			t.Errorf("%d events, commits %v before and %v after they are settled", len(events), before,
				after)
		}
	}
	p.lane.push(p, large(0, 10))
	if paused() {
		t.Error("paused with 10 MiB")
	}
	p.lane.push(p, large(10, 10))
	if !paused() {
		t.Error("not paused with 20 MiB")
	}
	settle(10, 0)
	if !paused() {
		t.Error("not paused with 10 MiB left")
	}
	settle(10, 10)
	if paused() {
		t.Error("still paused with nothing left")
	}
	p.lane.push(p, append([]*kgo.Record{{Topic: "t", Offset: 20}}, large(21, 20)...))
	for range p.lane.Next(t.Context(), 21) {
		p.lane.Settled(nil)
	}
	if next, _ := p.Next(); next.Offset != 20 || !paused() {
		t.Errorf("behind a letter that is not kept: commits %v, paused is %v", next, paused())
	}
}

// Of a partition that goes nothing more is sent, and the next time it is fetched again.
func TestLeave(t *testing.T) {
	c, p := alone(t)
	p.lane.push(p, large(0, 20))
	p.lane.Next(t.Context(), 5)
	p.lane.leave(p)
	if len(c.kafka.PauseFetchPartitions(nil)) > 0 || len(p.lane.waiting) > 0 {
		t.Errorf("%d records wait of a partition that is gone", len(p.lane.waiting))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if events := p.lane.Next(ctx, 5); len(events) > 0 {
		t.Errorf("%d events of a partition that is gone", len(events))
	}
	for range 5 {
		p.lane.Settled(nil)
	}
	if next, _ := p.Next(); next.Offset != 5 {
		t.Errorf("commits %v, want what was under way", next)
	}
}

// The first dead letter is logged by its place alone, and no other one.
func TestFirstDeadLetter(t *testing.T) {
	c, p := alone(t)
	var log bytes.Buffer
	c.log = slog.New(slog.NewTextHandler(&log, nil))
	bad := func(offset int64) *kgo.Record {
		return &kgo.Record{Topic: "t", Offset: offset, Value: []byte(`{"user_id":"ann"}`)}
	}
	p.lane.push(p, []*kgo.Record{bad(7), bad(8), bad(9)})
	events, some := p.lane.take(10)
	check.Same(t, "0 true", fmt.Sprint(len(events), some), "events")
	check.Has(t, log.String(), `msg="a record became a dead letter: its reason stands there; further `+
		`ones are not logged" topic=t partition=0 offset=7`, "the log")
	check.Same(t, 1, strings.Count(log.String(), "\n"), "lines of the log")
	check.Same(t, false, strings.Contains(log.String(), "ann"), "a user in the log")
}
