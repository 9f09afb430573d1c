package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"testing"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/enginetest"
	"github.com/gsimc/gsimc/store/valkey"
)

// trips counts the round trips that call functions of a store: the times at which a connection goes
// from reading to writing a call. What a server does at intervals does not count: it looks the
// cluster up, and asks whether the catalogue has changed.
type trips struct {
	mu sync.Mutex
	n  int
}

func (c *trips) dial(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn,
	error,
) {
	conn, err := d.DialContext(ctx, "tcp", addr)
	return &countedConn{Conn: conn, trips: c}, err
}

// of returns how many round trips f makes.
func (c *trips) of(f func()) int {
	c.mu.Lock()
	c.n = 0
	c.mu.Unlock()
	f()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

type countedConn struct {
	net.Conn
	trips   *trips
	mu      sync.Mutex
	writing bool
}

func (c *countedConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	if !c.writing && bytes.Contains(p, []byte("FCALL")) &&
		!bytes.Contains(p, []byte("items_revision")) {
		c.trips.mu.Lock()
		c.trips.n++
		c.trips.mu.Unlock()
	}
	c.writing = true
	c.mu.Unlock()
	return c.Conn.Write(p)
}

func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	c.writing = false
	c.mu.Unlock()
	return n, err
}

// TestRoundTrips counts how often a server over a cluster waits for it: once for each call, and
// once for each primary where a call is for the users of several.
func TestRoundTrips(t *testing.T) {
	const primaries = 3
	counted := &trips{}
	o := valkey.Options{Addrs: enginetest.SharedRedis(t, primaries, 1).Addrs(),
		Namespace: enginetest.Namespace()}
	cold := start(t, setup{store: openValkey(t, o)})
	o.Dial = counted.dial
	st := openValkey(t, o)
	t.Cleanup(func() { _ = st.Close() })
	ts := start(t, setup{store: st, config: func(c *Config) {
		c.QualitySample = 0 // it reads the histories of users in the sample, in the background
	}})
	cold.observe(t, newEvent("ann", 1))
	var batch []*pb.Event
	for u := range 1000 {
		batch = append(batch, newEvent(fmt.Sprint("user-", u), u%testItems))
	}
	for _, c := range []struct {
		what string
		want int
		f    func()
	}{
		{"Recommend for a user who is not cached", 1, func() { ts.ask(t, forUser("ann")) }},
		{"Recommend for a user who is", 1, func() { ts.ask(t, forUser("ann")) }},
		{"Observe", 1, func() { ts.observe(t, newEvent("ann", 2)) }},
		{"Recommend for a user who has a new event", 1, func() { ts.ask(t, forUser("ann")) }},
		{"a batch of 1,000 events", primaries, func() {
			_, err := ts.events.BatchObserve(ctx(t), &pb.BatchObserveRequest{Events: batch})
			if err != nil {
				t.Error(err)
			}
		}},
	} {
		same(t, c.want, counted.of(c.f), "%s: round trips", c.what)
	}
}
