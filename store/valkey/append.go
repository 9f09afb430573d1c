package valkey

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/redis/rueidis"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/valkey/internal/cluster"
)

// addition is what a call of Append adds to one history.
type addition struct {
	cluster.Call
	records []int    // indices of its records
	marks   []uint64 // of its records, if they are new
}

// Append implements store.Store. It is atomic for each user. The error of a Result may leave the
// outcome open, with store.ErrUnavailable; an error of Append is one of all records.
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
	additions := s.additions(records)
	calls := make([]*cluster.Call, len(additions))
	for i, a := range additions {
		calls[i] = &a.Call
	}
	s.cluster.Write(ctx, calls...)
	results := make([]store.Result, len(records))
	errs := make([]error, len(additions))
	for i, a := range additions {
		if errs[i] = a.Err; a.Err == nil {
			errs[i] = a.read(results)
		}
		if errs[i] != nil {
			for _, at := range a.records {
				results[at] = store.Result{Err: errs[i]}
			}
		}
	}
	if err := ofAll(errs); err != nil {
		return nil, err
	}
	return results, nil
}

// ofAll returns the error of a call from those of its users: nil if one of them has none, or is at
// fault for itself. One that leaves the outcome open goes before one that does not.
func ofAll(errs []error) (all error) {
	for _, err := range errs {
		if err == nil || errors.Is(err, store.ErrCorrupt) {
			return nil
		}
		if all == nil || errors.Is(all, store.ErrFull) {
			all = err
		}
	}
	return all
}

// additions groups records by users.
func (s *Store) additions(records []store.Record) []*addition {
	var all []*addition
	byUser := make(map[string]*addition, len(records))
	for i := range records {
		r := &records[i]
		a := byUser[r.User]
		if a == nil {
			a = &addition{Call: cluster.Call{Function: function("append"),
				Keys: s.keys.history(r.User)}}
			byUser[r.User] = a
			all = append(all, a)
		}
		received := ""
		if r.Received {
			received = "r"
		}
		mark := drawMark()
		a.Args = append(a.Args, standIn(r.Event.ID), received, packEvent(mark, &r.Event))
		a.records, a.marks = append(a.records, i), append(a.marks, mark)
	}
	return all
}

// drawMark returns a random mark. It is drawn for every event, so it has to be quick.
func drawMark() uint64 { return max(rand.Uint64(), 1) }

// errAnswer is the error of an answer that is not what a function gives.
var errAnswer = fmt.Errorf("%w: a function of the store answers something else",
	store.ErrUnavailable)

// read reads the answer of a call: the mark before, and an element for each record.
func (a *addition) read(results []store.Result) error {
	answer, err := a.Reply.ToArray()
	if err != nil || len(answer) != 1+len(a.records) {
		return errAnswer
	}
	before, err := markOf(&answer[0])
	if err != nil {
		return errAnswer // the records may have been added
	}
	for i, at := range a.records {
		m := &answer[1+i]
		if !m.IsInt64() {
			if results[at], err = foundBefore(m); err != nil {
				return errAnswer
			}
			continue
		}
		revision, _ := m.AsInt64()
		results[at] = store.Result{
			Version: store.Version{Revision: uint64(revision), Mark: a.marks[i]}, Before: before,
		}
		before = a.marks[i]
	}
	return nil
}

// foundBefore reads the outcome of a record whose event id was there.
func foundBefore(m *rueidis.RedisMessage) (r store.Result, err error) {
	parts, err := m.ToArray()
	if err != nil || len(parts) == 0 {
		return r, errAnswer
	}
	kind, _ := parts[0].ToString()
	revision := int64(0)
	if len(parts) > 1 {
		revision, _ = parts[1].AsInt64()
	}
	switch {
	case kind == "x":
		return store.Result{Err: fmt.Errorf("%w: an event of the history is missing",
			store.ErrCorrupt)}, nil
	case kind == "c" && len(parts) == 2:
		return store.Result{Err: &store.ConflictError{Revision: uint64(revision)}}, nil
	case (kind == "d" || kind == "o") && len(parts) == 4:
		r.Revision, r.Duplicate = uint64(revision), kind == "d"
		if r.Mark, err = markOf(&parts[2]); err == nil {
			r.Before, err = markOf(&parts[3])
		}
		return r, err
	default:
		return r, errAnswer
	}
}

func markOf(m *rueidis.RedisMessage) (uint64, error) {
	text, err := m.ToString()
	if err != nil {
		return 0, errAnswer
	}
	return unpackMark(text)
}

// Erase implements store.Store.
func (s *Store) Erase(ctx context.Context, user string) (uint64, error) {
	if err := s.calls.Begin(ctx); err != nil {
		return 0, err
	}
	defer s.calls.Done()
	if !known(user) {
		return 0, nil
	}
	name := token()
	n, err := s.count(ctx, "erase", s.keys.once(user, name), name)
	return uint64(n), err
}

// count calls a function that writes and answers with a number.
func (s *Store) count(
	ctx context.Context, name string, keys []string, args ...string,
) (int64, error) {
	call := &cluster.Call{Function: function(name), Keys: keys, Args: args}
	s.cluster.Write(ctx, call)
	if call.Err != nil {
		return 0, call.Err
	}
	n, err := call.Reply.AsInt64()
	if err != nil {
		return 0, errAnswer
	}
	return n, nil
}
