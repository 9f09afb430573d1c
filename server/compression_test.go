package server

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
)

// wireSizes notes what a client sends and gets.
type wireSizes struct {
	mu         sync.Mutex
	sent, full int    // bytes of the last request, compressed and not
	answered   string // the compression of the last answer
}

func (*wireSizes) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (*wireSizes) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*wireSizes) HandleConn(context.Context, stats.ConnStats)                       {}

func (w *wireSizes) HandleRPC(_ context.Context, s stats.RPCStats) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch s := s.(type) {
	case *stats.OutPayload:
		w.sent, w.full = s.CompressedLength, s.Length
	case *stats.InHeader:
		w.answered = s.Compression
	}
}

// unknownCompressor is none that the library knows.
type unknownCompressor struct{}

func (unknownCompressor) Do(to io.Writer, message []byte) error {
	_, err := to.Write(message)
	return err
}

func (unknownCompressor) Type() string { return "zstd" }

// A request in a compression that the server does not know is UNIMPLEMENTED.
func TestUnknownCompression(t *testing.T) {
	conn := check.Get(grpc.NewClient(start(t, setup{}).conn.Target(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		// What another option names, the server of this process would know too.
		grpc.WithCompressor(unknownCompressor{})))(t) //nolint:staticcheck // deprecated
	defer conn.Close()
	_, err := pb.NewEventServiceClient(conn).Observe(ctx(t),
		&pb.ObserveRequest{Event: newEvent("ann", 1)})
	same(t, codes.Unimplemented, status.Code(err), "code")
}

// Requests may be compressed, up to the limit of their full size; answers are not.
func TestCompressedRequests(t *testing.T) {
	ts := start(t, setup{config: func(c *Config) { c.MaxRecvBytes = 100_000 }})
	var sizes wireSizes
	conn := check.Get(grpc.NewClient(ts.conn.Target(),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithStatsHandler(&sizes),
		grpc.WithDefaultCallOptions(grpc.UseCompressor("gzip"))))(t)
	defer conn.Close()
	events := pb.NewEventServiceClient(conn)
	var batch pb.BatchObserveRequest
	for i := range 500 {
		e := newEvent("a user with a name that is rather long", i)
		e.EventId = fmt.Sprint("e", i)
		batch.Events = append(batch.Events, e)
	}
	for range 3 { // later ones use what the first has left
		resp := check.Get(events.BatchObserve(ctx(t), &batch))(t)
		check.MustSame(t, len(batch.GetEvents()), len(resp.GetResults()), "results")
	}
	if sizes.sent*3 > sizes.full || sizes.answered != "" && sizes.answered != "identity" {
		t.Errorf("%d of %d bytes were sent, and the answer came as %q", sizes.sent, sizes.full,
			sizes.answered)
	}
	for _, size := range []int{99_000, 101_000, 50 << 20} {
		e := newEvent("ann", 1)
		e.EventType = strings.Repeat("x", size)
		_, err := events.Observe(ctx(t), &pb.ObserveRequest{Event: e})
		want := codes.InvalidArgument
		if size > 100_000 {
			want = codes.ResourceExhausted
		}
		check.Same(t, want, status.Code(err), "a request that inflates to %d bytes", size)
	}
	check.Pass(t, check.Err(events.BatchObserve(ctx(t), &batch)), "after a bomb")
}
