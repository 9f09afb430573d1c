package server

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/gsimc/gsimc/store/memory"
)

// An answer at the API does not depend on the cache either.
func TestEvictionThroughTheAPI(t *testing.T) {
	st := memory.New()
	huge := start(t, setup{store: st})
	tiny := start(t, setup{store: st, config: func(c *Config) { c.StateCacheBytes = 1 }})
	for i := range 200 {
		huge.observe(t, newEvent(fmt.Sprint(i%9), i*7%testItems))
		req := forUser(fmt.Sprint(i % 11))
		if d := cmp.Diff(huge.ask(t, req), tiny.ask(t, req), protocmp.Transform()); d != "" {
			t.Fatalf("request %d (-huge +tiny):\n%s", i, d)
		}
	}
	if got := value1(t, huge, `gsimc_user_state_requests_total{result="load"}`); got != 0 {
		t.Errorf("the huge cache replayed %v histories, want 0", got)
	}
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it did not happen in time that %s", what)
		}
	}
}
