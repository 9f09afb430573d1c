package ledger

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/trend"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/metrics"
	"github.com/gsimc/gsimc/server/internal/models"
)

// ErrOtherModel ends the work for a model that does not serve any more.
var ErrOtherModel = errors.New("server: another model has been loaded")

// A Stage is where the extensions of a model serve, and where it is told how that goes.
type Stage struct {
	Models  *models.Holder
	Metrics *metrics.Metrics
	Log     *slog.Logger

	extended *model.Model    // the extension that serves, without trends; nil: the base does
	trends   *trend.Snapshot // that serve; nil: none
}

// begin forgets what serves: another base does.
func (s *Stage) begin() { s.extended, s.trends = nil, nil }

// serve lets an extension of l's model serve.
func (s *Stage) serve(
	ctx context.Context, l *models.Lease, extended *model.Model, items int, began time.Time,
	more ...slog.Attr,
) error {
	with := extended
	if s.trends != nil {
		with = extended.WithTrends(s.trends)
	}
	if !s.Models.Extend(l, with) {
		return ErrOtherModel
	}
	s.extended = extended
	took := time.Since(began)
	s.Metrics.Items.Set(float64(items))
	s.Metrics.Seconds.Observe(took.Seconds())
	s.Log.LogAttrs(ctx, slog.LevelInfo, "model extended by new items", append(more,
		slog.String("version", with.Version()), slog.Int("items", items),
		slog.Float64("duration_ms", float64(took.Microseconds())/1e3))...)
	return nil
}

// serveTrends lets a snapshot serve, for the extension of l's model that serves.
func (s *Stage) serveTrends(ctx context.Context, l *models.Lease, trends *trend.Snapshot) error {
	with := s.Extended(l).WithTrends(trends)
	if !s.Models.Extend(l, with) {
		return ErrOtherModel
	}
	s.trends = trends
	s.Metrics.Trends.Inc()
	s.Log.LogAttrs(ctx, slog.LevelDebug, "trends of items renewed",
		slog.String("version", with.Version()))
	return nil
}

// Extended is the extension of l's model that serves, without trends.
func (s *Stage) Extended(l *models.Lease) *model.Model {
	if s.extended != nil {
		return s.extended
	}
	return l.Base()
}

// Failed counts and logs a failure.
func (s *Stage) Failed(ctx context.Context, what string, err error) {
	s.Metrics.Failures.Inc()
	s.Log.LogAttrs(ctx, slog.LevelWarn, what, slog.String("error", err.Error()))
}
