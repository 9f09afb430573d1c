package calls_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/internal/calls"
)

// A store that closes waits for the calls under way and takes no more.
func TestCloseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c calls.Calls
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		check.Fails(t, c.Begin(ended), context.Canceled, "Begin with a context that has ended")
		for range 3 {
			check.Must(t, c.Begin(t.Context()))
			go func() {
				defer c.Done()
				time.Sleep(time.Minute)
			}()
		}
		begun := time.Now()
		check.Pass(t, c.Close(), "Close")
		check.Fails(t, c.Close(), store.ErrClosed, "a second Close")
		check.Fails(t, c.Begin(t.Context()), store.ErrClosed, "Begin after Close")
		c.Wait()
		check.Same(t, time.Minute, time.Since(begun), "time that Wait took, as long as the calls")
	})
}
