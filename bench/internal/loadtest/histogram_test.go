package loadtest

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

// Quantiles of what several writers record must be those of all values together, to three digits,
// against sorting.
func TestHistogramQuantiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	all := make([]time.Duration, 36_000)
	for i := range all {
		all[i] = time.Duration(1000 + rng.ExpFloat64()*float64(time.Millisecond))
	}
	h := NewHistogram()
	var wg sync.WaitGroup
	for values := range slices.Chunk(all, len(all)/8) {
		wg.Go(func() {
			for _, v := range values {
				h.Record(v)
			}
		})
	}
	wg.Wait()
	if got := h.Count(); got != int64(len(all)) {
		t.Fatalf("%d values, want %d", got, len(all))
	}
	slices.Sort(all)
	for _, q := range []float64{0.5, 0.9, 0.99, 0.999, 1} {
		want := all[max(int(q*float64(len(all)))-1, 0)]
		got := h.Quantile(q)
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
		t.Errorf("values outside the range became %s and %s, want about %s and %s", low, high,
			shortest, longest)
	}
}
