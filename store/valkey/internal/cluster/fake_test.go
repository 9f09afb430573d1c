package cluster

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store"
)

// A fake is a cluster of one primary and one replica that answers what a test tells it to.
type fake struct {
	// perSlot is the number of keys in each slot. The address of the primary is addr, or "h:1", and
	// it says that its host is host.
	perSlot    int
	host, addr string
	// call answers the calls of functions that come in time, and wait says how many replicas have
	// acknowledged.
	call, wait func() string
	// load answers FUNCTION LOAD; nil: it is done.
	load func() string
	// hang takes the time that the node hangs when it gets a call; nil: none.
	hang func()
	// ahead is how far its clock is ahead, in nanoseconds.
	ahead atomic.Int64
}

// now is the time of the node.
func (f *fake) now() time.Time { return time.Now().Add(time.Duration(f.ahead.Load())) }

// open opens a cluster that is a fake. It is for use within synctest.
func (f *fake) open(t *testing.T) *Cluster {
	t.Helper()
	var running sync.WaitGroup
	dial := func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
		client, server := net.Pipe()
		running.Go(func() { f.serve(server) })
		return client, nil
	}
	c, err := Open(t.Context(), Options{Addrs: []string{cmp.Or(f.addr, "h:1")}, Room: 100, Dial: dial})
	check.Must(t, err)
	t.Cleanup(func() {
		_ = c.Close()
		running.Wait()
	})
	return c
}

// serve answers the commands of a connection. Clients send many before they read an answer.
func (f *fake) serve(c net.Conn) {
	defer c.Close()
	answers := make(chan string, 4*slotsAtOnce)
	defer close(answers)
	go func() {
		for text := range answers {
			_, _ = io.WriteString(c, text) // the reader learns that the connection has gone
		}
	}()
	for r := bufio.NewReader(c); ; {
		words, err := readCommand(r)
		if err != nil {
			return
		}
		answers <- f.answer(words)
	}
}

func readCommand(r *bufio.Reader) ([]string, error) {
	number := func() (int, error) {
		line, err := r.ReadString('\n')
		if err != nil {
			return 0, err
		}
		return strconv.Atoi(strings.TrimSpace(line[1:]))
	}
	n, err := number()
	words := make([]string, n)
	for i := range words {
		size, e := number()
		text := make([]byte, size+2)
		_, e2 := io.ReadFull(r, text)
		words[i], err = string(text[:size]), errors.Join(err, e, e2)
	}
	return words, err
}

func bulk(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }

func (f *fake) answer(words []string) string {
	switch name := strings.Join(words[:min(2, len(words))], " "); {
	case words[0] == "HELLO":
		return "%2\r\n+version\r\n+7.2.0\r\n+proto\r\n:3\r\n"
	case name == "CLUSTER SLOTS":
		return "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n" + bulk(f.host) + ":1\r\n"
	case name == "CLUSTER NODES":
		return bulk("id h:1 myself,master - 0 0 1 connected 0-16383\n")
	case name == "CLUSTER GETKEYSINSLOT":
		return fmt.Sprintf("*%d\r\n%s", f.perSlot, strings.Repeat(bulk(words[2]), f.perSlot))
	case words[0] == "INFO":
		return bulk("role:master\r\nslave0:state=online\r\n")
	case words[0] == "TIME":
		now := f.now().UnixMicro()
		return "*2\r\n" + bulk(strconv.FormatInt(now/1e6, 10)) +
			bulk(strconv.FormatInt(now%1e6, 10))
	case words[0] == "FCALL":
		if f.hang != nil {
			f.hang()
		}
		if until, _ := strconv.ParseInt(words[len(words)-1], 10, 64); f.now().UnixMilli() >= until {
			return "-LATE\r\n"
		}
		return f.call()
	case words[0] == "WAIT":
		return f.wait()
	case name == "FUNCTION LOAD" && f.load != nil:
		return f.load()
	default:
		return "+OK\r\n"
	}
}

// next returns each time the next of some texts, and in the end the last one again.
func next(texts ...string) func() string {
	var mu sync.Mutex
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		text := texts[0]
		texts = texts[min(1, len(texts)-1):]
		return text
	}
}

// A failover while a store is opened does not end the start.
func TestLoadDuringFailover(t *testing.T) {
	for answer, refused := range map[string]bool{
		"+gsimc\r\n": false, "-ERR Library 'gsimc' already exists\r\n": false,
		"-READONLY You can't write against a read only replica.\r\n": false,
		"-NOPERM User gsimc has no permissions\r\n":                  true,
	} {
		synctest.Test(t, func(t *testing.T) {
			c := (&fake{host: "h", load: next(answer)}).open(t)
			if err := c.Load(t.Context()); (err != nil) != refused {
				t.Errorf("%q: %v, refused: want %v", answer, err, refused)
			}
		})
	}
}

// Without a deadline, a walk over all keys takes as long as the work with them: only the answers
// have a time.
func TestEachKeysTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := (&fake{perSlot: 1, host: "h"}).open(t)
		keys := 0
		err := c.EachKeys(t.Context(), func(part []string) error {
			if keys += len(part); keys == len(part) {
				time.Sleep(2 * patience)
			}
			return nil
		})
		if err != nil || keys != Slots {
			t.Errorf("%d keys, %v; want one of each slot", keys, err)
		}
	})
}

// An error that says that a write was not applied is the outcome of a first attempt only: one
// before may have been applied.
func TestOutcomesAfterOpenAttempts(t *testing.T) {
	const full = "-OOM command not allowed when used memory > 'maxmemory'.\r\n"
	for name, test := range map[string]struct {
		f    *fake
		want error
	}{
		"refused": {&fake{call: next(full), wait: next(":1\r\n")}, store.ErrFull},
		"refused after a wait without replicas": {
			&fake{call: next(":1\r\n", full), wait: next(":0\r\n", ":1\r\n")}, store.ErrUnavailable},
		"refused after a redirection": {
			&fake{call: next("-TRYAGAIN\r\n", full), wait: next(":1\r\n")}, store.ErrFull},
		"malformed redirections": {
			&fake{call: next("-MOVED\r\n", "-ASK\r\n", "-ASK 1 :1\r\n", "-MOVED 1 \r\n"),
				wait: next(":1\r\n")},
			store.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				call := &Call{Function: "f", Keys: []string{"k"}}
				test.f.open(t).Write(t.Context(), call)
				if !errors.Is(call.Err, test.want) ||
					test.want != store.ErrFull && errors.Is(call.Err, store.ErrFull) {
					t.Errorf("%v, want %v", call.Err, test.want)
				}
			})
		})
	}
}

// The keys that are asked for at once are bounded, however many users a cluster has.
func TestEachKeysBoundsParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := (&fake{perSlot: 7000, host: "h"}).open(t)
		enough, parts := errors.New("enough"), 0
		err := c.EachKeys(t.Context(), func(part []string) error {
			if parts++; parts == 5 {
				return enough
			}
			if parts > 2 && len(part) > keysAtOnce {
				t.Errorf("part %d has %d keys", parts, len(part))
			}
			return nil
		})
		check.Fails(t, err, enough, "EachKeys")
	})
}

// A node that does not tell its host is at that of the node that was asked.
func TestNodesWithoutHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, addr := range []string{"h:1", "[::1]:1"} {
			f := &fake{addr: addr}
			check.Same(t, addr, f.open(t).primaries()[0].addr, "the primary is at")
		}
	})
}
