package pebble

import (
	"context"
	"errors"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/recent"
)

// errRetry is the outcome of a call whose users' histories are to be read before it can be planned.
var errRetry = errors.New("histories must be read first")

// Append implements [store.Store]. The work that does not need the committer is done here, beside
// other callers: hashes, and looking the users up. Histories that are not in memory are read here
// too, so that as a rule no caller waits for the disk reads of another. The committer itself looks
// up only the old event of an id that comes again.
func (s *Store) Append(ctx context.Context, records []store.Record) ([]store.Result, error) {
	if err := s.calls.Begin(ctx); err != nil {
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
	results := make([]store.Result, len(records))
	c := &call{records: records, results: results, done: make(chan error, 1)}
	s.lookUp(c)
	err := s.submit(ctx, c)
	if errors.Is(err, errRetry) { // a history was let go of meanwhile
		missing := c.missing
		c = &call{
			records: records, results: results, hashes: c.hashes, handles: c.handles,
			fetched: true, done: c.done,
		}
		for _, user := range missing {
			s.reader.prefetch(user)
		}
		err = s.submit(ctx, c)
	}
	if err != nil {
		return nil, err
	}
	return results, nil
}

// lookUp finds the histories of the call's users, and reads those that are not in memory.
func (s *Store) lookUp(c *call) {
	c.hashes = make([]uint64, len(c.records))
	c.handles = make([]*recent.History, len(c.records))
	for i := range c.records {
		r := &c.records[i]
		c.hashes[i] = s.histories.IDHash(r.Event.ID)
		if i > 0 && r.User == c.records[i-1].User {
			c.handles[i] = c.handles[i-1]
			continue
		}
		h := s.histories.Get(r.User)
		if h == nil {
			s.reader.prefetch(r.User)
			h, c.fetched = s.histories.Get(r.User), true
		}
		c.handles[i] = h
	}
}

// admit refuses a write if the store has failed, or if there is no space for it.
func (s *Store) admit(records []store.Record) error {
	if err := s.engine.Err(); err != nil {
		return err
	}
	const rows = 100 // keys, values and their overhead in the journal and in rows, without the ids
	var bytes int64
	for i := range records {
		r := &records[i]
		e := &r.Event
		bytes += rows + int64(3*len(r.User)+2*(len(e.ID)+len(e.Item)+len(e.Type)))
	}
	return s.engine.Admit(bytes)
}
