package serve

import (
	"context"
	"log/slog"
	"os"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/server"
)

// shutdownContext returns a context that ends at the first SIGTERM or SIGINT. The second ends the
// process.
func shutdownContext(log *slog.Logger) (context.Context, context.CancelFunc) {
	return cli.UntilSignal(func(s os.Signal) {
		log.Info("signal: draining, again to exit at once", slog.String("signal", s.String()))
	}, func() { log.Warn("second signal: exiting at once") })
}

// reloadOnHangup loads the model anew at each SIGHUP, until ctx ends; from then on it ignores them.
// The signal stays caught until the process ends, because by default it would cut a drain short.
// The server logs the outcome.
func reloadOnHangup(ctx context.Context, hangups <-chan os.Signal, s *server.Server) {
	for range hangups {
		if ctx.Err() == nil {
			_ = s.Reload(ctx)
		}
	}
}
