package enginetest_test

import (
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/enginetest"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

func TestRedisProcesses(t *testing.T) {
	c := enginetest.Redis(t, enginetest.RedisConfig{Primaries: 1, Replicas: 1})
	primary, replica := c.Nodes[0], c.ReplicasOf(0)[0]
	write := func(timeout, want string) {
		t.Helper()
		got, err := primary.Pipeline([]string{"SET", "k", "v"}, []string{"WAIT", "1", timeout})
		if err != nil || got[1] != want {
			t.Errorf("replicas with a write: %q, %v, want %s", got, err, want)
		}
	}
	write("5000", "1")
	replica.Pause()
	write("50", "0")
	replica.Resume()
	replica.Kill()
	if replica.Running() || replica.PID() != 0 {
		t.Error("the replica runs after Kill")
	}
	if err := replica.Start(); err != nil {
		t.Fatal(err)
	}
	if err := c.Settled(20 * time.Second); err != nil {
		t.Fatal(err)
	}
	for node, want := range map[*enginetest.RedisNode]string{primary: "primary",
		replica: "replica"} {
		if role, err := node.Role(); role != want || err != nil {
			t.Errorf("role: %q, %v, want %q", role, err, want)
		}
	}
}

func TestSharedRedis(t *testing.T) {
	c := enginetest.SharedRedis(t, 3, 0)
	if enginetest.SharedRedis(t, 3, 0) != c {
		t.Error("a second cluster of the same shape")
	}
	if n := len(c.Addrs()); n != 3 {
		t.Errorf("%d addresses", n)
	}
}
