package enginetest

import (
	"testing"
	"time"
)

// TestRedisMeetsAgain stops the servers of a cluster while they are introduced to each other, for
// longer than an introduction lasts, as a machine does that is suspended.
func TestRedisMeetsAgain(t *testing.T) {
	c, err := newRedisCluster(t.TempDir(), RedisServer(t), RedisConfig{Primaries: 3, Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Kill)
	for _, step := range []func() error{c.start, c.deal} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range c.Nodes {
		n.Pause()
	}
	time.Sleep(3 * time.Second) // --cluster-node-timeout is 2 s
	for _, n := range c.Nodes {
		n.Resume()
	}
	if err := c.join(); err != nil {
		t.Fatal(err)
	}
}
