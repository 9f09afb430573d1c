package postgres_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/enginetest"
	"github.com/gsimc/gsimc/store"
)

// proxy passes connections on to a server and counts round trips: how often a client sends
// something after the server has.
type proxy struct {
	addr string

	mu sync.Mutex
	n  int
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l := check.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = l.Close() })
	p := &proxy{addr: l.Addr().String()}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				_ = client.Close()
				continue
			}
			p.pass(client, server)
		}
	}()
	return p
}

// goodbye is the message with which a client hangs up. Nobody waits for an answer to it.
const goodbye = "X\x00\x00\x00\x04"

// pass copies in both directions until one ends.
func (p *proxy) pass(client, server net.Conn) {
	asked := false // the last bytes were the client's; under p.mu
	go func() {
		_, _ = io.Copy(server, noting{client, func(b []byte) {
			p.mu.Lock()
			defer p.mu.Unlock()
			if string(b) == goodbye {
				return
			}
			if !asked {
				p.n++
			}
			asked = true
		}})
		_ = server.Close()
	}()
	go func() {
		_, _ = io.Copy(client, noting{server, func([]byte) {
			p.mu.Lock()
			defer p.mu.Unlock()
			asked = false
		}})
		_ = client.Close()
	}()
}

// noting calls a function before it passes on what was read.
type noting struct {
	io.Reader
	note func([]byte)
}

func (r noting) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if n > 0 {
		r.note(b[:n])
	}
	return n, err
}

// of returns how many round trips f makes.
func (p *proxy) of(f func() error) (int, error) {
	p.mu.Lock()
	p.n = 0
	p.mu.Unlock()
	err := f()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.n, err
}

// A call that has been made before on its connection is one round trip.
func TestRoundTrips(t *testing.T) {
	server := enginetest.SharedPostgres(t, true)
	p := newProxy(t, server.Primary.Addr)
	s := openAt(t, strings.Replace(server.URL("postgres"), server.Primary.Addr+","+
		server.Standby.Addr, p.addr, 1)+"&pool_max_conns=1&schema="+enginetest.Namespace())
	defer closeAll(t, s)
	ctx := context.Background()
	// The pool opens its connection for reads in the background, which takes round trips too. A
	// read waits for it.
	_, _, err := s.Item(ctx, "i")
	check.Must(t, err)
	round := 0
	records := func(users int) (all []store.Record) {
		round++
		for u := range users {
			all = append(all, store.Record{User: fmt.Sprint("user-", u), Event: store.Event{
				ID: fmt.Sprint("event-", round), Item: "i"}})
		}
		return all
	}
	var known store.Version
	nothing := func(store.Version, store.Event) error { return nil }
	for _, c := range []struct {
		name string
		call func() error
	}{
		{"Append of 1 event", func() error {
			r, err := s.Append(ctx, records(1))
			if err == nil {
				known = r[0].Version
			}
			return err
		}},
		{"Append of 500 events", func() error {
			_, err := s.Append(ctx, records(500))
			return err
		}},
		{"Since, warm", func() error {
			_, _, err := s.Since(ctx, "user-0", known, nothing)
			return err
		}},
		{"Since, cold", func() error {
			_, _, err := s.Since(ctx, "user-1", store.Version{}, nothing)
			return err
		}},
		{"Item", func() error {
			_, _, err := s.Item(ctx, "i")
			return err
		}},
	} {
		check.Must(t, c.call()) // prepares the statement
		check.Same(t, 1, check.Get(p.of(c.call))(t), "%s: round trips", c.name)
	}
}
