package background

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
)

// Work rests once a slice is done, for as long as its share of the time wants, and ends with ctx.
func TestPacer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		p := NewPacer(0.25)
		for _, want := range []time.Duration{0, 3 * workSlice} { // after half a slice, and a whole
			time.Sleep(workSlice / 2)
			check.Must(t, p.Except(func() error { time.Sleep(time.Minute); return nil }))
			before := time.Now()
			check.Must(t, p.Pause(ctx))
			check.Same(t, want, time.Since(before), "rest after %v", time.Since(began))
		}
		cancel()
		if err := p.Pause(ctx); err == nil {
			t.Error("the work goes on after its context has ended")
		}
	})
}
