package ingest

import (
	"context"
	"errors"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/server/internal/outcome"
	"github.com/gsimc/gsimc/store"
)

// early are the events whose only fault is that they lie too far ahead, as their indices in the
// batch, by user and event id.
type early map[string]map[string][]int

// errAllFound ends the reading of a history.
var errAllFound = errors.New("all events are found")

// A call begins no further history once it has read mostRead events. To open one counts as
// seekCost.
const (
	mostRead = 16_384
	seekCost = 32
)

// refuse rejects the events at fault. But one that lies too far ahead may have been taken before
// the clock of this server was set back, or by a server whose clock differs: its repeat is answered
// as such, since a client takes the refusal of its arguments for a proof that the event is not
// applied. If it cannot be found out, the refusal says that.
func (s *service) refuse(ctx context.Context, in *ingestion, batch []arrival) {
	var ahead early
	var users []string // of ahead
	for i := range batch {
		a := &batch[i]
		if a.fault == nil {
			continue
		}
		in.reject(i, a.fault)
		if a.record.User == "" {
			continue
		}
		if ahead[a.record.User] == nil {
			users = append(users, a.record.User)
		}
		ahead.add(a.record.User, a.record.Event.ID, i)
	}
	read := 0
	for _, user := range users {
		err := outcome.ErrNotSought
		if read < mostRead {
			n := 0
			n, err = s.findRepeats(ctx, in, batch, user, ahead[user])
			read += seekCost + n
		}
		if err == nil {
			continue
		}
		for _, all := range ahead[user] {
			for _, i := range all {
				in.reject(i, err)
			}
		}
	}
}

func (m *early) add(user, id string, i int) {
	if *m == nil {
		*m = early{}
	}
	if (*m)[user] == nil {
		(*m)[user] = map[string][]int{}
	}
	(*m)[user][id] = append((*m)[user][id], i)
}

// findRepeats reads the history of a user for the events with these ids, and takes the ids that it
// finds out of the map. It returns the number of events that it has read. After an error it cannot
// be told of the others whether they are there.
func (s *service) findRepeats(
	ctx context.Context, in *ingestion, batch []arrival, user string, ids map[string][]int,
) (read int, err error) {
	_, _, err = s.Store.Since(ctx, user, store.Version{},
		func(v store.Version, e store.Event) error {
			read++
			for _, i := range ids[e.ID] {
				if batch[i].record.Repeats(e) {
					in.outcomes[i] = eventOutcome{version: v,
						disposition: pb.EventDisposition_EVENT_DISPOSITION_DUPLICATE}
				}
			}
			if delete(ids, e.ID); len(ids) == 0 {
				return errAllFound
			}
			return nil
		})
	if errors.Is(err, errAllFound) {
		return read, nil
	}
	return read, err
}
