package bench

import (
	"log/slog"
	"net"
	"os"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"

	"github.com/gsimc/gsimc/loadtest"
)

// Echo is the process that bench compares a server with.
type Echo struct {
	List     string `required:"" placeholder:"FILE" help:"Encoded answer to Recommend."`
	Observed string `required:"" placeholder:"FILE" help:"Encoded answer to Observe."`
}

// Run answers on a free port of the loopback interface until a signal ends it.
func (c *Echo) Run(a *cli.App) error {
	ctx, stop := cli.InterruptContext()
	defer stop()
	list, err := os.ReadFile(c.List)
	if err != nil {
		return err
	}
	observed, err := os.ReadFile(c.Observed)
	if err != nil {
		return err
	}
	echo, err := loadtest.NewEcho(list, observed)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	// The same line as of serve, which startServer waits for.
	slog.New(slog.NewJSONHandler(a.Stderr, nil)).Info("serving", "grpc", listener.Addr().String())
	return echo.Serve(ctx, listener)
}
