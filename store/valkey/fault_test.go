package valkey_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"crypto/tls"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/enginetest"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/storetest"
	"github.com/gsimc/gsimc/store/valkey"
)

// pair returns a cluster of one primary and one replica, and two stores in it, as of two servers.
func pair(t *testing.T) (c *enginetest.RedisCluster, a, b *valkey.Store) {
	t.Helper()
	c = enginetest.Redis(t, enginetest.RedisConfig{Primaries: 1, Replicas: 1})
	o := valkey.Options{Addrs: c.Addrs(), Namespace: "n"}
	a, b = open(t, o), open(t, o)
	t.Cleanup(func() { _, _ = a.Close(), b.Close() })
	return c, a, b
}

func record(user string, i int) store.Record {
	return store.Record{User: user, Event: store.Event{ID: fmt.Sprint("e", i),
		Item: fmt.Sprint("i", i), Type: "view", Time: time.Unix(int64(i), 0), Value: 1}}
}

// mustAppend appends an event of a user.
func mustAppend(t *testing.T, s *valkey.Store, user string, i int) {
	t.Helper()
	check.Get(s.Append(t.Context(), []store.Record{record(user, i)}))(t)
}

// unchanging are calls that change nothing in a store with the first event of "u" and no user
// "gone", as those behind UserService.RetractEvents of an event that is not there.
func unchanging(s *valkey.Store) map[string]func(context.Context) error {
	appending := func(r store.Record) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := s.Append(ctx, []store.Record{r}) // a conflict is in the results
			return err
		}
	}
	other := record("u", 1)
	other.Event.Value = 2
	rewriting := func(user string, to []store.Event) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := s.Rewrite(ctx, []string{user},
				func([][]store.Event) [][]store.Event { return [][]store.Event{to} })
			return err
		}
	}
	return map[string]func(context.Context) error{
		"a retraction of nothing": rewriting("u", nil),
		"a retraction of nobody":  rewriting("gone", nil),
		"a rewriting of nobody":   rewriting("gone", []store.Event{}),
		"a duplicate":             appending(record("u", 1)), "a conflict": appending(other),
		"an erasure of nobody": func(ctx context.Context) error {
			_, err := s.Erase(ctx, "gone")
			return err
		},
	}
}

// within returns a context that ends after a time.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// Nothing is acknowledged while the only replica does not have it: neither a write, nor the answer
// that a write of another server is there already, which a failover would make untrue.
//
// WAIT is for the last write of its connection on Valkey and Redis 7.2, so an answer that writes
// nothing fails this there. On Redis 7.0 it is for the last command.
func TestAnswersWaitForReplicas(t *testing.T) {
	t.Parallel()
	c, a, b := pair(t)
	mustAppend(t, a, "gone", 1)
	replica := c.ReplicasOf(0)[0]
	check.Await(t, "the replica has acknowledged all", func() bool {
		info, err := c.Nodes[0].Do("INFO", "replication")
		_, offset, _ := strings.Cut(info, "master_repl_offset:")
		offset, _, _ = strings.Cut(offset, "\r")
		return err == nil && strings.Contains(info, ",offset="+offset+",")
	})
	replica.Pause()
	const short = 1500 * time.Millisecond // more than one WAIT
	_, err := a.Append(within(t, short), []store.Record{record("u", 1)})
	check.Fails(t, err, store.ErrUnavailable, "Append without a replica")
	_, err = a.Erase(within(t, short), "gone")
	check.Fails(t, err, store.ErrUnavailable, "Erase without a replica")
	// The primary has applied both, and only says so.
	head, _, err := b.Since(t.Context(), "u", store.Version{}, nil)
	if head.Revision != 1 || err != nil {
		t.Fatalf("the primary has %v, %v, want the event", head, err)
	}
	var asking sync.WaitGroup
	for what, ask := range unchanging(b) {
		asking.Go(func() {
			check.Fails(t, ask(within(t, short)),
				store.ErrUnavailable, "%s of what no replica has", what)
		})
	}
	asking.Wait()
	replica.Resume()
	results, err := b.Append(within(t, 20*time.Second), []store.Record{record("u", 1)})
	if err != nil || !results[0].Duplicate || results[0].Version != head {
		t.Errorf("the duplicate, with a replica: %+v, %v", results, err)
	}
}

