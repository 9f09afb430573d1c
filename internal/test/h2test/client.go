// Package h2test has a client that keeps to the framing of HTTP/2 and to nothing else, for tests of
// what a gRPC server withstands.
package h2test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Client is one connection. It reads and counts frames, and opens the windows of the connection as
// they are used, but not those of its calls.
type Client struct {
	// Closed is closed when the connection has ended.
	Closed chan struct{}
	// Streams and Headers are the server's SETTINGS_MAX_CONCURRENT_STREAMS and
	// SETTINGS_MAX_HEADER_LIST_SIZE.
	Streams, Headers uint32

	conn   net.Conn
	framer *http2.Framer
	next   uint32 // id of the next call

	mu       sync.Mutex // of the framer's writes too
	statuses map[uint32]string
	resets   map[uint32]bool
	goAways  int
	// What the server has room for: on the connection, of each call beside initial.
	window   int64
	windows  map[uint32]int64
	initial  uint32
	settings chan struct{}
}

// initialWindow is that of the protocol.
const initialWindow = 65535

// Dial connects and exchanges the prefaces, with these settings of the client. The connection ends
// with the test.
func Dial(t testing.TB, address string, settings ...http2.Setting) *Client {
	t.Helper()
	c, err := TryDial(address, settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// TryDial is [Dial] of a connection that the caller closes.
func TryDial(address string, settings ...http2.Setting) (*Client, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	c := &Client{conn: conn, framer: http2.NewFramer(conn, conn), next: 1,
		Closed: make(chan struct{}), statuses: map[uint32]string{}, resets: map[uint32]bool{},
		window: initialWindow, windows: map[uint32]int64{}, initial: initialWindow,
		settings: make(chan struct{})}
	c.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if _, err = conn.Write([]byte(http2.ClientPreface)); err == nil {
		err = c.Write(func(f *http2.Framer) error { return f.WriteSettings(settings...) })
	}
	go c.read()
	if err == nil {
		select {
		case <-c.settings:
			return c, nil
		case <-c.Closed:
			err = errors.New("the server closed a new connection")
		case <-time.After(10 * time.Second):
			err = errors.New("the server does not answer a new connection")
		}
	}
	c.Close()
	return nil, err
}

// Close ends the connection.
func (c *Client) Close() { _ = c.conn.Close() }

// Write writes frames. An error means that the server has closed the connection.
func (c *Client) Write(frames func(*http2.Framer) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return frames(c.framer)
}

func (c *Client) read() {
	defer close(c.Closed)
	for {
		frame, err := c.framer.ReadFrame()
		if err != nil {
			return
		}
		c.take(frame)
	}
}

func (c *Client) take(frame http2.Frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch f := frame.(type) {
	case *http2.SettingsFrame:
		if f.IsAck() {
			return
		}
		c.Streams, _ = f.Value(http2.SettingMaxConcurrentStreams)
		c.Headers, _ = f.Value(http2.SettingMaxHeaderListSize)
		if w, ok := f.Value(http2.SettingInitialWindowSize); ok {
			c.initial = w
		}
		_ = c.framer.WriteSettingsAck()
		select {
		case <-c.settings: // the server may change its settings
		default:
			close(c.settings)
		}
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
	case *http2.WindowUpdateFrame:
		if f.StreamID == 0 {
			c.window += int64(f.Increment)
		} else {
			c.windows[f.StreamID] += int64(f.Increment)
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

// Head is the header block of a call.
func Head(method string, more ...hpack.HeaderField) []byte {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	encoder.SetMaxDynamicTableSize(0) // so that blocks may be sent in any order
	for _, h := range append([]hpack.HeaderField{
		{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "http"},
		{Name: ":path", Value: method}, {Name: ":authority", Value: "test"},
		{Name: "content-type", Value: "application/grpc"}, {Name: "te", Value: "trailers"},
	}, more...) {
		_ = encoder.WriteField(h) // into memory
	}
	return block.Bytes()
}

// Call sends the headers of a call and returns its id.
func (c *Client) Call(method string, more ...hpack.HeaderField) uint32 {
	id := c.ID()
	_ = c.Write(func(f *http2.Framer) error {
		return f.WriteHeaders(http2.HeadersFrameParam{StreamID: id,
			BlockFragment: Head(method, more...), EndHeaders: true})
	})
	return id
}

// ID returns the id of the next call.
func (c *Client) ID() uint32 {
	id := c.next
	c.next += 2
	return id
}

// Send sends a part of a message: announced is its whole length.
func (c *Client) Send(id uint32, announced int, body []byte) {
	message := Message(announced, body)
	_ = c.Write(func(f *http2.Framer) error { return f.WriteData(id, false, message) })
}

// SendWithin sends data of a call as the server's windows allow. It returns early if the call ends,
// and an error if the connection has ended.
func (c *Client) SendWithin(id uint32, data []byte) error {
	for {
		c.mu.Lock()
		w, own := c.window, c.windows[id]
		fits := int64(len(data)) <= min(w, own+int64(c.initial))
		ended := c.statuses[id] != "" || c.resets[id]
		if fits && !ended {
			c.window -= int64(len(data))
			c.windows[id] -= int64(len(data))
			err := c.framer.WriteData(id, false, data)
			c.mu.Unlock()
			return err
		}
		c.mu.Unlock()
		if ended {
			return nil
		}
		select {
		case <-c.Closed:
			return io.EOF
		case <-time.After(time.Millisecond):
		}
	}
}

// Message is a part of a message with its prefix, uncompressed: announced is its whole length.
func Message(announced int, body []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(announced)), body...)
}

// Status returns the status of a call, empty while there is none.
func (c *Client) Status(id uint32) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.statuses[id]
}

// Ended reports whether the server has ended a call.
func (c *Client) Ended(id uint32) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.statuses[id] != "" || c.resets[id]
}

// Answered reports whether a call has ended.
func (c *Client) Answered() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.statuses) > 0
}

// StatusCounts counts the calls that have ended by status.
func (c *Client) StatusCounts() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := map[string]int{}
	for _, s := range c.statuses {
		n[s]++
	}
	return n
}

// GoAways counts how often the server has asked the client to connect anew.
func (c *Client) GoAways() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.goAways
}

// Timeout is the header of a deadline.
func Timeout(d time.Duration) hpack.HeaderField {
	return hpack.HeaderField{Name: "grpc-timeout",
		Value: strconv.FormatInt(d.Milliseconds(), 10) + "m"}
}
