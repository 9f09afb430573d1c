package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/gsimc/gsimc/store/internal/tcp"
)

// node is a server of the cluster.
type node struct {
	addr    string
	cluster *Cluster
	queue   queue
	taken   atomic.Int64 // calls that were admitted for it and have no outcome yet

	mu       sync.Mutex
	client   rueidis.Client // nil: not connected yet
	dialing  *dialling      // nil: nobody connects at present
	failed   error          // of the last attempt to connect, at failedAt
	failedAt time.Time
	closed   bool

	lanes   sync.Once
	looking sync.Mutex // held by look
	info    atomic.Pointer[Info]
	// candidates is the number of its replicas that the cluster knows of and does not take for
	// dead.
	candidates atomic.Int64
}

// dialling is an attempt to connect, which several may wait for.
type dialling struct {
	done   chan struct{}
	client rueidis.Client
	err    error
}

// Info is what a node last said of itself.
type Info struct {
	Addr    string
	Err     error // why it said nothing; the other fields are then as before
	Primary bool
	// Replicas are the replicas that are linked to it and have all of its data.
	Replicas int
	// Alone is since when a primary has no replica, zero if it has one; Bereft is set if it has had
	// one since it became a primary.
	Alone  time.Time
	Bereft bool
	// Looked is when the node said this.
	Looked time.Time
	// Memory is what it uses, and MaxMemory what it may use, in bytes; 0 without a limit.
	Memory, MaxMemory int64
}

// Timeouts of a connection: to be made, and for an answer where the call sets no time.
const (
	dialTimeout   = time.Second
	answerTimeout = 2 * time.Second
)

func newNode(c *Cluster, addr string) *node {
	n := &node{addr: addr, cluster: c}
	n.queue.filled.L = &n.queue.mu
	return n
}

// redialAfter is the time for which nobody tries to connect again after a failure.
const redialAfter = 50 * time.Millisecond

// connection returns the client of the node, whose connections are made when they are needed.
func (n *node) connection(ctx context.Context) (rueidis.Client, error) {
	n.mu.Lock()
	switch {
	case n.closed:
		n.mu.Unlock()
		return nil, unavailable("%s has left the cluster", n.addr)
	case n.client != nil:
		defer n.mu.Unlock()
		return n.client, nil
	case n.dialing == nil && time.Since(n.failedAt) < redialAfter:
		defer n.mu.Unlock()
		return nil, n.failed
	}
	if n.dialing == nil {
		n.dialing = &dialling{done: make(chan struct{})}
		go n.dial(n.dialing)
	}
	d := n.dialing
	n.mu.Unlock()
	select {
	case <-d.done:
		return d.client, d.err
	case <-ctx.Done():
		return nil, unavailable("connect to %s: %v", n.addr, ctx.Err())
	}
}

// dial connects.
func (n *node) dial(d *dialling) {
	o := &n.cluster.options
	option := rueidis.ClientOption{
		InitAddress: []string{n.addr}, ForceSingleClient: true, DisableRetry: true,
		DisableCache: true, ClientSetInfo: rueidis.DisableClientSetInfo,
		AuthCredentialsFn: o.credentials, DialCtxFn: o.dial,
		ConnWriteTimeout: answerTimeout, PipelineMultiplex: -1,
		ReadBufferEachConn: 64 << 10, WriteBufferEachConn: 64 << 10,
		Dialer: tcp.Dialer(answerTimeout),
	}
	option.Dialer.Timeout = dialTimeout
	client, err := rueidis.NewClient(option)
	n.mu.Lock()
	defer n.mu.Unlock()
	defer close(d.done)
	n.dialing = nil
	switch {
	case err != nil:
		d.err = n.unreachable("connect to", err)
		n.failed, n.failedAt = d.err, time.Now()
	case n.closed:
		client.Close()
		d.err = unavailable("%s has left the cluster", n.addr)
	default:
		d.client, n.client = client, client
	}
}

// credentials are those of a new connection.
func (o *Options) credentials(rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
	as := rueidis.AuthCredentials{Username: o.Username}
	if o.Password == nil {
		return as, nil
	}
	var err error
	as.Password, err = o.Password()
	return as, err
}

