package valkey_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store"
)

// A primary that has lost its replica acknowledges nothing, and its writes are refused long before
// their deadline. The store says so, and goes on when a replica is linked.
func TestPrimaryWithoutReplica(t *testing.T) {
	t.Parallel()
	c, a, _ := pair(t)
	mustAppend(t, a, "u", 1)
	replica := c.ReplicasOf(0)[0]
	replica.Kill()
	const words = "1 of 1 primaries have no linked replica, want 1: no write of theirs is " +
		"acknowledged until they have one"
	check.Await(t, "the store says that there is no replica", func() bool {
		stats, err := a.Stats(t.Context())
		return err == nil && stats.Degraded != nil && stats.Degraded.Error() == words
	})
	const deadline = 2 * time.Minute
	for i := range 2 {
		begin := time.Now()
		_, err := a.Append(within(t, deadline), []store.Record{record("u", 2+i)})
		if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "0 replicas are linked to") {
			t.Fatalf("Append without a replica: %v, want ErrUnavailable, and why", err)
		}
		if took := time.Since(begin); took > deadline/2 {
			t.Fatalf("refused after %v, with a deadline of %v", took, deadline)
		}
	}
	check.Must(t, replica.Start())
	check.Await(t, "writes are taken again", func() bool {
		_, err := a.Append(within(t, deadline), []store.Record{record("u", 5)})
		return err == nil
	})
	check.Await(t, "the store says that there is a replica", func() bool {
		stats, err := a.Stats(t.Context())
		return err == nil && stats.Degraded == nil
	})
}
