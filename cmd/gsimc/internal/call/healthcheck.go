package call

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
)

// Healthcheck is `gsimc healthcheck`.
type Healthcheck struct {
	cli.ServerFlags

	Service string `help:"Service to ask for, such as gsimc.v1.EventService. Default: the server as a whole."`
}

// Help is the manual under the flags.
func (Healthcheck) Help() string {
	return `Ends with 0 if the server serves, and with 1 and a sentence if it does not or is not
reached. For containers, whose images have no other program that could ask.

  gsimc healthcheck --timeout 2s`
}

// Run asks the server for its health.
func (c *Healthcheck) Run(*cli.App) error {
	return c.Call(func(ctx context.Context, conn grpc.ClientConnInterface) error {
		got, err := healthpb.NewHealthClient(conn).Check(ctx,
			&healthpb.HealthCheckRequest{Service: c.Service})
		if err != nil {
			return err
		}
		if got.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			return fmt.Errorf("the server at %s is %s: see /readyz on its --ops-listen",
				c.Server, got.GetStatus())
		}
		return nil
	})
}
