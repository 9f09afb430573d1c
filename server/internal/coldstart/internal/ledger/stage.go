package ledger

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/gsimc/gsimc/model"
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
}

// serve lets an extension of l's model serve.
func (s *Stage) serve(
	ctx context.Context, l *models.Lease, extended *model.Model, items int, began time.Time,
	more ...slog.Attr,
) error {
	if !s.Models.Extend(l, extended) {
		return ErrOtherModel
	}
	took := time.Since(began)
	s.Metrics.Items.Set(float64(items))
	s.Metrics.Seconds.Observe(took.Seconds())
	s.Log.LogAttrs(ctx, slog.LevelInfo, "model extended by new items", append(more,
		slog.String("version", extended.Version()), slog.Int("items", items),
		slog.Float64("duration_ms", float64(took.Microseconds())/1e3))...)
	return nil
}

// Failed counts and logs a failure.
func (s *Stage) Failed(ctx context.Context, what string, err error) {
	s.Metrics.Failures.Inc()
	s.Log.LogAttrs(ctx, slog.LevelWarn, what, slog.String("error", err.Error()))
}
