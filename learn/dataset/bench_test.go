package dataset

import (
	"bufio"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
)

// BenchmarkRead10M reads ten million rows of CSV in one pass. Three figures
// tell the peak memory for each interaction: heap-B/int counts objects of the
// Go heap, garbage too; held-B/int what the Go runtime holds of the operating
// system, fragmentation and all, which is close to the resident set; ids-B/int
// is the part of both that the ids and their index take.
func BenchmarkRead10M(b *testing.B) {
	for _, layout := range []string{"shuffled", "by-user"} {
		for _, weights := range []bool{false, true} {
			b.Run("layout="+layout+"/weights="+strconv.FormatBool(weights), func(b *testing.B) {
				benchmarkRead(b, 10_000_000, layout == "shuffled", weights)
			})
		}
	}
}

func benchmarkRead(b *testing.B, rows int, shuffled, weights bool) {
	path := filepath.Join(b.TempDir(), "events.csv")
	writeBenchCSV(b, path, rows, shuffled)
	opt := Options{}
	if weights {
		opt.WeightColumn = "weight"
	}
	for b.Loop() {
		debug.FreeOSMemory()
		peak := watchMemory()
		start := time.Now()
		d, _, err := Read([]string{path}, opt)
		elapsed := time.Since(start)
		check.Must(b, err)
		heap, held := peak()
		n := float64(d.Len())
		b.ReportMetric(heap/n, "heap-B/int")
		b.ReportMetric(held/n, "held-B/int")
		b.ReportMetric(idMemory(d)/n, "ids-B/int")
		b.ReportMetric(float64(rows)/elapsed.Seconds(), "rows/s")
	}
}

// writeBenchCSV writes rows interactions of 100,000 users and 20,000 items.
// Row r is the (r / users)-th event of a user; multiplying by a number coprime
// to the number of items makes a user's items all different.
func writeBenchCSV(b *testing.B, path string, rows int, shuffled bool) {
	const users, items = 100_000, 20_000
	f := check.Get(os.Create(path))(b)
	w := bufio.NewWriterSize(f, 1<<20)
	w.WriteString("user_id,item_id,timestamp,weight\n")
	rng := rand.New(rand.NewPCG(1, 1))
	var line []byte
	for r := range rows {
		u, event := r/(rows/users), r%(rows/users)
		if shuffled {
			u, event = r%users, r/users
		}
		line = append(line[:0], 'u')
		line = strconv.AppendInt(line, int64(u), 10)
		line = append(line, ",item"...)
		line = strconv.AppendInt(line, int64((u*31+event*7919)%items), 10)
		line = append(line, ',')
		line = strconv.AppendInt(line, 1_600_000_000+rng.Int64N(60_000_000), 10)
		line = append(line, ",0.5\n"...)
		w.Write(line)
	}
	check.Must(b, w.Flush())
	check.Must(b, f.Close())
}

// idMemory returns the bytes that collecting the ids of d takes.
func idMemory(d *Interactions) float64 {
	debug.FreeOSMemory()
	peak := watchMemory()
	for _, ids := range [][]string{d.Users, d.Items} {
		x := newIndex()
		for _, id := range ids {
			x.of([]byte(id))
		}
		defer x.sorted() // keeps x in use until the peak is read
	}
	heap, _ := peak()
	return heap
}

// watchMemory samples the memory in use until the function it returns is
// called, which gives the peaks above what was in use at the start.
func watchMemory() func() (heap, held float64) {
	sample := func() (heap, held float64) {
		s := []metrics.Sample{
			{Name: "/memory/classes/heap/objects:bytes"},
			{Name: "/memory/classes/total:bytes"},
			{Name: "/memory/classes/heap/released:bytes"},
		}
		metrics.Read(s)
		return float64(s[0].Value.Uint64()), float64(s[1].Value.Uint64() - s[2].Value.Uint64())
	}
	heap0, held0 := sample()
	heapPeak, heldPeak := heap0, held0
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				heap, held := sample()
				heapPeak, heldPeak = max(heapPeak, heap), max(heldPeak, held)
			}
		}
	}()
	return func() (heap, held float64) {
		close(stop)
		<-stopped
		heap, held = sample()
		heapPeak, heldPeak = max(heapPeak, heap), max(heldPeak, held)
		return heapPeak - heap0, heldPeak - held0
	}
}
