package server

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// An answer that is read goes on for longer than the limit, and one that is not read ends.
func TestJSONAnswersInTime(t *testing.T) {
	const (
		limit = 500 * time.Millisecond
		parts = 8
	)
	part, ended := bytes.Repeat([]byte("x"), 1<<20), make(chan error, 1)
	s := httptest.NewServer(inTime(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slowly" {
			for range parts {
				time.Sleep(limit / 4)
				_, _ = w.Write(part[:10]) // the test reads how much there is
				w.(http.Flusher).Flush()
			}
			return
		}
		for {
			if _, err := w.Write(part); err != nil {
				ended <- err
				return
			}
		}
	}), limit))
	defer s.Close()
	began := time.Now()
	resp, err := http.Get(s.URL + "/slowly")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if took := time.Since(began); len(text) != 10*parts || err != nil || took < limit {
		t.Errorf("%d bytes in %v, %v; want %d in more than %v", len(text), took, err, 10*parts, limit)
	}
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET /endless HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("an answer that nobody reads goes on")
	}
}
