package server

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/gsimc/gsimc/server/internal/calls"
)

// Many slow calls share a line in each interval, which says how slow one of them was.
func TestSlowCallsAreLoggedQuietly(t *testing.T) {
	ts := start(t, setup{config: func(c *Config) { c.SlowRequest = time.Microsecond }})
	began := time.Now()
	const asked = 200
	for range asked {
		ts.ask(t, forUser("ann"))
	}
	most := int(time.Since(began)/calls.FailureInterval) + 1
	lines, told := 0, 0
	for line := range strings.Lines(ts.logs.String()) {
		var entry struct {
			Level, Msg string
			Took       float64 `json:"duration_ms"`
			User       string  `json:"user_hash"`
			Suppressed int     `json:"suppressed"`
		}
		must(t, json.Unmarshal([]byte(line), &entry))
		if entry.Msg != "slow call" {
			continue
		}
		lines++
		told += 1 + entry.Suppressed
		if entry.Level != "WARN" || entry.Took <= 0 || entry.User == "" {
			t.Errorf("a line about slow calls is %s", line)
		}
	}
	if lines == 0 || lines > most || told > asked {
		t.Errorf("%d lines about %d of %d slow calls, want 1 to %d", lines, told, asked, most)
	}
}
