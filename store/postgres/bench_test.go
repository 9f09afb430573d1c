package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store"
)

// BenchmarkAppend measures calls of a number of callers with a standby that confirms each commit:
// 8 callers with 500 events of 500 users each, and 64 with one event.
func BenchmarkAppend(b *testing.B) {
	for _, c := range []struct{ callers, records int }{{8, 500}, {64, 1}, {1, 1}} {
		b.Run(fmt.Sprintf("%dx%d", c.callers, c.records), func(b *testing.B) {
			s := open(b)
			defer s.Close()
			var calls atomic.Int64
			var all sync.WaitGroup
			b.ResetTimer()
			for caller := range c.callers {
				all.Go(func() {
					for calls.Add(1) <= int64(b.N) {
						if _, err := s.Append(context.Background(), batch(caller, c.records,
							int(calls.Load()))); err != nil {
							b.Errorf("Append: %v", err)
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N*c.records)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// batch returns records of as many users, who have other events at each call.
func batch(caller, n, call int) []store.Record {
	records := make([]store.Record, n)
	for i := range records {
		records[i] = store.Record{User: fmt.Sprintf("user-%d-%d", caller, (call*n+i)%20_000),
			Event: store.Event{ID: fmt.Sprintf("event-%d-%d-%d", caller, call, i),
				Item: fmt.Sprintf("item-%d", i%5000), Type: "view", Time: time.Unix(int64(call), 0),
				Value: 1}}
	}
	return records
}

// BenchmarkSince measures one round trip for a version that is still the last one, and for a
// history of 100 events.
func BenchmarkSince(b *testing.B) {
	s := open(b)
	defer s.Close()
	ctx := context.Background()
	var records []store.Record
	for i := range 100 {
		records = append(records, store.Record{User: "u", Event: store.Event{ID: fmt.Sprint(i),
			Item: fmt.Sprint("item-", i), Value: 1}})
	}
	results := check.Get(s.Append(ctx, records))(b)
	nothing := func(store.Version, store.Event) error { return nil }
	for name, known := range map[string]store.Version{"warm": results[99].Version, "cold": {}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, _, err := s.Since(ctx, "u", known, nothing); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
