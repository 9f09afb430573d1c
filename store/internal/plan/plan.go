// Package plan decides what an Append changes: which records are new, which are duplicates, and which revision each gets.
// It holds the rules of idempotency once for all back ends.
package plan

import (
	"errors"

	"github.com/gsimc/gsimc/store"
)

// Reader is the view that a back end gives of its current histories. The histories of the users in the plan must not
// change until the plan has been carried out.
type Reader interface {
	// Head returns the revision of the user's history, 0 for none.
	Head(user string) (uint64, error)
	// Find returns the revision and the event that has the event id in the user's history, or revision 0.
	Find(user, eventID string) (uint64, store.Event, error)
}

// Plan is the outcome of planning: Results has one entry for each record; the records that are not duplicates are to be
// written at the revision given there.
type Plan struct {
	Results []store.Result
	// Heads holds the new revision of every user who gets new events.
	Heads map[string]uint64
	// Duplicates tells whether any record is a duplicate.
	Duplicates bool
}

// eventKey identifies an event across users.
type eventKey struct{ user, id string }

// Make plans the records. Its errors are *store.ConflictError and those of the reader, damage as *store.CorruptError.
func Make(r Reader, records []store.Record) (Plan, error) {
	p := Plan{Results: make([]store.Result, len(records)), Heads: make(map[string]uint64)}
	seen := make(map[eventKey]int, len(records)) // index of the first record with the key
	heads := make(map[string]uint64)             // of every user read so far
	for i, rec := range records {
		k := eventKey{rec.User, rec.Event.ID}
		if first, ok := seen[k]; ok {
			if !rec.Repeats(records[first].Event) {
				return Plan{}, &store.ConflictError{Index: i}
			}
			p.Results[i] = store.Result{Revision: p.Results[first].Revision, Duplicate: true}
			p.Duplicates = true
			continue
		}
		seen[k] = i
		before, known := heads[rec.User]
		if !known {
			head, err := r.Head(rec.User)
			if err != nil {
				return Plan{}, located(err, i)
			}
			before, heads[rec.User] = head, head
		}
		if before > 0 { // a new user has no event ids to look up
			revision, e, err := r.Find(rec.User, rec.Event.ID)
			switch {
			case err != nil:
				return Plan{}, located(err, i)
			case revision > 0 && !rec.Repeats(e):
				return Plan{}, &store.ConflictError{Index: i, Revision: revision}
			case revision > 0:
				p.Results[i] = store.Result{Revision: revision, Duplicate: true}
				p.Duplicates = true
				continue
			}
		}
		next := max(before, p.Heads[rec.User]) + 1
		p.Heads[rec.User] = next
		p.Results[i] = store.Result{Revision: next}
	}
	return p, nil
}

// located says of damage that the i-th record met it.
func located(err error, i int) error {
	if errors.Is(err, store.ErrCorrupt) {
		return &store.CorruptError{Index: i, Err: err}
	}
	return err
}
