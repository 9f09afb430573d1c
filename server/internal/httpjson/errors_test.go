package httpjson

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/server/internal/outcome"
)

// A stream that fails at once is answered as any other call; one that breaks off has a line that is
// no message.
func TestErrorsOfStreams(t *testing.T) {
	c, h := door(t)
	full := outcome.New(codes.ResourceExhausted, "OVERLOADED", "full", 2*time.Second).Err()
	ask := func(messages int, err error) (*httptest.ResponseRecorder, []string) {
		c.messages, c.err = messages, err
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/v1/users/ann/export", nil))
		return w, strings.SplitAfter(strings.TrimSpace(w.Body.String()), "\n")
	}
	w, lines := ask(0, full)
	check.Same(t, 429, w.Code, "at once")
	check.Same(t, "2", w.Header().Get("Retry-After"), "at once")
	check.Same(t, "application/json", w.Header().Get("Content-Type"), "at once")
	if len(lines) != 1 || !strings.HasPrefix(lines[0], `{"code":8,`) ||
		!strings.Contains(lines[0], `"OVERLOADED"`) {
		t.Errorf("at once: %q", lines)
	}
	w, lines = ask(2, full)
	check.Same(t, 200, w.Code, "later")
	check.Same(t, "application/x-ndjson", w.Header().Get("Content-Type"), "later")
	if len(lines) != 3 || !strings.HasPrefix(lines[2], `{"error":{"code":8,`) {
		t.Errorf("later: %q", lines)
	}
	for messages := range 2 { // an error that is none of the server has a reason, too
		if _, lines = ask(messages, status.Error(codes.Unavailable, "gone")); !strings.Contains(
			lines[messages], `"reason":"UNAVAILABLE"`) {
			t.Errorf("without details behind %d: %q", messages, lines)
		}
	}
}
