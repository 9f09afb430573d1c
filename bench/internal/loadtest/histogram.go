package loadtest

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Range and precision of the histograms: three digits from 1 µs to 10 minutes. A latency outside
// the range counts as the nearest end of it.
const (
	shortest = time.Microsecond
	longest  = 10 * time.Minute
	digits   = 3
)

// Histogram counts latencies. It is safe for concurrent use.
type Histogram struct {
	mu sync.Mutex
	h  *hdrhistogram.Histogram
}

// NewHistogram returns an empty one.
func NewHistogram() *Histogram {
	return &Histogram{h: hdrhistogram.New(int64(shortest), int64(longest), digits)}
}

// Record counts one latency.
func (h *Histogram) Record(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.h.RecordValue(int64(min(max(d, shortest), longest))); err != nil {
		panic(err) // the value is within the range
	}
}

// Count is the number of latencies.
func (h *Histogram) Count() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.h.TotalCount()
}

// Quantile returns the q-quantile of the latencies, q from 0 to 1, to three digits. It is 0 for an
// empty histogram.
func (h *Histogram) Quantile(q float64) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Duration(h.h.ValueAtQuantile(100 * q))
}
