package valkey_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/enginetest"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble"
	"github.com/gsimc/gsimc/store/valkey"
)

// subjects are the stores that a benchmark compares: pebble in this process, and three primaries
// with two replicas each. The processor time is that of all server processes.
func subjects(b *testing.B, run func(b *testing.B, s store.Store)) {
	b.Run("pebble", func(b *testing.B) {
		s := check.Get(pebble.Open(b.Context(), b.TempDir(), pebble.Options{}))(b)
		defer s.Close()
		run(b, s)
	})
	b.Run("valkey-3+6", func(b *testing.B) {
		c := enginetest.SharedRedis(b, 3, 2)
		s := open(b, valkey.Options{Addrs: c.Addrs(), Namespace: enginetest.Namespace(),
			Replicas: 2})
		defer s.Close()
		before := c.ProcessorTime()
		run(b, s)
		b.ReportMetric(float64((c.ProcessorTime()-before).Microseconds())/float64(b.N),
			"servers-µs/op")
	})
}

// benchmarkEvent is the i-th event of a benchmark; users come by in turn.
func benchmarkEvent(i int64) store.Record {
	const users = 50_000
	return store.Record{User: fmt.Sprint("user-", i%users), Event: store.Event{
		ID: fmt.Sprint("event-", i), Item: fmt.Sprint("item-", i%20_000), Type: "view",
		Time: time.Unix(1_700_000_000+i, 0), Value: 1,
	}}
}

// inFlight makes b.N operations, n of them at a time, each with the number of the first of its
// events.
func inFlight(b *testing.B, n, events int, operation func(first int64) error) {
	var next atomic.Int64
	var running sync.WaitGroup
	b.ResetTimer()
	for range n {
		running.Go(func() {
			for {
				first := next.Add(int64(events)) - int64(events)
				if first >= int64(b.N) {
					return
				}
				if err := operation(first); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	running.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkBatch appends batches of 500 events of 500 users, 8 at a time. An op is an event.
func BenchmarkBatch(b *testing.B) {
	const size = 500
	subjects(b, func(b *testing.B, s store.Store) {
		inFlight(b, 8, size, func(first int64) error {
			records := make([]store.Record, size)
			for i := range records {
				records[i] = benchmarkEvent(first + int64(i))
			}
			_, err := s.Append(context.Background(), records)
			return err
		})
	})
}

// BenchmarkSingle appends events one by one, 64 at a time.
func BenchmarkSingle(b *testing.B) {
	subjects(b, func(b *testing.B, s store.Store) {
		inFlight(b, 64, 1, func(first int64) error {
			_, err := s.Append(context.Background(), []store.Record{benchmarkEvent(first)})
			return err
		})
	})
}

// BenchmarkSince asks whether a known history of 100 events has changed, as each Recommend of a
// cached user does.
func BenchmarkSince(b *testing.B) {
	subjects(b, func(b *testing.B, s store.Store) {
		var records []store.Record
		for i := range int64(100) {
			r := benchmarkEvent(i)
			r.User = "u"
			records = append(records, r)
		}
		results := check.Get(s.Append(context.Background(), records))(b)
		known := results[99].Version
		for b.Loop() {
			_, same, err := s.Since(context.Background(), "u", known, nil)
			if err != nil || !same {
				b.Fatal(same, err)
			}
		}
	})
}
