package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gsimc/gsimc/store"
)

const (
	// statsAge is how old an answer of Stats may be.
	statsAge = time.Second
	// countedBytes is the size of all heads up to which users are counted, and above which the
	// number is the estimate that PostgreSQL makes when it cleans up.
	countedBytes = 16 << 20
)

// sizes are the last sizes that were read.
type sizes struct {
	busy  chan struct{} // has room for the one call that may use the fields
	at    time.Time
	stats store.Stats
}

// Stats implements store.Store. The disk is that of another machine, so nothing is known of its
// room.
func (s *Store) Stats(ctx context.Context) (store.Stats, error) {
	if err := s.calls.Begin(ctx); err != nil {
		return store.Stats{}, err
	}
	defer s.calls.Done()
	select {
	case s.sizes.busy <- struct{}{}:
		defer func() { <-s.sizes.busy }()
	case <-ctx.Done():
		return store.Stats{}, unanswered(ctx)
	}
	if time.Since(s.sizes.at) < statsAge {
		return s.sizes.stats, nil
	}
	stats := store.Stats{Room: -1, Free: -1, Reserve: -1, Debt: -1}
	err := s.withConn(ctx, func(conn *pgxpool.Conn) error {
		var heads int64
		err := conn.QueryRow(ctx, s.sql.estimates, s.sql.schema).
			Scan(&stats.Bytes, &heads, &stats.Users)
		if err == nil && s.address.strict {
			stats.Degraded, err = s.lookAtStandbys(ctx, conn)
		}
		if err != nil || heads > countedBytes {
			return err
		}
		return conn.QueryRow(ctx, s.sql.users).Scan(&stats.Users)
	})
	if err != nil && ctx.Err() != nil {
		return store.Stats{}, unanswered(ctx)
	}
	if err != nil {
		return store.Stats{}, explain(err)
	}
	s.sizes.at, s.sizes.stats = time.Now(), stats
	return stats, nil
}

// unanswered is the error of a look at the server that did not end in time: a server that hangs is
// out of reach.
func unanswered(ctx context.Context) error {
	if err := ctx.Err(); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w: no answer in time: %w", store.ErrUnavailable, ctx.Err())
}
