package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/client"
	"github.com/gsimc/gsimc/internal/test/certtest"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/h2test"
)

const (
	recommendMethod = pb.RecommenderService_Recommend_FullMethodName
	batchMethod     = pb.EventService_BatchObserve_FullMethodName
)

// attacks are those of docs/security.md.
func attacks() []attack {
	return []attack{
		{name: "rapid reset", does: "ends each call; 32 of a connection at a time",
			run: overAndOver(func(c *h2test.Client) error {
				id := c.ID()
				return c.Write(func(f *http2.Framer) error {
					if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: id,
						BlockFragment: recommendHead, EndHeaders: true}); err != nil {
						return err
					}
					return f.WriteRSTStream(id, http2.ErrCodeCancel)
				})
			})},
		{name: "calls without a message", does: "ends each call", status: "13",
			run: overAndOver(func(c *h2test.Client) error {
				return c.Write(func(f *http2.Framer) error {
					return f.WriteHeaders(http2.HeadersFrameParam{StreamID: c.ID(),
						BlockFragment: recommendHead, EndHeaders: true, EndStream: true})
				})
			})},
		{name: "CONTINUATION flood", does: "closes the connection at 16 KiB of headers",
			run: continuations(bytes.Repeat([]byte{0, 1, 'x', 1, 'y'}, 3000))},
		{name: "empty CONTINUATION flood", does: "reads on", run: continuations(nil)},
		{name: "PING flood", does: "closes the connection: too many pings",
			run: overAndOver(func(c *h2test.Client) error {
				return c.Write(func(f *http2.Framer) error { return f.WritePing(false, [8]byte{}) })
			})},
		{name: "SETTINGS flood", does: "answers each, and waits while answers are not read",
			run: overAndOver(func(c *h2test.Client) error {
				return c.Write(func(f *http2.Framer) error {
					return f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1})
				})
			})},
		{name: "empty DATA flood", does: "reads on, until the call ends at its deadline",
			run: emptyData},
		{name: "oversized headers", does: "resets the call", run: overAndOver(oversizedHeaders)},
		{name: "answers that are not read", run: unreadAnswers,
			does: "closes connections with many"},
		{name: "one byte a moment", does: "ends the slowest calls when there are more than 64",
			run: slowMessages},
		{name: "idle connections", run: idleConnections,
			does: "keeps 4096 and closes the one that was silent for longest"},
		{name: "stopped handshakes", does: "closes them after 5 s", run: stoppedHandshakes(nil)},
		{name: "stopped TLS handshakes", tls: true, does: "closes them after 5 s",
			run: stoppedHandshakes([]byte{22, 3, 1, 2, 0, 1})},
		{name: "TLS handshakes, one after the other", tls: true, does: "answers them",
			run: tlsHandshakes},
		{name: "gzip bombs",
			does: "inflates up to the limit of a message: RESOURCE_EXHAUSTED",
			run:  overAndOver(gzipBomb())},
		{name: "messages of empty events", does: "refuses them undecoded: INVALID_ARGUMENT",
			status: "3", run: overAndOver(func(c *h2test.Client) error {
				id := c.Call(batchMethod, h2test.Timeout(30*time.Second))
				return finish(c, id, emptyEvents())
			})},
	}
}

// recommendHead is the header block of a call of Recommend.
var recommendHead = h2test.Head(recommendMethod)

// overAndOver does something on a connection until the server closes it, and then on another.
func overAndOver(what func(*h2test.Client) error) func(*assault) {
	return func(a *assault) {
		for !a.over() {
			c, err := h2test.TryDial(a.address)
			if err != nil {
				continue
			}
			stop := context.AfterFunc(a, c.Close) // a server that reads no more holds up the writing
			for !a.over() && what(c) == nil {
				a.sent.Add(1)
				if !a.answered.Load() && c.Answered() {
					a.answered.Store(true)
				}
			}
			stop()
			a.note(c)
			c.Close()
		}
	}
}

