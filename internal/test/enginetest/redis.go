package enginetest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
)

// RedisVariable is the environment variable with the path of a Redis or Valkey server.
const RedisVariable = "GSIMC_REDIS_SERVER"

// redisPatience is how long servers may take to answer, to know each other and to serve.
const redisPatience = 60 * time.Second

// RedisConfig says how a cluster looks.
type RedisConfig struct {
	// Primaries is the number of primaries, at least 1, and Replicas that of the replicas of each.
	Primaries, Replicas int
	// Args are arguments of all servers after those of the package, such as "--appendonly", "no".
	Args []string
	// TLS are arguments for connections with TLS, such as "--tls-cert-file", "cert.pem". With them
	// each server listens on RedisNode.TLSAddr too.
	TLS []string
	// Hosts are those of the nodes, in the order of RedisCluster.Nodes; nil: that of the test.
	Hosts []Host
}

// A RedisCluster is a Redis or Valkey cluster of real processes: AOF with a sync each second, no
// eviction, no migration of replicas, and a failover after two seconds.
type RedisCluster struct {
	// Nodes are all processes, first those that began as primaries, then the replicas of the
	// first, of the second, and so on.
	Nodes  []*RedisNode
	config RedisConfig
	ports  lease
}

// A RedisNode is a process of a cluster.
type RedisNode struct {
	*Process
	// Addr is its address for clients, and TLSAddr for those with TLS, if there is one.
	Addr, TLSAddr string
}

// RedisServer returns the path of a Redis or Valkey server, or skips the test.
func RedisServer(tb testing.TB) string {
	tb.Helper()
	return find(tb, RedisVariable, "redis-server (Debian) or valkey", "redis-server",
		"valkey-server")
}

// clusters are the clusters that tests share, by their shape.
var clusters = struct {
	mu    sync.Mutex
	known map[[2]int]*RedisCluster
}{known: map[[2]int]*RedisCluster{}}

// quiet is longer than a busy machine, or one that stood still, keeps a node from answering.
const quiet = time.Minute

// SharedRedis returns a cluster that all tests of the process share. They must not disturb it, and
// it elects no primary: on a busy machine a primary that is slow to answer would be taken for dead,
// see [RedisCluster.ElectAfter]. The package calls [Main].
func SharedRedis(tb testing.TB, primaries, replicas int) *RedisCluster {
	tb.Helper()
	path := RedisServer(tb)
	clusters.mu.Lock()
	defer clusters.mu.Unlock()
	key := [2]int{primaries, replicas}
	if c := clusters.known[key]; c != nil {
		return c
	}
	dir := check.Get(os.MkdirTemp("", "gsimc-redis-"))(tb)
	atEnd(func() { _ = os.RemoveAll(dir) })
	c, err := StartRedis(dir, path, RedisConfig{Primaries: primaries, Replicas: replicas})
	check.Must(tb, err)
	atEnd(c.Kill)
	check.Must(tb, c.ElectAfter(quiet))
	clusters.known[key] = c
	return c
}

// ElectAfter sets the time after which nodes take another one for dead. That of a cluster which was
// just started is two seconds.
func (c *RedisCluster) ElectAfter(silence time.Duration) error {
	for _, n := range c.Nodes {
		if _, err := n.Do("CONFIG", "SET", "cluster-node-timeout",
			strconv.FormatInt(silence.Milliseconds(), 10)); err != nil {
			return err
		}
	}
	return nil
}

// Redis returns a cluster for one test, which may do with it what it likes.
func Redis(tb testing.TB, config RedisConfig) *RedisCluster {
	tb.Helper()
	c := check.Get(StartRedis(tb.TempDir(), RedisServer(tb), config))(tb)
	tb.Cleanup(func() {
		c.Remove()
		for i := 0; tb.Failed() && i < len(c.Nodes); i++ {
			tb.Logf("%s wrote:\n%s", c.Nodes[i].Addr, c.Nodes[i].Output())
		}
	})
	return c
}

// StartRedis starts a cluster whose files are in dir and waits until it serves and all replicas are
// linked. path is that of the server program.
func StartRedis(dir, path string, config RedisConfig) (*RedisCluster, error) {
	c, err := newRedisCluster(dir, path, config)
	if err != nil {
		return nil, err
	}
	if err := c.form(); err != nil {
		c.Remove()
		return nil, fmt.Errorf("form a cluster: %w; a server wrote:\n%s", err,
			c.Nodes[0].Output())
	}
	return c, nil
}

