package retrain

import (
	"context"
	"log/slog"
)

// log writes one line about an attempt.
func (a *Attempt) log(ctx context.Context, log *slog.Logger) {
	attrs := []slog.Attr{slog.Float64("duration_ms", float64(a.Took.Microseconds())/1e3)}
	if c := a.Summary.Comparison; c != nil {
		attrs = append(attrs, slog.String("version", a.Summary.Version),
			slog.Int("events", c.Users),
			slog.Int("events_left_out", c.LeftOut), slog.Int("recall_at", c.N),
			slog.Float64("recall_old", c.Old), slog.Float64("recall_new", c.New),
			slog.Float64("difference", c.Difference),
			slog.Float64("difference_stderr", c.DifferenceErr))
	}
	level, message := slog.LevelInfo, "retrained: the new model serves"
	if a.First {
		message = "retrained: the first model serves"
	}
	switch a.Outcome {
	case Kept:
		level = slog.LevelWarn
		message = "retrained: the new model is worse on the latest events, " +
			"the old one goes on serving"
	case Superseded:
		message = "retrained: another model was loaded meanwhile and goes on serving"
	case Skipped:
		message = "not retrained: too few new events to judge a new model by"
		if a.First {
			message = "no first model yet: it takes users with two items or more"
		}
		attrs = append(attrs, slog.String("reason", a.Err.Error()))
	case Failed:
		level, message = slog.LevelError, "retraining failed, the old model goes on serving"
		if a.First {
			message = "retraining failed, there is no first model yet"
		}
		attrs = append(attrs, slog.String("error", a.Err.Error()))
	}
	log.LogAttrs(ctx, level, message, attrs...)
}