// What a node was asked for while it hung, by callers who have given up, is not done when it goes
// on. So an event whose caller had no answer does not come after an erasure.
func TestLateWritesAreNotDone(t *testing.T) {
	t.Parallel()
	c, a, b := pair(t)
	for i := range 8 { // all lanes of a are connected
		mustAppend(t, a, "u", i)
	}
	primary := c.Nodes[0]
	primary.Pause()
	var asking sync.WaitGroup
	for i := range 8 {
		asking.Go(func() {
			_, err := a.Append(within(t, 700*time.Millisecond), []store.Record{record("u", 100+i)})
			check.Fails(t, err, store.ErrUnavailable, "Append to a node that hangs")
		})
	}
	asking.Wait()
	primary.Resume()
	for begun := time.Now(); time.Since(begun) < time.Second; time.Sleep(10 * time.Millisecond) {
		head, _, err := b.Since(t.Context(), "u", store.Version{}, nil)
		if err != nil || head.Revision != 8 {
			t.Fatalf("%d events, %v; want the 8 that were acknowledged", head.Revision, err)
		}
	}
}

// An answer that changes nothing is a write that reaches the replicas: in newer servers WAIT covers
// the writes of its own connection only, and the first write may have been made on another.
func TestAnswersAreWrites(t *testing.T) {
	soak.Only(t)
	t.Parallel()
	c, a, b := pair(t)
	written := func() int {
		t.Helper()
		stats := check.Get(c.ReplicasOf(0)[0].Do("INFO", "commandstats"))(t)
		n := 0
		for line := range strings.Lines(stats) {
			var calls int
			for _, form := range []string{"cmdstat_hset:calls=%d", "cmdstat_set:calls=%d"} {
				if _, err := fmt.Sscanf(line, form, &calls); err == nil {
					n += calls
				}
			}
		}
		return n
	}
	mustAppend(t, a, "u", 1)
	for what, ask := range unchanging(b) {
		before := written()
		check.Pass(t, ask(t.Context()), "%s", what)
		check.Same(t, before+1, written(), "%s: writes that the replica has seen", what)
	}
}

// A call that waits for the replicas of its primary goes on when they do, by itself.
func TestWriteWaitsForReplica(t *testing.T) {
	t.Parallel()
	c, a, b := pair(t)
	replica := c.ReplicasOf(0)[0]
	replica.Pause()
	done := make(chan error, 1)
	go func() {
		_, err := a.Append(within(t, time.Minute), []store.Record{record("u", 1)})
		done <- err
	}()
	check.Await(t, "the primary has the event", func() bool {
		head, _, err := b.Since(t.Context(), "u", store.Version{}, nil)
		return err == nil && head.Revision == 1
	})
	select {
	case err := <-done:
		t.Errorf("Append ends before the replica goes on: %v", err)
	default:
	}
	replica.Resume()
	check.Pass(t, <-done, "Append")
}

// Callers with a deadline beyond the failover notice nothing but the time it takes, and nothing
// that was acknowledged is lost.
func TestFailover(t *testing.T) {
	t.Parallel()
	c := enginetest.Redis(t, enginetest.RedisConfig{Primaries: 3, Replicas: 1})
	s := open(t, valkey.Options{Addrs: c.Addrs(), Namespace: "n"})
	defer s.Close()
	var written [8]atomic.Int64
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for w := range written {
		writers.Go(func() {
			for i := 1; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				results, err := s.Append(within(t, 20*time.Second),
					[]store.Record{record(fmt.Sprint("u", w), i)})
				if err != nil || results[0].Revision != uint64(i) || results[0].Duplicate {
					t.Errorf("writer %d: %+v, %v, want revision %d", w, results, err, i)
					return
				}
				written[w].Add(1)
			}
		})
	}
	moves := func() (n int64) {
		for w := range written {
			n += written[w].Load()
		}
		return n
	}
	check.Await(t, "events are written", func() bool { return moves() > 1000 })
	c.Nodes[0].Kill()
	start := time.Now()
	check.Await(t, "the replica takes over", func() bool {
		role, err := c.ReplicasOf(0)[0].Role()
		return err == nil && role == "primary"
	})
	check.Must(t, c.Nodes[0].Start()) // the new primary needs a replica
	check.Must(t, c.Settled(20*time.Second))
	var before [len(written)]int64
	for w := range written {
		before[w] = written[w].Load()
	}
	check.Await(t, "all writers go on", func() bool {
		for w := range written {
			if written[w].Load() < before[w]+10 {
				return false
			}
		}
		return true
	})
	t.Logf("%d events, all writers went on within %v", moves(), time.Since(start))
	close(stop)
	writers.Wait()
	for w := range written {
		user := fmt.Sprint("u", w)
		n := uint64(0)
		err := storetest.Read(t.Context(), s, user, 0, func(r uint64, e store.Event) error {
			if n = r; e.ID != fmt.Sprint("e", r) {
				return fmt.Errorf("revision %d is %s", r, e.ID)
			}
			return nil
		})
		if err != nil || n != uint64(written[w].Load()) {
			t.Errorf("%s: %d events, %v, want %d", user, n, err, written[w].Load())
		}
	}
}

