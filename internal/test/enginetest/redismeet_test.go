package enginetest

import (
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
)

// TestRedisMeetsAgain stops the servers of a cluster while they are introduced to each other, for
// longer than an introduction lasts, as a machine does that is suspended.
func TestRedisMeetsAgain(t *testing.T) {
	c, err := newRedisCluster(t.TempDir(), RedisServer(t), RedisConfig{Primaries: 3, Replicas: 1})
	check.Must(t, err)
	t.Cleanup(c.Kill)
	for _, step := range []func() error{c.start, c.deal} {
		check.Must(t, step())
	}
	for _, n := range c.Nodes {
		n.Pause()
	}
	time.Sleep(3 * time.Second) // --cluster-node-timeout is 2 s
	for _, n := range c.Nodes {
		n.Resume()
	}
	check.Must(t, c.join())
}
