package deploy

import (
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// sharedStore has a store of two primaries, of which first one ends and then the other.
func sharedStore() provocation {
	var nodes []*redisNode
	return provocation{alerts: []string{"GsimcStoreDegraded", "GsimcStoreAway"},
		flags: func(t *testing.T, _ string) []string {
			nodes = redisCluster(t, "0 8191", "8192 16383")
			return []string{"--store", fmt.Sprintf("valkey://127.0.0.1:%s/alerts?durability=none",
				nodes[0].port)}
		}, do: func(s *stage) {
			s.until("GsimcStoreDegraded", 1, 5*time.Minute, func() {
				nodes[1].end()
				s.awaitPage("gsimc_store_degraded 1")
			})
			s.until("GsimcStoreAway", 1, time.Minute, func() {
				nodes[0].end()
				s.awaitPage("gsimc_store_away 1")
			})
		}}
}

// awaitPage waits until the metrics have a line.
func (s *stage) awaitPage(line string) {
	s.Helper()
	for begun := time.Now(); !strings.Contains(s.page("/metrics"), "\n"+line+"\n"); {
		if time.Since(begun) > time.Minute {
			s.Fatalf("the metrics do not say %s", line)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// redisNode is a process of a cluster.
type redisNode struct {
	port, bus string
	cmd       *exec.Cmd
}

// redisCluster starts a primary for each range of slots. They take writes as soon as the cluster
// stands, which the server waits for.
func redisCluster(t *testing.T, slots ...string) (nodes []*redisNode) {
	t.Helper()
	for _, program := range []string{"redis-server", "redis-cli"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not here: there is no shared store", program)
		}
	}
	for _, r := range slots {
		n := &redisNode{port: freePort(t), bus: freePort(t)}
		n.cmd = exec.Command("redis-server", "--port", n.port, "--cluster-port", n.bus,
			"--bind", "127.0.0.1", "--cluster-enabled", "yes", "--cluster-node-timeout", "2000",
			"--cluster-require-full-coverage", "no", "--save", "")
		n.cmd.Dir = t.TempDir()
		must(t, n.cmd.Start())
		t.Cleanup(n.end)
		n.until(t, "PONG", "PING")
		n.until(t, "OK", append([]string{"CLUSTER", "ADDSLOTSRANGE"}, strings.Fields(r)...)...)
		nodes = append(nodes, n)
	}
	for _, n := range nodes[1:] {
		n.until(t, "OK", "CLUSTER", "MEET", "127.0.0.1", nodes[0].port, nodes[0].bus)
	}
	for _, n := range nodes {
		n.until(t, fmt.Sprintf("cluster_size:%d", len(slots)), "CLUSTER", "INFO")
		n.until(t, "cluster_state:ok", "CLUSTER", "INFO")
	}
	return nodes
}

// until sends a command until the answer has a text.
func (n *redisNode) until(t *testing.T, text string, command ...string) {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		out, _ := exec.Command("redis-cli", append([]string{"-p", n.port}, command...)...).
			CombinedOutput()
		if strings.Contains(string(out), text) {
			return
		}
		if time.Since(begun) > time.Minute {
			t.Fatalf("%v: %s, want %s", command, out, text)
		}
	}
}

// end kills the process, if it runs.
func (n *redisNode) end() {
	_ = n.cmd.Process.Kill()
	_ = n.cmd.Wait()
}

func freePort(t *testing.T) string {
	t.Helper()
	l := get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}
