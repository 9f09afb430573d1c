package call

import (
	"context"
	"strings"

	"google.golang.org/grpc"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
)

// LogLevel is `gsimc log-level`.
type LogLevel struct {
	cli.ServerFlags `set:"port=50052"`

	Level string `arg:"" enum:"debug,info,warn,error" help:"debug, info, warn or error."`
}

// Help is the manual under the flags.
func (LogLevel) Help() string {
	return `The server writes the lines of this level, and of those after it, until the level is
changed again or the server is started anew. --server is the address of its --admin-listen.

  gsimc log-level debug`
}

// Run changes the level.
func (c *LogLevel) Run(a *cli.App) error {
	const prefix = "LOG_LEVEL_"
	level := pb.LogLevel(pb.LogLevel_value[prefix+strings.ToUpper(c.Level)])
	return c.Call(func(ctx context.Context, conn grpc.ClientConnInterface) error {
		resp, err := pb.NewAdminServiceClient(conn).SetLogLevel(ctx,
			&pb.SetLogLevelRequest{Level: level})
		if err != nil {
			return err
		}
		before := strings.ToLower(strings.TrimPrefix(resp.GetPreviousLevel().String(), prefix))
		a.Printf("log level %s, before: %s\n", c.Level, before)
		return nil
	})
}
