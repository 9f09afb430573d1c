package calls_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gsimc/gsimc/internal/test/must"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/internal/calls"
)

// A store that closes waits for the calls under way and takes no more.
func TestCloseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c calls.Calls
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.Begin(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("Begin with a context that has ended: %v", err)
		}
		for range 3 {
			must.Succeed(t, c.Begin(t.Context()))
			go func() {
				defer c.Done()
				time.Sleep(time.Minute)
			}()
		}
		begun := time.Now()
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := c.Close(); !errors.Is(err, store.ErrClosed) {
			t.Errorf("a second Close: %v, want ErrClosed", err)
		}
		if err := c.Begin(t.Context()); !errors.Is(err, store.ErrClosed) {
			t.Errorf("Begin after Close: %v, want ErrClosed", err)
		}
		c.Wait()
		if took := time.Since(begun); took != time.Minute {
			t.Errorf("Wait took %v, want as long as the calls", took)
		}
	})
}
