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
	// standbyPatience is the time for which writes wait for a standby that is to be connected. One
	// that starts again, or whose connection broke, takes some seconds.
	standbyPatience = 10 * time.Second
	// standbyAge is how old a look at the standbys may be for writes to be refused because of it.
	standbyAge = 5 * time.Second
	// slowCommit is the time after which a commit that waits for a standby is told of.
	slowCommit = 5 * time.Second
)

// standby is what was last seen of the standbys that confirm commits.
type standby struct {
	looked time.Time
	gone   time.Time // since when there is none; zero: there is one
}

// errAlone: nobody confirms commits.
var errAlone = fmt.Errorf("%w: no standby that confirms commits is connected to PostgreSQL "+
	"(0 are, 1 is wanted at least), so that no write is acknowledged", store.ErrUnavailable)

// standbys counts the standbys that confirm commits, and says how long a commit has been waiting
// for one. A role without the right to read statistics sees that there are standbys, and not which
// of them confirm commits. It sees its own commits that wait for one.
const standbys = `SELECT (SELECT count(*) FROM pg_stat_replication
		WHERE sync_state IN ('sync', 'quorum')
		OR NOT pg_has_role('pg_read_all_stats', 'USAGE')),
	(SELECT coalesce(max(extract(epoch FROM clock_timestamp() - query_start)), 0)::float8
		FROM pg_stat_activity
		WHERE usename = current_user AND wait_event = 'SyncRep')`

// lookAtStandbys returns why commits are not confirmed at present, or nil.
func (s *Store) lookAtStandbys(ctx context.Context, conn *pgxpool.Conn) (degraded, err error) {
	var connected int64
	var waited float64
	if err := conn.QueryRow(ctx, standbys).Scan(&connected, &waited); err != nil {
		return nil, err
	}
	s.standby.Store(seen(s.standby.Load(), connected, time.Now()))
	waiting := time.Duration(waited * float64(time.Second))
	switch {
	case connected == 0:
		return errAlone, nil
	case waiting > slowCommit:
		return fmt.Errorf("a write has been waiting for the standby for %v: writes are "+
			"acknowledged when it confirms them", waiting.Round(time.Second)), nil
	}
	return nil, nil
}

// seen is a look that found some standbys. What was before is nil at first, and does not count if
// it is old: a standby may have come and gone in the meantime, and writes wait for its return.
func seen(before *standby, connected int64, looked time.Time) *standby {
	now := &standby{looked: looked}
	if connected > 0 {
		return now
	}
	now.gone = looked
	if before != nil && !before.gone.IsZero() && looked.Sub(before.looked) < standbyAge {
		now.gone = before.gone
	}
	return now
}

// isGone reports whether the last look, if it is not too old, found that nobody has confirmed
// commits for some time.
func (s *Store) isGone(since time.Duration) bool {
	b := s.standby.Load()
	return b != nil && !b.gone.IsZero() && time.Since(b.looked) < standbyAge &&
		time.Since(b.gone) >= since
}

// alone returns why a write is not even tried, or nil.
func (s *Store) alone() error {
	if s.isGone(standbyPatience) {
		return errAlone
	}
	return nil
}

// late is the error of a write whose context has ended. It wraps store.ErrUnavailable if its time
// was over because nobody confirmed it.
func (s *Store) late(ctx context.Context) error {
	if err := ctx.Err(); !errors.Is(err, context.DeadlineExceeded) || !s.isGone(0) {
		return err
	}
	return fmt.Errorf("%w: %w", errAlone, ctx.Err())
}
