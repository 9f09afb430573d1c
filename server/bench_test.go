package server

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// The whole path over a loopback connection, with the memory store and a small model: what the
// server itself costs.

func BenchmarkRecommend(b *testing.B) {
	ts := start(b, setup{config: quiet})
	for i := range 20 {
		ts.observe(b, newEvent("ann", i))
	}
	for _, subject := range []string{"known", "unknown"} {
		b.Run("user="+subject, func(b *testing.B) {
			req := forUser(map[string]string{"known": "ann", "unknown": "nobody"}[subject])
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ts.recommend.Recommend(context.Background(), req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkObserve(b *testing.B) {
	ts := start(b, setup{config: quiet})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		e := withID(fmt.Sprint(i), fmt.Sprint("user", i%1000), i%testItems)
		if _, err := ts.events.Observe(context.Background(),
			&pb.ObserveRequest{Event: e}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStreamObserve(b *testing.B) {
	for _, batch := range []int{1, 100} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) { benchmarkStream(b, batch) })
	}
}

// benchmarkStream sends batch events in a message; an operation is an event.
func benchmarkStream(b *testing.B, batch int) {
	ts := start(b, setup{config: quiet})
	s := openStream(b, ts)
	done := make(chan streamEnd)
	go func() { done <- s.rest(b) }()
	b.ReportAllocs()
	req := &pb.StreamObserveRequest{Sequence: 1}
	n := 0
	for b.Loop() {
		n++
		if req.Events = append(req.Events,
			withID(fmt.Sprint(n), fmt.Sprint("user", n%1000),
				n%testItems)); len(req.Events) < batch {
			continue
		}
		must(b, s.Send(req))
		req = &pb.StreamObserveRequest{Sequence: uint64(n) + 1}
	}
	must(b, s.CloseSend())
	if got := <-done; got.err != nil || got.acked != uint64(n-len(req.GetEvents())) {
		b.Fatalf("acked %d of %d: %v", got.acked, n, got.err)
	}
}

func quiet(c *Config) { c.Logger = nil }

// BenchmarkBatchRecommend reports the processor time of a list, client included, and the lists a
// second: of single calls, one after the other and 32 in flight, and of batches, one after the
// other and two in flight, in turns over the same subjects.
func BenchmarkBatchRecommend(b *testing.B) {
	for _, shape := range [][2]int{{1000, 64}, {20_000, 256}} {
		b.Run(fmt.Sprintf("n=%d/k=%d", shape[0], shape[1]), func(b *testing.B) {
			o := newOverheadBench(b, randomModel(b, shape[0], shape[1]))
			benchmarkBatches(b, o)
		})
	}
}

// benchmarkBatches makes rounds of as many lists on each way.
func benchmarkBatches(b *testing.B, o *overheadBench) {
	const lists, round = 256, 1024
	req := &pb.BatchRecommendRequest{PageSize: o.requests[0].GetPageSize()}
	for i := range lists {
		req.Subjects = append(req.Subjects, userSubject(o.requests[i%len(o.requests)].GetUserId()))
	}
	body, err := proto.Marshal(req)
	must(b, err)
	batch := func(int) {
		var size int
		err := o.recommend.Invoke(context.Background(),
			pb.RecommenderService_BatchRecommend_FullMethodName, body, &size,
			grpc.ForceCodecV2(rawCodec{}))
		if err != nil || size < lists*o.bytesPerResponse/2 {
			b.Errorf("%d bytes, %v", size, err)
		}
	}
	single := func(i int) { o.call(b, o.recommend, i) }
	var took, worked [4]time.Duration
	n := 0
	for ; b.Loop(); n += round {
		for way, run := range []func(){
			func() { concurrently(1, round, single) },
			func() { concurrently(32, round/32, single) },
			func() { concurrently(1, round/lists, batch) },
			func() { concurrently(2, round/lists/2, batch) },
		} {
			begun, before := time.Now(), processorTime(b)
			run()
			took[way] += time.Since(begun)
			worked[way] += processorTime(b) - before
		}
	}
	b.ReportMetric(0, "ns/op") // of all together: says nothing
	for way, name := range []string{"single", "single-32", "batch", "batch-2"} {
		b.ReportMetric(float64(n)/took[way].Seconds(), name+"-lists/s")
		b.ReportMetric(float64(worked[way].Microseconds())/float64(n), name+"-µs/list")
	}
}

// processorTime is what the process has used so far.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkRecommendTraced is a list without traces, and with one call in a hundred, and each, in a
// trace that is recorded and thrown away. The three take turns within a run.
func BenchmarkRecommendTraced(b *testing.B) {
	shares := []float64{0, 0.01, 1}
	var servers []*testServer
	for _, share := range shares {
		ts := start(b, setup{config: func(c *Config) {
			quiet(c)
			if share > 0 {
				c.Tracer = trace.NewTracerProvider(trace.WithBatcher(tracetest.NewNoopExporter()),
					trace.WithSampler(trace.ParentBased(trace.TraceIDRatioBased(share))))
			}
		}})
		for i := range 20 {
			ts.observe(b, newEvent("ann", i))
		}
		servers = append(servers, ts)
	}
	worked := make([]time.Duration, len(shares))
	n := 0
	for ; b.Loop(); n++ {
		for i, ts := range servers {
			before := processorTime(b)
			for range 200 {
				ts.ask(b, forUser("ann"))
			}
			worked[i] += processorTime(b) - before
		}
	}
	b.ReportMetric(0, "ns/op") // of all together: says nothing
	for i, share := range shares {
		b.ReportMetric(float64(worked[i].Microseconds())/float64(200*n),
			fmt.Sprintf("traced=%v-µs/list", share))
		b.ReportMetric(float64(worked[i])/float64(worked[0]), fmt.Sprintf("traced=%v-ratio", share))
	}
}
