package server

import (
	"context"
	"errors"
	"log/slog"
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

// watchStore turns the health once the store has failed, and while its disk hangs. It logs when the
// store begins and ends to take no events, to be out of reach, or to be degraded. It returns when
// the store has failed, which it then stays, or when ctx ends.
func (s *Server) watchStore(ctx context.Context) {
	tick := time.NewTicker(storePoll)
	defer tick.Stop()
	refusing, stalled, away, degraded := false, false, false, false
	for {
		stats, err := s.storeStats(ctx)
		if errors.Is(err, store.ErrFailed) {
			s.storeFailed()
			return
		}
		if errors.Is(err, store.ErrUnavailable) != away {
			away = !away
			s.logTurn(ctx, away, "the store cannot be reached", "the store answers again", err)
		}
		if err == nil && (stats.Degraded != nil) != degraded {
			degraded = !degraded
			s.logTurn(ctx, degraded, "the store keeps less than it is set up for",
				"the store keeps what it is set up for again", stats.Degraded)
		}
		if err == nil && (stats.Refusal != nil) != refusing {
			refusing = !refusing
			s.logTurn(ctx, refusing, "the store takes no events for the time being",
				"the store takes events again", stats.Refusal)
		}
		if err == nil && errors.Is(stats.Refusal, store.ErrStalled) != stalled {
			stalled = !stalled
			s.setHealth(!stalled)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// logTurn logs that a trouble of the store has begun, with its reason, or is over.
func (s *Server) logTurn(ctx context.Context, begun bool, trouble, over string, reason error) {
	if !begun {
		s.log.LogAttrs(ctx, slog.LevelInfo, over)
		return
	}
	s.log.LogAttrs(ctx, slog.LevelWarn, trouble, slog.String("error", reason.Error()))
}

// watchCatalogue follows what other servers write to the catalogue of the store, until ctx ends.
func (s *Server) watchCatalogue(ctx context.Context) {
	if n := s.catalogue.Damaged(); n > 0 {
		s.log.LogAttrs(ctx, slog.LevelError, "items of the catalogue are damaged, and not shown",
			slog.Int("items", n))
	}
	if n, limit := s.catalogue.Bytes(), s.catalogue.Limit(); n > limit {
		s.log.LogAttrs(ctx, slog.LevelWarn, "the catalogue is larger than it may be, and does not "+
			"grow: delete items, or raise --max-catalogue-size", slog.Int64("bytes", n),
			slog.Int64("limit", limit))
	}
	s.catalogue.Watch(ctx, func(err error) {
		s.log.LogAttrs(ctx, slog.LevelError, "the catalogue cannot be read again; lists go by "+
			"what was read before", slog.String("error", err.Error()))
	})
}

// storeFailed reports over gRPC health that the EventService takes no events until a restart.
func (s *Server) storeFailed() { s.setHealth(false) }

// setHealth reports over gRPC health whether events can be taken. The empty name, which stands for
// the server as a whole, says the same. The other services stay as they are: stored histories can
// still be read, and Recommend goes on.
func (s *Server) setHealth(serving bool) {
	status := healthpb.HealthCheckResponse_NOT_SERVING
	if serving {
		status = healthpb.HealthCheckResponse_SERVING
	}
	s.health.SetServingStatus(pb.EventService_ServiceDesc.ServiceName, status)
	s.health.SetServingStatus("", status)
}
