package pebble

import (
	"context"
	"errors"

	"github.com/gsimc/gsimc/store"
)

// errRetry is the outcome of a call whose users' histories are to be read before it can be planned.
var errRetry = errors.New("histories must be read first")

// Append implements store.Store. Histories that are not in memory are read here and not by the committer, so that as a rule nobody
// waits for somebody else's disk reads; only what an old event was that comes again, the committer looks up itself.
func (s *Store) Append(ctx context.Context, records []store.Record) ([]store.Result, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.calls.Done()
	if len(records) == 0 {
		return nil, nil
	}
	if err := store.ValidateAll(records); err != nil {
		return nil, err
	}
	if err := s.admit(records); err != nil {
		return nil, err
	}
	c := &call{records: records, results: make([]store.Result, len(records)), done: make(chan error, 1)}
	err := s.submit(ctx, c)
	if errors.Is(err, errRetry) {
		missing := c.missing
		c = &call{records: records, results: c.results, handles: c.handles, retried: true, done: c.done}
		for _, user := range missing {
			s.prefetch(user)
		}
		err = s.submit(ctx, c)
	}
	if err != nil {
		return nil, err
	}
	return c.results, nil
}

// admit refuses writes of a failed store and those for which there is no space.
func (s *Store) admit(records []store.Record) error {
	if err := s.failure.err(); err != nil {
		return err
	}
	const rows = 100 // keys, values and their overhead in the journal and in rows, apart from the ids
	var bytes int64
	for i := range records {
		r := &records[i]
		bytes += rows + int64(3*len(r.User)+2*(len(r.Event.ID)+len(r.Event.Item)+len(r.Event.Type)))
	}
	return s.space.admit(bytes)
}

// Erase implements store.Store.
func (s *Store) Erase(ctx context.Context, user string) (uint64, error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.calls.Done()
	if !possible(user) {
		return 0, nil
	}
	if err := s.failure.err(); err != nil {
		return 0, err
	}
	c := &call{erase: user, done: make(chan error, 1)}
	if err := s.submit(ctx, c); err != nil {
		return 0, err
	}
	return c.erased, nil
}