// continuations never ends the headers of a call.
func continuations(fragment []byte) func(*assault) {
	return overAndOver(func() func(c *h2test.Client) error {
		var mu sync.Mutex
		begun := map[*h2test.Client]uint32{}
		return func(c *h2test.Client) error {
			mu.Lock()
			id, ok := begun[c]
			if !ok {
				id = c.ID()
				begun[c] = id
			}
			mu.Unlock()
			return c.Write(func(f *http2.Framer) error {
				if !ok {
					return f.WriteHeaders(http2.HeadersFrameParam{StreamID: id,
						BlockFragment: recommendHead})
				}
				return f.WriteContinuation(id, false, fragment)
			})
		}
	}())
}

// emptyData sends frames without data for calls that are open.
func emptyData(a *assault) {
	for !a.over() {
		c, err := h2test.TryDial(a.address)
		if err != nil {
			continue
		}
		id := c.Call(recommendMethod)
		for !a.over() && !c.Ended(id) {
			for range 100 {
				_ = c.Write(func(f *http2.Framer) error { return f.WriteData(id, false, nil) })
				a.sent.Add(1)
			}
		}
		c.Close()
	}
}

func oversizedHeaders(c *h2test.Client) error {
	id := c.ID()
	block := h2test.Head(recommendMethod, hpack.HeaderField{Name: "x",
		Value: strings.Repeat("~", 1<<20)})
	return c.Write(func(f *http2.Framer) error {
		const frame = 16 << 10
		err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block[:frame]})
		for rest := block[frame:]; err == nil && len(rest) > 0; {
			n := min(frame, len(rest))
			err = f.WriteContinuation(id, n == len(rest), rest[:n])
			rest = rest[n:]
		}
		return err
	})
}

// largeList asks for all items.
func largeList() []byte {
	body, err := proto.Marshal(&pb.RecommendRequest{PageSize: 1000,
		Subject: &pb.RecommendRequest_UserId{UserId: "bad"}})
	if err != nil {
		panic(err) // a message without faults
	}
	return h2test.Message(len(body), body)
}

