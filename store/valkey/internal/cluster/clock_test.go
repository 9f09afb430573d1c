package cluster

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store/internal/clock"
)

// A node does not do what it gets to after the attempt was given up, nor what nobody waits for any
// more.
func TestLateCallsAreNotDone(t *testing.T) {
	for name, test := range map[string]struct {
		hangs, patience time.Duration
		done            int64 // calls in the end
	}{
		"repeated":  {5 * time.Second, patience, 1},
		"given up":  {5 * time.Second, time.Second, 0},
		"a moment":  {500 * time.Millisecond, patience, 1},
		"too short": {500 * time.Millisecond, 400 * time.Millisecond, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var done, calls atomic.Int64
				f := &fake{wait: next(":1\r\n")}
				f.call = func() string { done.Add(1); return ":1\r\n" }
				f.hang = func() {
					if calls.Add(1) == 1 {
						time.Sleep(test.hangs)
					}
				}
				ctx, cancel := context.WithTimeout(t.Context(), test.patience)
				defer cancel()
				call := &Call{Function: "f", Keys: []string{"k"}}
				f.open(t).Write(ctx, call)
				if (call.Err == nil) != (test.done > 0) {
					t.Errorf("the outcome is %v", call.Err)
				}
				time.Sleep(test.hangs)
				check.Same(t, test.done, done.Load(), "times the call was done")
			})
		})
	}
}

// The clocks of a server and a node may differ, and may be set.
func TestClocksDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{wait: next(":1\r\n"), call: next(":1\r\n")}
		c := f.open(t)
		for _, ahead := range []time.Duration{time.Hour, 0, -time.Hour, time.Minute} {
			f.ahead.Store(int64(ahead))
			for range 2 * lanes {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				call := &Call{Function: "f", Keys: []string{"k"}}
				c.Write(ctx, call)
				cancel()
				if call.Err != nil {
					t.Errorf("with a clock that is %v ahead: %v", ahead, call.Err)
				}
			}
			time.Sleep(clock.Age / 3)
		}
	})
}
