package pebble

import (
	"context"
	"errors"
	"slices"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/internal/plan"
	"github.com/gsimc/gsimc/store/pebble/internal/recent"
)

// rewrite is a Rewrite on its way through the committer.
type rewrite struct {
	users    []string
	fn       func([][]store.Event) [][]store.Event
	known    []store.Version // of the histories, as stored
	events   [][]store.Event
	versions []store.Version // afterwards
}

// Rewrite implements [store.Store]. It is written as an erasure and the events of the new history,
// which are one change: the journal, the rows and a crash know nothing else of it.
//
// The histories are read here, beside other callers. The committer adds what has come meanwhile,
// and asks for them again only if one has begun another life, so that a user who is written to all
// the time keeps nobody waiting.
func (s *Store) Rewrite(
	ctx context.Context, users []string, fn func([][]store.Event) [][]store.Event,
) ([]store.Version, error) {
	if err := s.calls.Begin(ctx); err != nil {
		return nil, err
	}
	defer s.calls.Done()
	if err := plan.CheckUsers(users); err != nil {
		return nil, err
	}
	if err := s.engine.Err(); err != nil {
		return nil, err
	}
	users = slices.Clone(users)
	for {
		rw := &rewrite{users: users, fn: fn}
		var records []store.Record
		for _, user := range users {
			events, err := s.readAll(ctx, rw, user)
			if err != nil {
				return nil, err
			}
			for _, e := range events {
				records = append(records, store.Record{User: user, Event: e})
			}
		}
		if err := s.admit(records); err != nil {
			return nil, err
		}
		c := &call{rewrite: rw, done: make(chan error, 1)}
		if err := s.submit(ctx, c); err == nil {
			return rw.versions, nil
		} else if !errors.Is(err, errRetry) {
			return nil, err
		}
	}
}

// readAll adds the history of a user to a rewrite, and returns its events.
func (s *Store) readAll(
	ctx context.Context, rw *rewrite, user string,
) (events []store.Event, err error) {
	head, _, err := s.reader.since(ctx, user, store.Version{},
		func(_ store.Version, e store.Event) error {
			events = append(events, e)
			return nil
		})
	rw.known, rw.events = append(rw.known, s.reader.version(head)), append(rw.events, events)
	return events, err
}

// planRewrite erases the histories that are to be replaced and adds the events that they shall
// have. There is a group to wait for unless nothing changes, and what fn was shown is durable.
func (c *committer) planRewrite(rw *rewrite) (wait bool, err error) {
	handles := make([]*recent.History, len(rw.users))
	for i := range rw.users {
		if handles[i], err = c.completed(rw, i); err != nil {
			return false, err
		}
		defer c.editor.Trim(rw.users[i]) // the history may have come to memory for nothing
		wait = wait || !c.editor.Durable(handles[i])
	}
	made := rw.fn(slices.Clone(rw.events))
	if err := plan.CheckRewritten(rw.users, made); err != nil {
		return false, err
	}
	for i, h := range handles {
		if made[i] != nil && !c.editor.Empty(h) {
			if err := c.beginRemoval(); err != nil { // before anything has changed
				return false, err
			}
		}
	}
	c.editor.Begin()
	for i, h := range handles {
		if made[i] != nil {
			c.replace(h, made[i])
			wait = wait || !c.editor.Durable(h)
		}
	}
	c.editor.Keep()
	rw.versions = make([]store.Version, len(handles))
	for i, h := range handles {
		rw.versions[i] = c.reader.version(c.editor.Head(h))
		wait = wait || !c.editor.Durable(h)
	}
	return wait, nil
}

// completed brings a history of a rewrite into memory, and adds the events that have come since it
// was read. The error is errRetry if it does not begin with what was read.
func (c *committer) completed(rw *rewrite, i int) (*recent.History, error) {
	h := c.histories.Get(rw.users[i])
	if h == nil {
		head, err := c.reader.headInRows(rw.users[i])
		if err != nil {
			return nil, err
		}
		h = c.editor.Put(recent.NewHistory(rw.users[i], head))
	}
	head := c.editor.Head(h)
	if !recent.Begins(head, rw.known[i]) {
		return nil, errRetry
	}
	for r := rw.known[i].Revision + 1; r <= head.Revision; r++ {
		e, err := c.planner.eventAt(h, r)
		if err != nil {
			return nil, err
		}
		rw.events[i] = append(rw.events[i], e)
	}
	rw.known[i] = head
	return h, nil
}

// replace begins a history anew.
func (c *committer) replace(h *recent.History, events []store.Event) {
	if !c.editor.Empty(h) {
		c.erase(h)
	}
	for i := range events {
		c.editor.Add(h, &events[i], c.histories.IDHash(events[i].ID))
	}
}
