package server

import (
	"context"
	"errors"
	"time"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/store"
)

const (
	// storePoll is the interval at which the store is asked whether it has failed. A call that
	// meets the failure reports it at once.
	storePoll = 2 * time.Second
	// storeStatsTimeout bounds the time for which a probe, a scrape or a poll waits for the store.
	storeStatsTimeout = time.Second
)

// storeStats asks the store for its size, or for its failure.
func (s *Server) storeStats(ctx context.Context) (store.Stats, error) {
	ctx, cancel := context.WithTimeout(ctx, storeStatsTimeout)
	defer cancel()
	return s.store.Stats(ctx)
}

// watchStore turns the health of the EventService once the store has failed. It returns then, since
// a store stays failed, or when ctx ends.
func (s *Server) watchStore(ctx context.Context) {
	tick := time.NewTicker(storePoll)
	defer tick.Stop()
	for {
		if _, err := s.storeStats(ctx); errors.Is(err, store.ErrFailed) {
			s.storeFailed()
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// storeFailed reports over gRPC health that the EventService takes no events until a restart. The
// other services stay as they are: stored histories can still be read, and Recommend goes on.
func (s *Server) storeFailed() {
	s.health.SetServingStatus(pb.EventService_ServiceDesc.ServiceName,
		healthpb.HealthCheckResponse_NOT_SERVING)
}
