package server

import (
	"context"
	"fmt"
	"testing"

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
	done := make(chan outcome)
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
		if err := s.Send(req); err != nil {
			b.Fatal(err)
		}
		req = &pb.StreamObserveRequest{Sequence: uint64(n) + 1}
	}
	if err := s.CloseSend(); err != nil {
		b.Fatal(err)
	}
	if got := <-done; got.err != nil || got.acked != uint64(n-len(req.GetEvents())) {
		b.Fatalf("acked %d of %d: %v", got.acked, n, got.err)
	}
}

func quiet(c *Config) { c.Logger = nil }