// unreadAnswers asks on many connections, with a window of nothing for the answers.
func unreadAnswers(a *assault) {
	message := largeList()
	var open []*h2test.Client
	defer func() { closeAll(open) }()
	for !a.over() && len(open) < a.conns/8 {
		c, err := h2test.TryDial(a.address,
			http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		if err != nil {
			continue
		}
		open = append(open, c)
		for range c.Streams {
			id := c.Call(recommendMethod)
			_ = c.Write(func(f *http2.Framer) error { return f.WriteData(id, true, message) })
			a.sent.Add(1)
		}
	}
	<-a.Done()
}

func closeAll(open []*h2test.Client) {
	for _, c := range open {
		c.Close()
	}
}

// slowMessages sends a byte of each of many messages at a time.
func slowMessages(a *assault) {
	var open []*h2test.Client
	defer func() { closeAll(open) }()
	calls := map[*h2test.Client][]uint32{}
	for range 8 {
		c, err := h2test.TryDial(a.address)
		if err != nil {
			continue
		}
		open = append(open, c)
		for range c.Streams {
			id := c.Call(recommendMethod, h2test.Timeout(time.Hour))
			calls[c] = append(calls[c], id)
			c.Send(id, 1<<20, []byte{1})
			a.sent.Add(1)
		}
	}
	for !a.over() {
		time.Sleep(100 * time.Millisecond)
		for _, c := range open {
			for i, id := range calls[c] {
				if !c.Ended(id) {
					_ = c.Write(func(f *http2.Framer) error { return f.WriteData(id, false, []byte{1}) })
					continue
				}
				again := c.Call(recommendMethod, h2test.Timeout(time.Hour))
				calls[c][i] = again
				c.Send(again, 1<<20, []byte{1})
				a.sent.Add(1)
			}
		}
	}
}

// idleConnections are opened and left.
func idleConnections(a *assault) {
	var open []*h2test.Client
	defer func() { closeAll(open) }()
	for !a.over() && len(open) < a.conns/2 {
		if c, err := h2test.TryDial(a.address); err == nil {
			open = append(open, c)
			a.sent.Add(1)
		}
	}
	<-a.Done()
}

// stoppedHandshakes sends the beginning of a handshake and no more.
func stoppedHandshakes(beginning []byte) func(*assault) {
	return func(a *assault) {
		var open []net.Conn
		defer func() {
			for _, c := range open {
				_ = c.Close()
			}
		}()
		for !a.over() && len(open) < a.conns/2 {
			c, err := net.Dial("tcp", a.address)
			if err != nil {
				continue
			}
			open = append(open, c)
			if _, err := c.Write(beginning); err == nil {
				a.sent.Add(1)
			}
		}
		<-a.Done()
	}
}

// tlsHandshakes costs the server a signature each.
func tlsHandshakes(a *assault) {
	dialer := &net.Dialer{Timeout: time.Second}
	for !a.over() {
		c, err := tls.DialWithDialer(dialer, "tcp", a.address, &tls.Config{
			InsecureSkipVerify: true, NextProtos: []string{"h2"}}) //nolint:gosec // an attacker
		if err == nil {
			a.sent.Add(1)
			_ = c.Close()
		}
	}
}

// gzipBomb sends messages that would be a thousand times as large.
func gzipBomb() func(*h2test.Client) error {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(make([]byte, 64<<20)) // into memory
	_ = w.Close()
	message := h2test.Message(packed.Len(), packed.Bytes())
	message[0] = 1 // compressed
	return func(c *h2test.Client) error {
		id := c.Call(recommendMethod, hpack.HeaderField{Name: "grpc-encoding", Value: "gzip"})
		return finish(c, id, message)
	}
}

// emptyEvents is a message of 4 MiB that would take a hundred times that if it were decoded.
var emptyEvents = sync.OnceValue(func() []byte {
	const size = 4 << 20 // the largest message that a server takes
	// An event of no bytes: the tag of BatchObserveRequest.events, and a length of 0.
	return h2test.Message(size, bytes.Repeat([]byte{1<<3 | 2, 0}, size/2))
})

// sendWithin sends data of a call as the windows of the server open, until the call ends.
func sendWithin(c *h2test.Client, id uint32, data []byte) error {
	for chunk := range slices.Chunk(data, 16<<10) {
		if c.Ended(id) {
			return nil
		}
		if err := c.SendWithin(id, chunk); err != nil {
			return err
		}
	}
	return nil
}

// finish sends the message of a call and the end of the request, without which a server waits for
// more, and waits until the call ends.
func finish(c *h2test.Client, id uint32, message []byte) error {
	if err := sendWithin(c, id, message); err != nil {
		return err
	}
	if !c.Ended(id) {
		if err := c.Write(func(f *http2.Framer) error { return f.WriteData(id, true, nil) }); err != nil {
			return err
		}
	}
	for !c.Ended(id) {
		select {
		case <-c.Closed:
			return io.EOF
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

// attackedCertificates are the flags of a server with TLS.
func attackedCertificates(t *testing.T) []string {
	t.Helper()
	dir, pair := t.TempDir(), certtest.NewAuthority(t).Issue(t, 1, time.Now().Add(time.Hour))
	return []string{"--tls-cert", certtest.Write(t, dir, "cert.pem", pair.Cert),
		"--tls-key", certtest.Write(t, dir, "key.pem", pair.Key)}
}

// clientTLS is client with TLS.
func (p *serverProcess) clientTLS(t testing.TB) grpc.ClientConnInterface {
	t.Helper()
	c, err := client.Dial(client.Options{Address: p.GRPC, Access: client.Access{
		TLS: &tls.Config{InsecureSkipVerify: true}}}) //nolint:gosec // the test made the certificate
	check.Must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c.Conn()
}
