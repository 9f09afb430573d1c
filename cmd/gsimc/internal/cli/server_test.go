package cli

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/nettest"
)

// moody answers a number of calls with an error, and later ones not at all.
type moody struct {
	pb.UnimplementedEventServiceServer
	answers int
}

func (m *moody) Observe(
	ctx context.Context, _ *pb.ObserveRequest,
) (*pb.ObserveResponse, error) {
	if m.answers--; m.answers < 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return nil, status.Error(codes.Unavailable, "the store is away")
}

// Only of a server that never answered a command asks whether it is running.
func TestServerThatAnswered(t *testing.T) {
	for _, c := range []struct {
		answers int
		want    string
	}{
		{2, "within 2s server ADDR answered 2 times: Unavailable: the store is away"},
		{0, "no answer from ADDR within 2s: is the server running there? see --server and " +
			"--timeout"},
	} {
		address, stop := nettest.Serve(t, func(g *grpc.Server) {
			pb.RegisterEventServiceServer(g, &moody{answers: c.answers})
		})
		f := &ServerFlags{Server: address, Timeout: 2 * time.Second}
		err := f.Call(func(ctx context.Context, conn grpc.ClientConnInterface) error {
			_, err := pb.NewEventServiceClient(conn).Observe(ctx, &pb.ObserveRequest{})
			return err
		})
		stop()
		if want := strings.ReplaceAll(c.want, "ADDR", f.Server); err == nil || err.Error() != want {
			t.Errorf("after %d answers the command says %v\nwant %s", c.answers, err, want)
		}
	}
}
