package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gsimc/gsimc/store"
)

// Each implements store.Store. The users are of one moment. It has a connection of its own until it
// returns, and the server cannot clean up meanwhile what is replaced after that moment.
func (s *Store) Each(
	ctx context.Context, shard, of int, fn func(string, store.Version) error,
) error {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.Done()
	conn, _, err := s.address.connect(ctx, s.life)
	if err != nil {
		return s.orEnded(ctx, err)
	}
	defer hangUp(conn)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // before rows are closed: what was not read is dropped with the connection
	sql := fmt.Sprintf("SELECT user_id, revision, mark FROM %s.head WHERE part IN (%s)",
		s.sql.schema, partsOf(shard, of))
	rows, err := conn.Query(ctx, sql)
	if err != nil {
		return s.orEnded(ctx, err)
	}
	var id []byte
	var revision, mark int64
	for rows.Next() {
		if err := rows.Scan(&id, &revision, &mark); err != nil {
			return explain(err)
		}
		user := string(id)
		if of > 1 && store.Shard(user, of) != shard {
			continue
		}
		err := fn(user, store.Version{Revision: uint64(revision), Mark: uint64(mark)})
		if err != nil {
			return err
		}
	}
	return s.orEnded(ctx, rows.Err())
}

// orEnded returns the error of a context that has ended, or what err is.
func (s *Store) orEnded(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return explain(err)
}

// partsOf lists the partitions with users of a shard: both are remainders of one hash.
func partsOf(shard, of int) string {
	common := of
	for b := partitions; b != 0; {
		common, b = b, common%b
	}
	var parts []string
	for p := range partitions {
		if p%common == shard%common {
			parts = append(parts, fmt.Sprint(p))
		}
	}
	return strings.Join(parts, ",")
}

// sortedPlaces returns names in the order of their bytes, and the place of each.
func sortedPlaces(names []string) (sorted []string, place map[string]int) {
	sorted = slices.Sorted(slices.Values(names))
	place = make(map[string]int, len(sorted))
	for i, name := range sorted {
		place[name] = i
	}
	return sorted, place
}
