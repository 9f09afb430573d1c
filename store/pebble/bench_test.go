package pebble

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/engine"
	"github.com/gsimc/gsimc/store/pebble/internal/recent"
)

// BenchmarkAppend measures durable appends on the disk of the temporary directory: an operation is
// a call.
func BenchmarkAppend(b *testing.B) {
	for _, records := range []int{1, 256} {
		for _, callers := range []int{1, 16, 64} {
			b.Run(fmt.Sprintf("records=%d/callers=%d", records, callers), func(b *testing.B) {
				benchmarkAppend(b, records, callers)
			})
		}
	}
}

func benchmarkAppend(b *testing.B, records, callers int) {
	s := mustOpen(b, b.TempDir(), Options{})
	defer mustClose(b, s)
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for range callers {
		wg.Go(func() {
			batch := make([]store.Record, records)
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				for j := range batch {
					batch[j] = store.Record{User: fmt.Sprintf("user-%d", rand.IntN(100_000)),
						Event: store.Event{
							ID: fmt.Sprintf("event-%d-%d", i, j), Item: "item-12345", Type: "view",
							Time: time.Unix(i, 0), Value: 1,
						}}
				}
				if _, err := s.Append(context.Background(), batch); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N*records)/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkErase measures how long one caller waits for a write while 64 others erase users, half of
// whom have no history, and before. An operation is the erasure of 40,000 users.
func BenchmarkErase(b *testing.B) {
	const users, callers = 40_000, 64
	for round := 0; b.Loop(); round++ {
		s := mustOpen(b, b.TempDir(), Options{})
		for from := 0; from < users/2; from += 1000 {
			records := make([]store.Record, 5000)
			for i := range records {
				records[i] = store.Record{
					User: fmt.Sprint("user-", from+i%1000), Event: testEvent(i / 1000),
				}
			}
			check.Get(s.Append(context.Background(), records))(b)
		}
		flush(b, s)
		event := 0
		observe := func() time.Duration {
			began := time.Now()
			mustAppend(b, s, "observer", event, event+1)
			event++
			return time.Since(began)
		}
		var alone, beside []time.Duration
		for range 2000 {
			alone = append(alone, observe())
		}
		var next, ended atomic.Int64
		began := time.Now()
		for range callers {
			go func() {
				defer ended.Add(1)
				for u := next.Add(1) - 1; u < users; u = next.Add(1) - 1 {
					if _, err := s.Erase(context.Background(), fmt.Sprint("user-", u)); err != nil {
						b.Error(err)
					}
				}
			}()
		}
		for ended.Load() < callers {
			beside = append(beside, observe())
		}
		b.ReportMetric(users/time.Since(began).Seconds(), "erasures/s")
		slices.Sort(alone)
		slices.Sort(beside)
		for _, q := range []int{50, 99} {
			before, then := alone[len(alone)*q/100], beside[len(beside)*q/100]
			b.ReportMetric(float64(then.Microseconds())/1000, fmt.Sprintf("p%d-ms", q))
			b.ReportMetric(float64(then)/float64(before), fmt.Sprintf("p%d/alone", q))
		}
		mustClose(b, s)
	}
}

// TestBoundedMemory stores several times as many bytes as it may use memory.
func TestBoundedMemory(t *testing.T) {
	if soak.Brief() {
		t.Skip("writes 130 MB, and the race detector's memory would be counted")
	}
	const (
		users = 200_000
		batch = 1000
		cache = 8 << 20
		limit = 3*cache + engine.Tables*engine.TableBytes + 4*recent.SortBytes + 32<<20
	)
	before := residentBytes(t)
	s := mustOpen(t, t.TempDir(), Options{CacheBytes: cache})
	defer mustClose(t, s)
	rng := rand.New(rand.NewPCG(1, 1))
	records := make([]store.Record, batch)
	var peak int64
	for from := 0; from < users; from += batch {
		for i := range records {
			item := make([]byte, 0, store.MaxIDBytes) // does not compress
			for len(item) < store.MaxIDBytes {
				item = binary.LittleEndian.AppendUint64(item, rng.Uint64())
			}
			e := store.Event{ID: fmt.Sprint("event-", i), Item: string(item),
				Type: string(item[:200]), Value: 1}
			records[i] = store.Record{User: fmt.Sprintf("user-%07d", (from+i)*7919%users), Event: e}
		}
		check.Get(s.Append(context.Background(), records))(t)
		if from%(20*batch) == 0 {
			peak = max(peak, residentBytes(t)-before)
		}
	}
	n := 0
	if err := s.Each(context.Background(), 0, 1,
		func(string, store.Version) error { n++; return nil }); err != nil || n != users {
		t.Fatalf("Each: got %d, %v, want %d", n, err, users)
	}
	peak = max(peak, residentBytes(t)-before)
	stats := check.Get(s.Stats(context.Background()))(t)
	t.Logf("%d users, %d MiB on disk, at most %d MiB of memory", n, stats.Bytes>>20, peak>>20)
	if peak > limit {
		t.Errorf("%d MiB of memory in use, want at most %d", peak>>20, limit>>20)
	}
}

// residentBytes returns how much memory the process has, after it has given back unused memory. The
// engine's memory is partly outside the heap of Go.
func residentBytes(t *testing.T) int64 {
	t.Helper()
	debug.FreeOSMemory()
	content, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("needs /proc/self/statm to know the memory of the process")
	}
	var total, resident int64
	check.Get(fmt.Sscan(string(content), &total, &resident))(t)
	return resident * int64(os.Getpagesize())
}

// BenchmarkMark compares durable appends of one caller with and without a mark, by turns on the
// same disk: an operation is 200 calls on each of two stores. The metric is the time with the mark
// over that without.
func BenchmarkMark(b *testing.B) {
	stores := []*Store{mustOpen(b, b.TempDir(), Options{}),
		mustOpen(b, b.TempDir(), Options{markEvery: time.Hour})}
	defer mustClose(b, stores[0])
	defer mustClose(b, stores[1])
	var took [2]time.Duration
	const calls = 200
	for round := 0; b.Loop(); round++ {
		for turn := range stores {
			at := (turn + round) % 2
			began := time.Now()
			for i := range calls {
				mustAppend(b, stores[at], fmt.Sprint("user-", i), round, round+1)
			}
			took[at] += time.Since(began)
		}
	}
	b.ReportMetric(float64(took[0])/float64(took[1]), "marked/unmarked")
}

// BenchmarkRewrite takes the first event out of a history, on disk, and appends another one.
func BenchmarkRewrite(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprintf("events=%d", n), func(b *testing.B) {
			s := mustOpen(b, b.TempDir(), Options{})
			mustAppend(b, s, "u", 0, n)
			for next := n; b.Loop(); next++ {
				_, err := s.Rewrite(b.Context(), []string{"u"},
					func(h [][]store.Event) [][]store.Event { return [][]store.Event{h[0][1:]} })
				check.Must(b, err)
				mustAppend(b, s, "u", next, next+1)
			}
			mustClose(b, s)
		})
	}
}
