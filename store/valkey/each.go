package valkey

import (
	"context"
	"fmt"

	"github.com/gsimc/gsimc/store"
)

// headsAtOnce is the number of users whose versions are asked for in one round trip.
const headsAtOnce = 512

// Each implements store.Store. It goes through the slots one after the other, so the version of
// each user is that of a moment of its own.
func (s *Store) Each(
	ctx context.Context, shard, of int, fn func(string, store.Version) error,
) error {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.Done()
	damaged := int64(0)
	err := s.cluster.EachKeys(ctx, func(keys []string) error {
		var users []string
		for _, key := range keys {
			user, ok := s.keys.userOf(key)
			if ok && store.Shard(user, of) == shard {
				users = append(users, user)
			}
		}
		for len(users) > 0 {
			part := users[:min(headsAtOnce, len(users))]
			users = users[len(part):]
			n, err := s.heads(ctx, part, fn)
			if damaged += n; err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && damaged > 0 {
		return &store.SkippedError{Users: damaged}
	}
	return err
}

// heads calls fn for those of the users who have a history. It returns how many of the histories
// are damaged.
func (s *Store) heads(
	ctx context.Context, users []string, fn func(string, store.Version) error,
) (damaged int64, err error) {
	keys := make([][]string, len(users))
	for i, user := range users {
		keys[i] = s.keys.history(user)[:1]
	}
	replies, err := s.cluster.ReadAll(ctx, function("since"), keys, "0", "", "0")
	if err != nil {
		return 0, err
	}
	for i, user := range users {
		p, err := readPage(&replies[i])
		if err != nil {
			damaged++
			continue
		}
		if p.head.Revision == 0 { // erased meanwhile
			continue
		}
		if err := ctx.Err(); err != nil {
			return damaged, err
		}
		if err := fn(user, p.head); err != nil {
			return damaged, err
		}
	}
	return damaged, nil
}

// Stats implements store.Store. It tells what was last heard of the primaries, without a round
// trip. store.ErrUnavailable: none of them has answered the last time.
func (s *Store) Stats(ctx context.Context) (store.Stats, error) {
	if err := s.calls.Begin(ctx); err != nil {
		return store.Stats{}, err
	}
	defer s.calls.Done()
	stats := store.Stats{Users: -1, Room: -1, Free: -1, Reserve: -1, Debt: -1}
	primaries, trouble := s.cluster.Primaries()
	away, fewer, alone, least := 0, 0, 0, s.options.Replicas
	for _, p := range primaries {
		stats.Bytes += p.Memory
		switch {
		case p.Err != nil:
			away++
			trouble = p.Err
		case p.Replicas < s.options.Replicas && !s.options.NotDurable:
			fewer++
			least = min(least, p.Replicas)
			if p.Replicas == 0 {
				alone++
			}
		}
	}
	if len(primaries) == 0 || away == len(primaries) {
		return store.Stats{}, fmt.Errorf("valkey: %w", trouble)
	}
	switch {
	case away > 0:
		stats.Degraded = fmt.Errorf("%w: %d of %d primaries do not answer: %w",
			store.ErrUnavailable, away, len(primaries), trouble)
	case alone > 0:
		stats.Degraded = fmt.Errorf("%d of %d primaries have no linked replica, want %d: no write "+
			"of theirs is acknowledged until they have one", alone, len(primaries),
			s.options.Replicas)
	case fewer > 0:
		stats.Degraded = fmt.Errorf("%d of %d primaries have fewer than %d linked replicas, the "+
			"least %d: a write is acknowledged by those that are linked", fewer, len(primaries),
			s.options.Replicas, least)
	}
	return stats, nil
}
