package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/nettest"
)

// mortal is a server that writes one batch of items, and goes away at the next, or at a stream.
type mortal struct {
	pb.UnimplementedEventServiceServer
	pb.UnimplementedItemServiceServer

	written bool
	stop    func()
}

func (m *mortal) BatchUpsertItems(
	ctx context.Context, r *pb.BatchUpsertItemsRequest,
) (*pb.BatchUpsertItemsResponse, error) {
	if m.written {
		go m.stop()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	m.written = true
	return &pb.BatchUpsertItemsResponse{CreatedCount: int32(len(r.GetItems()))}, nil
}

func (m *mortal) StreamObserve(stream pb.EventService_StreamObserveServer) error {
	go m.stop()
	<-stream.Context().Done()
	return stream.Context().Err()
}

// A server that goes away after it answered was at the right address: the command says what the
// server keeps, and how to go on.
func TestServerGoesAway(t *testing.T) {
	var items, events strings.Builder
	for i := range 1001 {
		fmt.Fprintf(&items, "i%d,t\n", i)
		fmt.Fprintf(&events, "u,i%d\n", i)
	}
	for _, c := range []struct{ args, file, want string }{
		{"items import", "item_id,title\n" + items.String(), "the connection was lost; the server " +
			"keeps the 1000 written items; the same command writes all again"},
		{"observe --give-up 1s --data", "user_id,item_id\n" + events.String(), "the server keeps " +
			"the 0 acknowledged events; the same command sends the other 1001"},
	} {
		m := &mortal{}
		address, stop := nettest.Serve(t, func(g *grpc.Server) {
			pb.RegisterEventServiceServer(g, m)
			pb.RegisterItemServiceServer(g, m)
		})
		m.stop = stop
		path := writeFile(t, "f.csv", c.file)
		code, _, stderr := runCLI(t, nil, strings.Fields(c.args+" "+path+" --server "+address)...)
		if code != cli.ExitFailure || strings.Contains(stderr, "gRPC address") {
			t.Errorf("%s: exit code %d, stderr %q", c.args, code, stderr)
		}
		says(t, c.args, stderr, c.want)
	}
}
