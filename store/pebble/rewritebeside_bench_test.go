package pebble

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store"
)

// BenchmarkAppendBesideRewrite appends an event of another user every 5 ms, on disk, while nothing
// else happens, while a long history is rewritten once in a second, and while it is rewritten all
// the time. Latencies, in milliseconds, are from the time at which an event is due, so that
// one rewrite delays all that are due meanwhile.
func BenchmarkAppendBesideRewrite(b *testing.B) {
	for _, test := range []struct {
		events int
		every  time.Duration
	}{{0, time.Hour}, {10_000, time.Second}, {100_000, time.Second}, {100_000, 0}} {
		b.Run(fmt.Sprintf("events=%d/every=%v", test.events, test.every), func(b *testing.B) {
			s := mustOpen(b, b.TempDir(), Options{})
			mustAppend(b, s, "u", 0, max(test.events, 1))
			ctx, cancel := context.WithCancel(b.Context())
			rewrites, rewriting := 0, sync.WaitGroup{}
			if test.events > 0 {
				rewriting.Go(func() { rewrites = rewriteUntil(ctx, b, s, test.every) })
			}
			var took []time.Duration
			var mu sync.Mutex
			var appends sync.WaitGroup
			due := time.Now()
			for i := 0; b.Loop(); i++ {
				due = due.Add(5 * time.Millisecond)
				time.Sleep(time.Until(due))
				at := due
				appends.Go(func() {
					record := store.Record{User: fmt.Sprint("other-", i), Event: testEvent(0)}
					check.Pass(b, appendAll(b.Context(), s, []store.Record{record}), "Append")
					mu.Lock()
					defer mu.Unlock()
					took = append(took, time.Since(at))
				})
			}
			appends.Wait()
			cancel()
			rewriting.Wait()
			b.ReportMetric(float64(rewrites), "rewrites")
			slices.Sort(took)
			for name, share := range map[string]float64{"p50-ms": 0.5, "p99-ms": 0.99, "max-ms": 1} {
				d := took[int(share*float64(len(took)-1))]
				b.ReportMetric(float64(d.Microseconds())/1e3, name)
			}
			mustClose(b, s)
		})
	}
}

// rewriteUntil takes the first event out of the history of u and puts it back, until ctx ends.
func rewriteUntil(ctx context.Context, b *testing.B, s *Store, every time.Duration) (n int) {
	var first store.Event
	for ; ctx.Err() == nil; n++ {
		_, err := s.Rewrite(b.Context(), []string{"u"},
			func(h [][]store.Event) [][]store.Event {
				if n%2 == 0 {
					first = h[0][0]
					return [][]store.Event{h[0][1:]}
				}
				return [][]store.Event{slices.Insert(h[0], 0, first)}
			})
		if err != nil {
			b.Error(err)
			return n
		}
		select {
		case <-time.After(every):
		case <-ctx.Done():
		}
	}
	return n
}
