package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
)

// Many calls that fail alike share a line in each interval, and every call is counted.
func TestFailuresAreLoggedQuietly(t *testing.T) {
	var logs lockedBuffer
	l := newFailureLog(slog.New(slog.NewJSONHandler(&logs, nil)), slog.LevelError, "call failed",
		50*time.Millisecond)
	began := time.Now()
	const callers, calls = 4, 500
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for i := range calls {
				l.add("/observe", codes.ResourceExhausted, cause(errors.New("full")))
				l.add(fmt.Sprint("/other", i%2), codes.Internal, cause(errors.New("bug")))
				if i%50 == 0 {
					time.Sleep(10 * time.Millisecond)
				}
			}
		})
	}
	wg.Wait()
	eventually(t, "the counting ends", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.last) == 0
	})
	intervals := int(time.Since(began)/(50*time.Millisecond)) + 1
	lines, told := map[string]int{}, map[string]int{}
	for line := range strings.Lines(logs.String()) {
		var entry struct {
			Method     string `json:"grpc.method"`
			Suppressed int    `json:"suppressed"`
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatal(err)
		}
		lines[entry.Method]++
		told[entry.Method] += 1 + entry.Suppressed
	}
	for method, want := range map[string]int{"/observe": callers * calls,
		"/other0": callers * calls / 2, "/other1": callers * calls / 2} {
		if told[method] != want {
			t.Errorf("%s: the log tells of %d calls, want %d", method, told[method], want)
		}
		if lines[method] == 0 || lines[method] > intervals {
			t.Errorf("%s: %d lines in %d intervals", method, lines[method], intervals)
		}
	}
}

// Many slow calls share a line in each interval, which says how slow one of them was.
func TestSlowCallsAreLoggedQuietly(t *testing.T) {
	ts := start(t, setup{config: func(c *Config) { c.SlowRequest = time.Microsecond }})
	began := time.Now()
	const calls = 200
	for range calls {
		ts.ask(t, forUser("ann"))
	}
	most := int(time.Since(began)/failureInterval) + 1
	lines, told := 0, 0
	for line := range strings.Lines(ts.logs.String()) {
		var entry struct {
			Level, Msg string
			Took       float64 `json:"duration_ms"`
			User       string  `json:"user_hash"`
			Suppressed int     `json:"suppressed"`
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatal(err)
		}
		if entry.Msg != "slow call" {
			continue
		}
		lines++
		told += 1 + entry.Suppressed
		if entry.Level != "WARN" || entry.Took <= 0 || entry.User == "" {
			t.Errorf("a line about slow calls is %s", line)
		}
	}
	if lines == 0 || lines > most || told > calls {
		t.Errorf("%d lines about %d of %d slow calls, want 1 to %d", lines, told, calls, most)
	}
}