// When a primary does not answer, its room fills; a call that finds no room is refused at once, and
// users of other primaries are served.
func TestRoomOfPrimary(t *testing.T) {
	t.Parallel()
	// One of two primaries is no majority: it would stop too when it takes the other for dead.
	c := enginetest.Redis(t, enginetest.RedisConfig{Primaries: 2,
		Args: []string{"--cluster-node-timeout", "60000"}})
	const room = 50
	s := open(t, valkey.Options{Addrs: c.Addrs(), Namespace: "n", NotDurable: true, Room: room})
	defer s.Close()
	users := map[string][]string{} // by the node that has them
	for i := range 1000 {
		user := fmt.Sprint("u", i)
		mustAppend(t, s, user, 1)
		key := fmt.Sprintf("{n:%s}h", user)
		for _, n := range c.Nodes {
			if got, err := n.Do("EXISTS", key); err == nil && got == "1" {
				users[n.Addr] = append(users[n.Addr], user)
			}
		}
	}
	away := c.Nodes[0]
	away.Pause()
	defer away.Resume()
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer cancel()
	refused := make(chan error, 2*room)
	for i := range 2 * room {
		waiting.Go(func() {
			_, err := s.Append(ctx, []store.Record{record(users[away.Addr][i], 2)})
			if ctx.Err() == nil {
				refused <- err
			}
		})
	}
	err := <-refused
	check.Fails(t, err, store.ErrUnavailable, "a call without room")
	if errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a call without room has waited: %v", err)
	}
	for _, user := range users[c.Nodes[1].Addr][:100] {
		mustAppend(t, s, user, 2)
	}
	t.Logf("Stats: %+v", check.Get(s.Stats(t.Context()))(t))
}

// cut is a connection whose next answer gets lost, with the connection, once it is armed.
type cut struct {
	net.Conn
	armed *atomic.Bool
}

func (c cut) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err == nil && c.armed.CompareAndSwap(true, false) {
		_ = c.Conn.Close()
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

// An answer that gets lost leaves the outcome open inside the store: it repeats the call, and tells
// its own write from that of another.
func TestLostAnswers(t *testing.T) {
	o := options(t)
	var armed atomic.Bool
	o.Dial = func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn,
		error,
	) {
		c, err := d.DialContext(ctx, "tcp", addr)
		return cut{c, &armed}, err
	}
	s, other := open(t, o), open(t, valkey.Options{Addrs: o.Addrs, Namespace: o.Namespace})
	defer other.Close()
	defer s.Close()
	lost := 0
	for i := 1; i <= 50; i++ {
		armed.Store(true) // an answer to a look-up may take the blow
		results, err := s.Append(t.Context(), []store.Record{record("u", i), record("u", i)})
		if err != nil || results[0].Revision != uint64(i) || results[0].Duplicate ||
			!results[1].Duplicate || (results[0].Before == 0) != (i == 1) {
			t.Fatalf("event %d: %+v, %v", i, results, err)
		}
		if !armed.Load() {
			lost++
		}
		results, err = other.Append(t.Context(), []store.Record{record("u", i)})
		if err != nil || !results[0].Duplicate {
			t.Fatalf("event %d by another server: %+v, %v", i, results, err)
		}
	}
	armed.Store(true)
	check.Same(t, uint64(50), check.Get(s.Erase(t.Context(), "u"))(t), "erased events")
	revision := check.Get(s.ItemsRevision(t.Context()))(t)
	armed.Store(true)
	check.Pass(t, s.PutItems(t.Context(), []store.Item{{ID: "i"}}), "PutItems")
	again := check.Get(s.ItemsRevision(t.Context()))(t)
	check.Same(t, revision+1, again, "the revision of the catalogue")
	t.Logf("%d of 50 answers were lost", lost)
}

// Functions that were removed from the nodes are loaded again.
func TestFunctionsAreLoadedAgain(t *testing.T) {
	t.Parallel()
	c, s, _ := pair(t)
	for i := range 3 {
		check.Get(c.Nodes[0].Do("FUNCTION", "FLUSH"))(t)
		if i == 1 {
			check.Get(storetest.Revision(t.Context(), s, "u"))(t)
			continue
		}
		mustAppend(t, s, "u", i)
	}
}

// A node that has reached its memory refuses events as a full disk does, and erases all the same.
func TestMemoryIsFull(t *testing.T) {
	t.Parallel()
	c, s, _ := pair(t)
	mustAppend(t, s, "u", 1)
	check.Get(c.Nodes[0].Do("CONFIG", "SET", "maxmemory", "1"))(t)
	_, err := s.Append(t.Context(), []store.Record{record("u", 2)})
	check.Fails(t, err, store.ErrFull, "Append")
	check.Same(t, uint64(1), check.Get(s.Erase(t.Context(), "u"))(t), "erased events")
	check.Get(c.Nodes[0].Do("CONFIG", "SET", "maxmemory", "0"))(t)
	mustAppend(t, s, "u", 2)
}
