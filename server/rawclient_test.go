package server

import (
	"bytes"
	"encoding/binary"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// rawClient is a client that keeps to HTTP/2 and to nothing else. It reads and counts frames, and
// opens the windows of the connection as they are used, but not those of its calls.
type rawClient struct {
	t      testing.TB
	conn   net.Conn
	framer *http2.Framer
	next   uint32 // id of the next call
	closed chan struct{}

	mu       sync.Mutex // of the framer's writes too
	statuses map[uint32]string
	resets   map[uint32]bool
	goAways  int
	streams  uint32 // the server's SETTINGS_MAX_CONCURRENT_STREAMS
	headers  uint32 // the server's SETTINGS_MAX_HEADER_LIST_SIZE
	settings chan struct{}
}

// dialRaw connects and exchanges the prefaces.
func dialRaw(t testing.TB, address string) *rawClient {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	c := &rawClient{t: t, conn: conn, framer: http2.NewFramer(conn, conn), next: 1,
		closed: make(chan struct{}), statuses: map[uint32]string{},
		resets:   map[uint32]bool{},
		settings: make(chan struct{})}
	c.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if _, err := conn.Write([]byte(http2.ClientPreface)); err != nil {
		t.Fatal(err)
	}
	c.write(func() error { return c.framer.WriteSettings() })
	go c.read()
	select {
	case <-c.settings:
	case <-c.closed:
		t.Fatal("the server closed a new connection")
	case <-time.After(10 * time.Second):
		t.Fatal("the server does not answer a new connection")
	}
	return c
}

// write writes frames; an error means that the server has closed the connection.
func (c *rawClient) write(frames func() error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = frames()
}

func (c *rawClient) read() {
	defer close(c.closed)
	for {
		frame, err := c.framer.ReadFrame()
		if err != nil {
			return
		}
		c.take(frame)
	}
}

func (c *rawClient) take(frame http2.Frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch f := frame.(type) {
	case *http2.SettingsFrame:
		if f.IsAck() {
			return
		}
		c.streams, _ = f.Value(http2.SettingMaxConcurrentStreams)
		c.headers, _ = f.Value(http2.SettingMaxHeaderListSize)
		_ = c.framer.WriteSettingsAck()
		close(c.settings)
	case *http2.DataFrame:
		if n := uint32(len(f.Data())); n > 0 {
			_ = c.framer.WriteWindowUpdate(0, n)
		}
	case *http2.MetaHeadersFrame:
		for _, h := range f.Fields {
			if h.Name == "grpc-status" {
				c.statuses[f.StreamID] = h.Value
			}
		}
	case *http2.RSTStreamFrame:
		c.resets[f.StreamID] = true
	case *http2.PingFrame:
		if !f.IsAck() {
			_ = c.framer.WritePing(true, f.Data)
		}
	case *http2.GoAwayFrame:
		c.goAways++
	}
}

// call sends the headers of a call and returns its id.
func (c *rawClient) call(method string, more ...hpack.HeaderField) uint32 {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, h := range append([]hpack.HeaderField{
		{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "http"},
		{Name: ":path", Value: method}, {Name: ":authority", Value: "test"},
		{Name: "content-type", Value: "application/grpc"}, {Name: "te", Value: "trailers"},
	}, more...) {
		_ = encoder.WriteField(h) // into memory
	}
	id := c.next
	c.next += 2
	c.write(func() error {
		return c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id,
			BlockFragment: block.Bytes(), EndHeaders: true})
	})
	return id
}

// send sends a part of a message: announced is its whole length.
func (c *rawClient) send(id uint32, announced int, body []byte) {
	head := binary.BigEndian.AppendUint32([]byte{0}, uint32(announced))
	c.write(func() error { return c.framer.WriteData(id, false, append(head, body...)) })
}

// status returns the status of a call, empty while there is none.
func (c *rawClient) status(id uint32) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.statuses[id]
}

// ended reports whether the server has ended a call.
func (c *rawClient) ended(id uint32) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.statuses[id] != "" || c.resets[id]
}

// statusCounts counts the calls that have ended by status.
func (c *rawClient) statusCounts() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := map[string]int{}
	for _, s := range c.statuses {
		n[s]++
	}
	return n
}

// timeout is the header of a deadline.
func timeout(d time.Duration) hpack.HeaderField {
	return hpack.HeaderField{Name: "grpc-timeout",
		Value: strconv.FormatInt(d.Milliseconds(), 10) + "m"}
}
