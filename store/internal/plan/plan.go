// Package plan decides what an Append changes: which records are new, which are duplicates, and which revision each gets.
// It holds the rules of idempotency once for all back ends.
package plan

import (
	"errors"

	"github.com/gsimc/gsimc/store"
)

// Histories is what a back end shows of the histories of the users of one call, and takes from it. The back end takes back
// whatever was added when the plan ends in an error.
type Histories interface {
	// Find returns the revision and the event that has the event id of record i in its user's history, with what was added
	// by this plan, or revision 0.
	Find(i int) (uint64, store.Event, error)
	// Add puts record i at the end of its user's history and returns its revision.
	Add(i int) uint64
}

// Make plans the records in order and stores what becomes of each in results, which is as long. Its errors are
// *store.ConflictError and those of the histories, damage as *store.CorruptError.
func Make(h Histories, records []store.Record, results []store.Result) error {
	for i := range records {
		revision, first, err := h.Find(i)
		switch {
		case err != nil:
			return located(err, i)
		case revision == 0:
			results[i] = store.Result{Revision: h.Add(i)}
		case !records[i].Repeats(first):
			if added(records[:i], results, records[i].User, revision) {
				revision = 0
			}
			return &store.ConflictError{Index: i, Revision: revision}
		default:
			results[i] = store.Result{Revision: revision, Duplicate: true}
		}
	}
	return nil
}

// added reports whether the revision of the user was made by one of the records.
func added(records []store.Record, results []store.Result, user string, revision uint64) bool {
	for i, r := range records {
		if r.User == user && results[i] == (store.Result{Revision: revision}) {
			return true
		}
	}
	return false
}

// located says of damage that the i-th record met it.
func located(err error, i int) error {
	if errors.Is(err, store.ErrCorrupt) {
		return &store.CorruptError{Index: i, Err: err}
	}
	return err
}
