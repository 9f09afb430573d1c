package httpjson

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Bodies of those whom the server does not know are not read, and of large ones few are decoded at
// a time.
func TestBodiesAreDecodedWithinBounds(t *testing.T) {
	const room = 1 << 20
	begun, release := make(chan string, 8), make(chan struct{})
	b := newBodies(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		begun <- r.URL.Path
		<-release
	}), Limits{Body: room, Bodies: room, BodyTime: 20 * time.Second,
		Known: func(values []string) bool { return len(values) == 1 && values[0] == "known" }})
	s := httptest.NewServer(b)
	defer s.Close()
	answers := make(chan int, 8)
	post := func(path, who string, size int) {
		req, err := http.NewRequestWithContext(t.Context(), "POST", s.URL+path,
			strings.NewReader(strings.Repeat(" ", size)))
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set("Authorization", who)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body) // the status says all
		answers <- resp.StatusCode
	}
	post("/stranger", "stranger", 100_000)
	if got := <-answers; got != http.StatusUnauthorized {
		t.Errorf("a stranger: %d", got)
	}
	go post("/first", "known", 100_000) // becomes more than there is room for
	if got := <-begun; got != "/first" {
		t.Fatalf("%s was called", got)
	}
	go post("/second", "known", 100_000)
	go post("/third", "known", 100)
	select {
	case path := <-begun:
		t.Errorf("%s is decoded besides", path)
	case <-time.After(100 * time.Millisecond):
	}
	close(release)
	for range 3 {
		if got := <-answers; got != http.StatusOK {
			t.Errorf("an answer of %d", got)
		}
	}
	if len(begun) != 2 {
		t.Errorf("%d calls begun after the first, want 2", len(begun))
	}
}
