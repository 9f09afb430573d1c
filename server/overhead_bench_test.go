package server

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/recommend"
)

// What the server adds to its model: the same Recommend in process and over gRPC, beside a bare
// gRPC server that answers with the same bytes. The three take turns within one run, so that their
// ratios do not depend on what else the machine does. Client and server share the process, and the
// client decodes nothing.

const (
	overheadUsers = 64
	overheadPage  = 100
)

// overheadBench is a server with users, and the bare server beside it.
type overheadBench struct {
	service          *recommend.Service
	recommend, echo  *grpc.ClientConn
	requests         []*pb.RecommendRequest
	encoded          [][]byte
	bytesPerResponse int
}

func newOverheadBench(b *testing.B, m *model.Model) *overheadBench {
	b.Helper()
	o := &overheadBench{}
	ts := start(b, setup{config: func(c *Config) { quiet(c); c.Now, c.QualitySample = nil, 0 },
		open: func() (*model.Model, error) { return m, nil }})
	o.service, o.recommend = ts.services.recommend, ts.conn
	rng := rand.New(rand.NewPCG(5, 6))
	for u := range overheadUsers {
		user := fmt.Sprint("user ", u)
		for range 20 {
			ts.observe(b, &pb.Event{UserId: user, ItemId: m.ItemID(int32(rng.IntN(m.NumItems())))})
		}
		req := forUser(user)
		req.PageSize = overheadPage
		o.requests = append(o.requests, req)
		data, err := proto.Marshal(req)
		must(b, err)
		o.encoded = append(o.encoded, data)
	}
	response := ts.ask(b, o.requests[0])
	o.bytesPerResponse = proto.Size(response)
	o.echo = startEcho(b, response)
	return o
}

// echoServer answers every Recommend with one message.
type echoServer struct {
	pb.UnimplementedRecommenderServiceServer
	response *pb.RecommendResponse
}

func (e echoServer) Recommend(
	context.Context, *pb.RecommendRequest,
) (*pb.RecommendResponse, error) {
	return e.response, nil
}

func startEcho(b *testing.B, response *pb.RecommendResponse) *grpc.ClientConn {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(b, err)
	g := grpc.NewServer()
	pb.RegisterRecommenderServiceServer(g, echoServer{response: response})
	go g.Serve(l)
	conn := dial(b, l.Addr().String())
	b.Cleanup(func() { conn.Close(); g.Stop() })
	return conn
}

// rawCodec sends a []byte as it is and throws away what comes.
type rawCodec struct{ encoding.CodecV2 }

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*int) = data.Len()
	return nil
}

// call makes request i over a connection.
func (o *overheadBench) call(b *testing.B, conn *grpc.ClientConn, i int) {
	var size int
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err := conn.Invoke(ctx, pb.RecommenderService_Recommend_FullMethodName,
		o.encoded[i%len(o.encoded)], &size, grpc.ForceCodecV2(rawCodec{}))
	if err != nil || size == 0 {
		b.Errorf("%d bytes, %v", size, err)
	}
}

func (o *overheadBench) inProcess(b *testing.B, i int) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	answer, err := o.service.Encoded(ctx, o.requests[i%len(o.requests)])
	if err != nil {
		b.Error(err)
	}
	answer.Free()
}

// inTurns runs rounds of the functions one after the other until the benchmark has run its
// iterations of each, with some calls in flight, and returns the latencies of each, sorted, and the
// wall time.
func inTurns(
	b *testing.B, inflight int, fns ...func(i int),
) (latencies [][]time.Duration, wall []time.Duration) {
	const round = 320 // calls of one function before the next has its turn
	latencies, wall = make([][]time.Duration, len(fns)), make([]time.Duration, len(fns))
	b.ResetTimer()
	for done := 0; done < b.N; done += round {
		for f, fn := range fns {
			start := time.Now()
			took := concurrently(inflight, round/inflight, fn)
			wall[f] += time.Since(start)
			latencies[f] = append(latencies[f], took...)
		}
	}
	b.StopTimer()
	for _, l := range latencies {
		slices.Sort(l)
	}
	return latencies, wall
}

// concurrently calls fn from several goroutines, each times times, and returns how long each call
// took.
func concurrently(goroutines, times int, fn func(i int)) []time.Duration {
	took := make([]time.Duration, goroutines*times)
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := g * times; i < (g+1)*times; i++ {
				start := time.Now()
				fn(i)
				took[i] = time.Since(start)
			}
		})
	}
	wg.Wait()
	return took
}

func quantile(sorted []time.Duration, q float64) float64 {
	return float64(sorted[int(q*float64(len(sorted)-1))].Nanoseconds()) / 1e3
}

// BenchmarkRecommendBesideEcho reports the medians in µs of a bare call, of Recommend in process
// and of Recommend over gRPC; with one call in flight the ratio of the last to the sum of the
// others, with more the share of the bare server's calls a second.
func BenchmarkRecommendBesideEcho(b *testing.B) {
	for _, shape := range [][2]int{{1000, 256}, {20_000, 256}} {
		b.Run(fmt.Sprintf("n=%d/k=%d", shape[0], shape[1]), func(b *testing.B) {
			o := newOverheadBench(b, randomModel(b, shape[0], shape[1]))
			for _, inflight := range []int{1, 32} {
				b.Run(fmt.Sprintf("inflight=%d", inflight),
					func(b *testing.B) { o.besideEcho(b, inflight) })
			}
		})
	}
}

func (o *overheadBench) besideEcho(b *testing.B, inflight int) {
	latencies, wall := inTurns(b, inflight,
		func(i int) { o.call(b, o.echo, i) },
		func(i int) { o.inProcess(b, i) },
		func(i int) { o.call(b, o.recommend, i) })
	echo, inside, full := latencies[0], latencies[1], latencies[2]
	b.ReportMetric(0, "ns/op") // of the three together: says nothing
	b.ReportMetric(quantile(echo, 0.5), "echo-p50-µs")
	b.ReportMetric(quantile(inside, 0.5), "inside-p50-µs")
	b.ReportMetric(quantile(full, 0.5), "grpc-p50-µs")
	b.ReportMetric(quantile(full, 0.99), "grpc-p99-µs")
	if inflight == 1 {
		b.ReportMetric(quantile(full, 0.5)/(quantile(echo, 0.5)+quantile(inside, 0.5)), "of-sum")
	} else {
		b.ReportMetric(float64(len(full))/wall[2].Seconds(), "rps")
		b.ReportMetric(wall[0].Seconds()/wall[2].Seconds(), "of-echo-rps")
	}
}
