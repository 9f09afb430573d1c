package coldstart

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/models"
)

// errOtherModel ends the work for a model that does not serve any more.
var errOtherModel = errors.New("server: another model has been loaded")

// A stage is where the extensions of a model serve, and where it is told how that goes.
type stage struct {
	models  *models.Holder
	metrics *Metrics
	log     *slog.Logger
}

// serve lets an extension of l's model serve.
func (s *stage) serve(
	ctx context.Context, l *models.Lease, extended *model.Model, items int, began time.Time,
	more ...slog.Attr,
) error {
	if !s.models.Extend(l, extended) {
		return errOtherModel
	}
	took := time.Since(began)
	s.metrics.items.Set(float64(items))
	s.metrics.seconds.Observe(took.Seconds())
	s.log.LogAttrs(ctx, slog.LevelInfo, "model extended by new items", append(more,
		slog.String("version", extended.Version()), slog.Int("items", items),
		slog.Float64("duration_ms", float64(took.Microseconds())/1e3))...)
	return nil
}

// failed counts and logs a failure.
func (s *stage) failed(ctx context.Context, what string, err error) {
	s.metrics.failures.Inc()
	s.log.LogAttrs(ctx, slog.LevelWarn, what, slog.String("error", err.Error()))
}
