package loadtest

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

// Quantiles of merged histograms must be those of all values together, to three digits, against sorting.
func TestHistogramMerge(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var all []time.Duration
	parts := make([]*Histogram, 8)
	var wg sync.WaitGroup
	for i := range parts {
		parts[i] = NewHistogram()
		values := make([]time.Duration, 1000*(i+1))
		for j := range values {
			values[j] = time.Duration(1000 + rng.ExpFloat64()*float64(time.Millisecond))
		}
		all = append(all, values...)
		for half := range 2 { // two writers of one histogram
			wg.Go(func() {
				for j := half; j < len(values); j += 2 {
					parts[i].Record(values[j])
				}
			})
		}
	}
	wg.Wait()
	merged := NewHistogram()
	for _, p := range parts {
		merged.Merge(p)
	}
	if got := merged.Count(); got != int64(len(all)) {
		t.Fatalf("%d values after merging, want %d", got, len(all))
	}
	slices.Sort(all)
	for _, q := range []float64{0.5, 0.9, 0.99, 0.999, 1} {
		want := all[max(int(q*float64(len(all)))-1, 0)]
		got := merged.Quantile(q)
		if off := float64(got-want) / float64(want); off > 0.002 || off < -0.002 {
			t.Errorf("quantile %v is %s, want %s", q, got, want)
		}
	}
}

func TestHistogramEnds(t *testing.T) {
	h := NewHistogram()
	if h.Quantile(0.5) != 0 || h.Count() != 0 {
		t.Error("an empty histogram has values")
	}
	h.Record(-time.Second)
	h.Record(time.Hour)
	if low, high := h.Quantile(0.1), h.Quantile(1); low > 2*shortest || high < longest-time.Second {
		t.Errorf("values outside the range became %s and %s, want about %s and %s", low, high, shortest, longest)
	}
}
