package serve

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/server"
)

// shutdownContext returns a context that ends at the first SIGTERM or SIGINT. The second ends the
// process.
func shutdownContext(log *slog.Logger) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		select {
		case sig := <-signals:
			log.Info("signal: draining, again to exit at once", slog.String("signal", sig.String()))
			cancel()
		case <-ctx.Done():
			return
		}
		<-signals
		log.Warn("second signal: exiting at once")
		os.Exit(cli.ExitInterrupted)
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel()
	}
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