// newRedisCluster returns the servers of a cluster, which do not run yet.
func newRedisCluster(dir, path string, config RedisConfig) (*RedisCluster, error) {
	n := config.Primaries * (1 + config.Replicas)
	ports, kept, err := leasePorts(3 * n)
	if err != nil {
		return nil, err
	}
	c := &RedisCluster{config: config, ports: kept}
	for i := range n {
		node, err := newRedisNode(dir, path, ports[3*i:], &config, hostOf(config.Hosts, i))
		if err != nil {
			c.Remove()
			return nil, err
		}
		c.Nodes = append(c.Nodes, node)
	}
	return c, nil
}

// newRedisNode returns a node with the first three ports: for clients, for other nodes, and for
// clients with TLS.
func newRedisNode(
	dir, path string, ports []int, config *RedisConfig, host Host,
) (*RedisNode, error) {
	port, bus, secure := strconv.Itoa(ports[0]), strconv.Itoa(ports[1]), strconv.Itoa(ports[2])
	own := filepath.Join(dir, port)
	if err := os.MkdirAll(own, 0o700); err != nil {
		return nil, err
	}
	args := append([]string{
		"--port", port, "--cluster-port", bus, "--bind", ip(host),
		"--cluster-enabled", "yes", "--cluster-node-timeout", "2000",
		"--cluster-require-full-coverage", "no", "--cluster-allow-replica-migration", "no",
		"--appendonly", "yes", "--appendfsync", "everysec", "--save", "",
		"--maxmemory-policy", "noeviction", "--repl-diskless-sync-delay", "0",
	}, config.Args...)
	if host != nil {
		args = append(args, "--protected-mode", "no") // 127.0.0.1 alone would be let in
	}
	node := &RedisNode{Addr: net.JoinHostPort(ip(host), port)}
	if config.TLS != nil {
		args = append(append(args, "--tls-port", secure), config.TLS...)
		node.TLSAddr = net.JoinHostPort(ip(host), secure)
	}
	node.Process = NewProcess(own, path, args...)
	node.host = host
	return node, nil
}

// Start starts the server and waits until it answers.
func (n *RedisNode) Start() error {
	if err := n.Process.Start(); err != nil {
		return err
	}
	var ended error // instead of an answer
	err := waitFor(redisPatience, "a server answers", func() error {
		if !n.Running() {
			ended = fmt.Errorf("a server has ended; it wrote:\n%s", n.Output())
			return nil
		}
		_, err := n.Do("PING")
		return err
	})
	return errors.Join(ended, err)
}

// Do sends a command on a connection of its own and returns the answer as text, the elements of
// arrays on lines.
func (n *RedisNode) Do(args ...string) (string, error) {
	answers, err := n.Pipeline(args)
	return strings.Join(answers, ""), err
}

// Pipeline sends commands on one connection, such as a write and a WAIT, which counts the replicas
// that have the last write of its connection.
func (n *RedisNode) Pipeline(commands ...[]string) ([]string, error) {
	return call(n.host, n.Addr, 5*time.Second, commands...)
}

