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

// An address at which no server can be is refused before anything asks whether one is running.
func TestAddressesOfNoServer(t *testing.T) {
	for _, c := range []struct{ address, flag, want string }{
		{"localhost", "", `--server: "localhost" has no port, want HOST:PORT`},
		{"localhost:", "--with", `--with: "localhost:" has no port, want HOST:PORT`},
		{"", "", `--server: "" has no port, want HOST:PORT`},
		{"http://h:1", "", `--server: "http://h:1" begins with a scheme, which does not belong ` +
			`there, want HOST:PORT`},
		{"::1", "", `--server: "::1" has more than one colon: an IPv6 address needs [ ] around ` +
			`it, want HOST:PORT`},
		{"[::1]", "", `--server: "[::1]" has no port, want HOST:PORT`},
	} {
		f := ServerFlags{}.At(c.address, c.flag)
		if _, err := f.Dial(); err == nil || err.Error() != c.want || exitCode(err) != ExitUsage {
			t.Errorf("%v\nwant %s, as wrong usage", err, c.want)
		}
	}
	for _, address := range []string{"localhost:1", "[::1]:1", "unix:/tmp/s"} {
		f := ServerFlags{Server: address}
		if c, err := f.Dial(); err != nil {
			t.Error(err)
		} else {
			_ = c.Close()
		}
	}
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
