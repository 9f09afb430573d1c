// Package plan decides what an Append changes: which records are new, which are duplicates, and
// which revision each gets. It holds the rules of idempotency once for all back ends.
package plan

import (
	"errors"

	"github.com/gsimc/gsimc/internal/prefetch"
	"github.com/gsimc/gsimc/store"
)

// Histories are the histories of the users of one call, as a back end shows them and changes them.
// If the plan ends in an error, the back end is to undo every Add.
type Histories interface {
	// Find returns the revision and the event with the event id of record i in its user's history,
	// with the events added by this plan, or revision 0.
	Find(i int) (uint64, store.Event, error)
	// Add puts record i at the end of its user's history and returns its revision.
	Add(i int) uint64
}

// Make plans the records in order and stores the outcome of each in results, which is as long; a
// record in conflict gets the zero result. The stages begin to load the histories of records ahead
// of their turn; there may be none.
//
// The errors are *store.ConflictError, once all records have been looked at, and those of the
// histories, damage as *store.CorruptError.
func Make(
	h Histories, records []store.Record, results []store.Result, stages ...prefetch.Stage,
) error {
	var conflicts []store.Conflict
	for i := range prefetch.Ahead(len(records), stages...) {
		revision, first, err := h.Find(i)
		switch {
		case err != nil:
			return located(err, i)
		case revision == 0:
			results[i] = store.Result{Revision: h.Add(i)}
		case !records[i].Repeats(first):
			results[i] = store.Result{}
			conflicts = append(conflicts, store.Conflict{Index: i, Revision: revision})
		default:
			results[i] = store.Result{Revision: revision, Duplicate: true}
		}
	}
	if len(conflicts) == 0 {
		return nil
	}
	withinCall(conflicts, records, results)
	return &store.ConflictError{Conflicts: conflicts}
}

// withinCall removes from the conflicts the revisions that this plan has added, because they will
// not exist.
func withinCall(conflicts []store.Conflict, records []store.Record, results []store.Result) {
	added := map[string]uint64{} // the first added revision of each user
	for i, r := range results {
		if r.Revision != 0 && !r.Duplicate && added[records[i].User] == 0 {
			added[records[i].User] = r.Revision
		}
	}
	for i := range conflicts {
		c := &conflicts[i]
		if first := added[records[c.Index].User]; first != 0 && c.Revision >= first {
			c.Revision = 0
		}
	}
}

// located adds to an error of damage the record that met it.
func located(err error, i int) error {
	if errors.Is(err, store.ErrCorrupt) {
		return &store.CorruptError{Index: i, Err: err}
	}
	return err
}