// form makes a cluster of servers that know nothing of each other.
func (c *RedisCluster) form() error {
	for _, step := range []func() error{c.start, c.deal, c.join} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// start starts the servers and waits until all answer.
func (c *RedisCluster) start() error {
	for _, n := range c.Nodes {
		if err := n.Process.Start(); err != nil {
			return err
		}
	}
	for _, n := range c.Nodes {
		if err := n.Start(); err != nil {
			return err
		}
	}
	return nil
}

// join makes replicas of all but the primaries, and waits until the cluster serves.
func (c *RedisCluster) join() error {
	for i, n := range c.Nodes[c.config.Primaries:] {
		of, err := c.Nodes[i/c.config.Replicas].Do("CLUSTER", "MYID")
		if err != nil {
			return err
		}
		err = waitFor(redisPatience, "a replica knows its primary", func() error {
			if _, err := n.Do("CLUSTER", "REPLICATE", of); err != nil {
				return errors.Join(err, c.meet())
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return c.Settled(redisPatience)
}

// meet introduces the nodes to the first one where one of both does not know the other. An
// introduction that is not answered within --cluster-node-timeout is given up by the node.
func (c *RedisCluster) meet() error {
	first := c.Nodes[0]
	host, port, err := net.SplitHostPort(first.Addr)
	if err != nil {
		return err
	}
	bus := first.args[3]
	met, err := first.Do("CLUSTER", "NODES")
	if err != nil {
		return err
	}
	for _, n := range c.Nodes[1:] {
		known, err := n.Do("CLUSTER", "NODES")
		if err != nil {
			return err
		}
		if strings.Contains(known, first.Addr+"@") && strings.Contains(met, n.Addr+"@") {
			continue
		}
		if _, err := n.Do("CLUSTER", "MEET", host, port, bus); err != nil {
			return fmt.Errorf("CLUSTER MEET: %w", err)
		}
	}
	return nil
}

// deal gives the slots to the primaries and makes all nodes known to each other.
func (c *RedisCluster) deal() error {
	const slots = 16384
	for i, n := range c.Nodes {
		commands := [][]string{{"CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i + 1)}}
		if p := c.config.Primaries; i < p {
			commands = append(commands, []string{"CLUSTER", "ADDSLOTSRANGE",
				strconv.Itoa(slots * i / p), strconv.Itoa(slots*(i+1)/p - 1)})
		}
		for _, command := range commands {
			if _, err := n.Do(command...); err != nil {
				return fmt.Errorf("%s: %w", strings.Join(command, " "), err)
			}
		}
	}
	return c.meet()
}

// Settled waits until every node that runs serves and knows the others and where each slot is, and
// all replicas are linked to a primary, which knows it too.
func (c *RedisCluster) Settled(timeout time.Duration) error {
	return waitFor(timeout, "a cluster settles", func() error {
		replicas, online := 0, 0
		for i, n := range c.Nodes {
			if !n.Running() {
				continue
			}
			info, err := n.Do("CLUSTER", "INFO")
			if err != nil {
				return err
			}
			for _, want := range []string{"cluster_state:ok\r", "cluster_slots_assigned:16384\r",
				fmt.Sprintf("cluster_known_nodes:%d\r", len(c.Nodes))} {
				if !strings.Contains(info, want) {
					return fmt.Errorf("node %d: %s", i, info)
				}
			}
			if info, err = n.Do("INFO", "replication"); err != nil {
				return err
			}
			switch roleIn(info) {
			case "primary":
				online += strings.Count(info, "state=online")
			case "replica":
				replicas++
			default:
				return fmt.Errorf("node %d is not linked to its primary", i)
			}
		}
		if online != replicas {
			return fmt.Errorf("%d of %d replicas are online to their primaries", online, replicas)
		}
		return nil
	})
}

// Role returns "primary", "replica", or "replica, not linked".
func (n *RedisNode) Role() (string, error) {
	info, err := n.Do("INFO", "replication")
	if err != nil {
		return "", err
	}
	return roleIn(info), nil
}

// roleIn is the role that INFO replication tells.
func roleIn(info string) string {
	switch {
	case strings.Contains(info, "role:master"):
		return "primary"
	case strings.Contains(info, "master_link_status:up"):
		return "replica"
	}
	return "replica, not linked"
}

// Addrs returns the addresses of all nodes.
func (c *RedisCluster) Addrs() []string {
	var addrs []string
	for _, n := range c.Nodes {
		addrs = append(addrs, n.Addr)
	}
	return addrs
}

// ReplicasOf returns the nodes that began as replicas of a primary.
func (c *RedisCluster) ReplicasOf(primary int) []*RedisNode {
	r, p := c.config.Replicas, c.config.Primaries
	return slices.Clone(c.Nodes[p+primary*r : p+(primary+1)*r])
}

// Remove ends all processes for good, and others may have their ports.
func (c *RedisCluster) Remove() {
	c.Kill()
	c.ports.end()
}

// Kill ends all processes.
func (c *RedisCluster) Kill() {
	for _, n := range c.Nodes {
		n.Kill()
	}
}

// ProcessorTime returns the processor time of all processes.
func (c *RedisCluster) ProcessorTime() (sum time.Duration) {
	for _, n := range c.Nodes {
		sum += n.ProcessorTime()
	}
	return sum
}

// waitFor repeats try until it succeeds, and gives up with its last error after a time.
func waitFor(timeout time.Duration, what string, try func() error) error {
	for end := time.Now().Add(timeout); ; time.Sleep(20 * time.Millisecond) {
		err := try()
		if err == nil {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("waited %v until %s: %w", timeout, what, err)
		}
	}
}