// dial makes a connection with the configuration of the moment.
func (o *Options) dial(
	ctx context.Context, addr string, d *net.Dialer, _ *tls.Config,
) (net.Conn, error) {
	var secure *tls.Config
	if o.TLS != nil {
		var err error
		if secure, err = o.TLS(); err != nil {
			return nil, err
		}
	}
	switch {
	case o.Dial != nil:
		return o.Dial(ctx, addr, d, secure)
	case secure != nil:
		return (&tls.Dialer{NetDialer: d, Config: secure}).DialContext(ctx, "tcp", addr)
	default:
		return d.DialContext(ctx, "tcp", addr)
	}
}

// unreachable is the error of something that a node does not let happen.
func (n *node) unreachable(doing string, err error) error {
	if refused := refusal(n.addr, err); refused != nil {
		return refused
	}
	return unavailable("%s %s: %v", doing, n.addr, advised(err))
}

// do sends commands over the connection that all share and returns the answers.
func (n *node) do(ctx context.Context, commands ...rueidis.Completed) ([]rueidis.RedisResult,
	error,
) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	client, err := n.connection(ctx)
	if err != nil {
		return nil, err
	}
	answers := client.DoMulti(ctx, commands...)
	for _, a := range answers {
		if err := a.NonRedisError(); err != nil && !errors.Is(err, rueidis.Nil) {
			return nil, n.unreachable("ask", err)
		}
	}
	return answers, nil
}

// command builds a command of words.
func command(words ...string) rueidis.Completed {
	return rueidis.Builder{}.Arbitrary(words...).Build()
}

// look asks the node about itself, unless that is being done.
func (n *node) look(ctx context.Context) {
	if !n.looking.TryLock() {
		return
	}
	defer n.looking.Unlock()
	info := Info{Addr: n.addr}
	if before := n.info.Load(); before != nil {
		info = *before
	}
	answers, err := n.do(ctx, command("INFO", "replication", "memory"))
	if err == nil {
		var text string
		if text, err = answers[0].ToString(); err == nil {
			before := info
			if before.stale() { // it may have been a replica meanwhile, which nobody looks at
				before = Info{}
			}
			info = parseInfo(n.addr, text)
			info.Looked = time.Now()
			info.noteAlone(&before)
		}
	}
	info.Err = err
	n.info.Store(&info)
}

func parseInfo(addr, text string) Info {
	info := Info{Addr: addr}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		number, _ := strconv.ParseInt(value, 10, 64)
		switch {
		case name == "role":
			info.Primary = value == "master"
		case name == "used_memory":
			info.Memory = number
		case name == "maxmemory":
			info.MaxMemory = number
		case strings.HasPrefix(name, "slave") && strings.Contains(value, "state=online"):
			info.Replicas++
		}
	}
	return info
}

// stale reports whether several looks have been missed.
func (i *Info) stale() bool { return time.Since(i.Looked) > 8*refreshEvery }

// noteAlone sets since when a primary is alone; before is what it said before.
func (i *Info) noteAlone(before *Info) {
	switch {
	case !i.Primary || i.Replicas > 0:
	case before.Alone.IsZero():
		i.Alone, i.Bereft = time.Now(), before.Primary && before.Replicas > 0
	default:
		i.Alone, i.Bereft = before.Alone, before.Bereft
	}
}

// Writes wait for the first replica of a primary. After a failover the replicas of the former one
// are linked anew, which takes some seconds: alonePatience. Where a primary has lost its replicas,
// or nobody is known who could be one, there is nothing to wait for but a link that broke, and a
// replica tries to link again each second: linkPatience.
const (
	alonePatience = 10 * time.Second
	linkPatience  = 2 * time.Second
)

// alone returns why writes are not even tried, or nil: nobody would acknowledge them.
func (n *node) alone() error {
	info, patience := n.info.Load(), alonePatience
	if info != nil && (info.Bereft || n.candidates.Load() == 0) {
		patience = linkPatience
	}
	if info == nil || info.Err != nil || info.stale() || info.Alone.IsZero() ||
		time.Since(info.Alone) < patience {
		return nil
	}
	return unavailable("0 replicas are linked to %s, want %d: no write is acknowledged until "+
		"there is one", n.addr, n.cluster.options.Replicas)
}

// replicas returns how many replicas WAIT is to ask for; false if it is not known yet.
func (n *node) replicas() (int, bool) {
	info := n.info.Load()
	if info == nil || info.Err != nil {
		return 0, false
	}
	return max(info.Replicas, 1), true
}

// close ends the lanes and the connections, and returns the calls that are left.
func (n *node) close() []*Call {
	left := n.queue.close()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	if n.client != nil {
		n.client.Close()
	}
	return left
}
