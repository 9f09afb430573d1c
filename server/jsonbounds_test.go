package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/server/internal/doors"
)

// rawJSON is a connection to the JSON side on which text is written, which need not be a request.
type rawJSON struct {
	*net.TCPConn
	answers *bufio.Reader
}

// rawly connects and writes a text.
func (c *jsonClient) rawly(text string) *rawJSON {
	c.t.Helper()
	conn := check.Get(net.Dial("tcp", strings.TrimPrefix(c.base, "http://")))(c.t)
	c.t.Cleanup(func() { _ = conn.Close() })
	raw := &rawJSON{conn.(*net.TCPConn), bufio.NewReader(conn)}
	if err := raw.SetReadBuffer(1); err != nil { // a client that does not read has read little
		c.t.Fatal(err)
	}
	check.Must(c.t, check.Err(io.WriteString(conn, text)))
	return raw
}

// posting is the head of a request with a body of so many bytes.
func posting(path string, bytes int) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", path,
		bytes)
}

// status is that of the next answer.
func (r *rawJSON) status(t *testing.T) int {
	t.Helper()
	_ = r.SetReadDeadline(time.Now().Add(20 * time.Second)) // a socket has deadlines
	resp, err := http.ReadResponse(r.answers, nil)
	must(t, err)
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body) // the next answer follows it
	return resp.StatusCode
}

// Those whom the server does not know are refused by their headers: nobody waits for their bodies.
func TestJSONStrangersAreNotRead(t *testing.T) {
	_, line, err := doors.NewToken("shop", "recommend")
	must(t, err)
	file := t.TempDir() + "/tokens"
	must(t, os.WriteFile(file, []byte(line+"\n"), 0o600))
	_, c := startJSON(t, setup{config: func(c *Config) { c.TokenFile = file }})
	for path, want := range map[string]int{"/v1/recommend": http.StatusUnauthorized,
		"/v1/nothing": http.StatusNotFound, "/v1/recommend?x=1": http.StatusBadRequest} {
		for _, size := range []int{1 << 10, 1 << 20} {
			raw := c.rawly(posting(path, size))
			same(t, want, raw.status(t), "%s: HTTP status", path)
			if _, err := raw.answers.ReadByte(); err != io.EOF {
				t.Errorf("%s: the connection goes on: %v", path, err)
			}
		}
	}
}

// A body goes with a POST only: others would hold its room until the answer is read.
func TestJSONBodiesGoWithPosts(t *testing.T) {
	ts, c := startJSON(t, setup{})
	ts.written(t, "ann", 1)
	for _, call := range []string{"GET /v1/users/ann", "DELETE /v1/users/ann"} {
		method, path, _ := strings.Cut(call, " ")
		c.refused(method, path, "{}", http.StatusBadRequest, "INVALID_ARGUMENT")
	}
}

// Answers that are not read end their connections, after a time and beyond a size.
func TestJSONUnreadAnswers(t *testing.T) {
	const subject = `{"userId": "ann"}`
	batch := `{"pageSize": 100, "subjects": [` + strings.Repeat(subject+",", 999) + subject + `]}`
	for name, set := range map[string]func(*bounds){
		"time": func(b *bounds) { b.sendTimeout = 300 * time.Millisecond },
		"size": func(b *bounds) { b.maxUnreadSize = 1 << 20 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ts, c := startJSON(t, setup{bounds: set})
			for range 3 { // answers for as many requests as the buffers of the kernel have room for
				c.rawly(strings.Repeat(posting("/v1/recommend:batch", len(batch))+batch, 5))
			}
			eventually(t, "their connections are closed", func() bool {
				return value1(t, ts, "gsimc_connections_unread_total") >= 2
			})
			if code, text := c.do("POST", "/v1/recommend", subject); code != http.StatusOK {
				t.Errorf("another client: %d %s", code, text)
			}
		})
	}
}

// Large bodies that stall make room for other large ones, and small ones never wait.
func TestJSONBodiesMakeRoom(t *testing.T) {
	const size, sent = 1 << 20, 1<<18 + 1
	_, c := startJSON(t, setup{bounds: func(b *bounds) { b.maxBodies = 2 << 20 }})
	var stalled []*rawJSON
	for range 4 { // each takes half of the room
		stalled = append(stalled, c.rawly(posting("/v1/recommend", size)+strings.Repeat(" ", sent)))
	}
	const list = `{"userId": "ann"}`
	if code, text := c.do("POST", "/v1/recommend", list); code != http.StatusOK {
		t.Errorf("a small body: %d %s", code, text)
	}
	eventually(t, "there is room for a large body", func() bool {
		code, _ := c.do("POST", "/v1/recommend", strings.Repeat(" ", size)+list)
		return code == http.StatusOK
	})
	// Which of them the server took first is its own: TestBodiesMakeRoom has the order.
	for _, raw := range stalled {
		if raw.status(t) == http.StatusTooManyRequests {
			return
		}
	}
	t.Error("no stalled body was told that it made room")
}

// What follows a body in chunks is read by nobody: a proxy may take it for the body, by a
// Content-Length beside.
func TestJSONRequestsAreNotSmuggled(t *testing.T) {
	ts, c := startJSON(t, setup{})
	ts.written(t, "ann", 1)
	const hidden = "DELETE /v1/users/ann HTTP/1.1\r\nHost: localhost\r\n\r\n"
	for _, open := range []string{"POST /v1/recommend HTTP/1.1", "GET /v1/none HTTP/1.1",
		"POST /v1/recommend HTTP/1.1\r\nOrigin: https://other.example"} {
		raw := c.rawly(fmt.Sprintf("%s\r\nHost: localhost\r\n"+
			"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n%s", open,
			len("0\r\n\r\n"+hidden), hidden))
		raw.status(t)
		if rest, _ := io.ReadAll(raw.answers); len(rest) > 0 {
			t.Errorf("%q: a second answer: %q", open, rest)
		}
	}
	if code, text := c.do("GET", "/v1/users/ann", ""); code != http.StatusOK {
		t.Errorf("the user is gone: %d %s", code, text)
	}
}

// Nobody on the way keeps an answer, or takes it for a page.
func TestJSONHeaders(t *testing.T) {
	_, c := startJSON(t, setup{})
	for _, path := range []string{"/v1/users/ann/recommendations", "/v1/users/nobody", "/v1/none"} {
		resp, err := http.Get(c.base + path)
		must(t, err)
		resp.Body.Close()
		if h := resp.Header; h.Get("Cache-Control") != "no-store" ||
			h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, h)
		}
	}
}
