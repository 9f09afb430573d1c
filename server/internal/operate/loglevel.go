package operate

import (
	"context"
	"log/slog"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/server/internal/calls"
	"github.com/gsimc/gsimc/server/internal/valid"
)

// logLevels are the levels of the log by their names in the protocol.
var logLevels = map[pb.LogLevel]slog.Level{
	pb.LogLevel_LOG_LEVEL_DEBUG: slog.LevelDebug,
	pb.LogLevel_LOG_LEVEL_INFO:  slog.LevelInfo,
	pb.LogLevel_LOG_LEVEL_WARN:  slog.LevelWarn,
	pb.LogLevel_LOG_LEVEL_ERROR: slog.LevelError,
}

// SetLogLevel implements AdminService. The line about the change is an error's, so that no level
// hides it, though nothing is wrong: an operator who silences the log leaves a trace in it.
func (s *service) SetLogLevel(
	ctx context.Context, req *pb.SetLogLevelRequest,
) (*pb.SetLogLevelResponse, error) {
	level, known := logLevels[req.GetLevel()]
	if !known {
		return nil, valid.Bad("level", "must be LOG_LEVEL_DEBUG, _INFO, _WARN or _ERROR")
	}
	if s.Level == nil {
		return &pb.SetLogLevelResponse{}, nil
	}
	before := s.Level.Level()
	s.Level.Set(level)
	s.Log.LogAttrs(ctx, slog.LevelError, "log level changed", calls.WithIDs(ctx, []slog.Attr{
		slog.String("from", before.String()), slog.String("to", level.String()),
		slog.String("caller", s.Caller(ctx))})...)
	resp := &pb.SetLogLevelResponse{}
	for name, l := range logLevels {
		if l == before {
			resp.PreviousLevel = name
		}
	}
	return resp, nil
}
