package server

import (
	"log/slog"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// The level of the log changes while calls run, and no level hides the change.
func TestSetLogLevel(t *testing.T) {
	level, logs := &slog.LevelVar{}, &lockedBuffer{}
	ts := start(t, setup{config: func(c *Config) {
		c.LogLevel = level
		c.Logger = slog.New(slog.NewJSONHandler(logs, &slog.HandlerOptions{Level: level}))
	}})
	set := func(to, want pb.LogLevel) {
		t.Helper()
		resp := reply(t, ts.admin.SetLogLevel, &pb.SetLogLevelRequest{Level: to})
		same(t, want, resp.GetPreviousLevel(), "the level before %s", to)
	}
	calls := func() int { return strings.Count(logs.String(), `"msg":"call"`) }
	ts.ask(t, forUser("ann"))
	set(pb.LogLevel_LOG_LEVEL_DEBUG, pb.LogLevel_LOG_LEVEL_INFO)
	before := calls()
	ts.ask(t, forUser("ann"))
	eventually(t, "the log has the call", func() bool { return calls() > before })
	set(pb.LogLevel_LOG_LEVEL_ERROR, pb.LogLevel_LOG_LEVEL_DEBUG)
	silent := calls()
	ts.ask(t, forUser("ann"))
	set(pb.LogLevel_LOG_LEVEL_INFO, pb.LogLevel_LOG_LEVEL_ERROR)
	if calls() > silent {
		t.Error("a call is logged at level error")
	}
	if n := strings.Count(logs.String(), `"msg":"log level changed"`); n != 3 {
		t.Errorf("the log tells of %d changes, want 3:\n%s", n, logs)
	}
	for _, bad := range []pb.LogLevel{0, 5, -1} {
		_, err := ts.admin.SetLogLevel(ctx(t), &pb.SetLogLevelRequest{Level: bad})
		if p := problemOf(t, err); p.Code != codes.InvalidArgument || len(p.Fields) != 1 ||
			p.Fields[0] != "level" {
			t.Errorf("level %d: %v", bad, err)
		}
	}
	same(t, slog.LevelInfo, level.Level(), "the level")
}
