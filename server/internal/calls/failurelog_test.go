package calls

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

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/proctest"
)

var must, eventually = check.Must, check.Await

// Many calls that fail alike share a line in each interval, and every call is counted.
func TestFailuresAreLoggedQuietly(t *testing.T) {
	var logs proctest.Output
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
		must(t, json.Unmarshal([]byte(line), &entry))
		lines[entry.Method]++
		told[entry.Method] += 1 + entry.Suppressed
	}
	for method, want := range map[string]int{"/observe": callers * calls,
		"/other0": callers * calls / 2, "/other1": callers * calls / 2} {
		check.Same(t, want, told[method], "%s: calls that the log tells of", method)
		if lines[method] == 0 || lines[method] > intervals {
			t.Errorf("%s: %d lines in %d intervals", method, lines[method], intervals)
		}
	}
}
