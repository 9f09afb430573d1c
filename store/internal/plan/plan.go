// Package plan decides what an Append changes: which records are new, which are duplicates, and
// which revision each gets. It holds the rules of idempotency once for all back ends.
package plan

import (
	"errors"

	"github.com/gsimc/gsimc/internal/num/prefetch"
	"github.com/gsimc/gsimc/store"
)

// Histories are the histories of the users of one call, as a back end shows them and changes them.
// If the plan ends in an error, the back end is to undo every Add.
type Histories interface {
	// Find returns the event with the event id of record i in its user's history, with the events
	// added by this plan, and the version of the history up to it, or the zero version.
	Find(i int) (store.Version, store.Event, error)
	// Add puts record i at the end of its user's history and returns the version with it. The
	// versions of one life of a history have the same mark.
	Add(i int) store.Version
}

// Make plans the records in order and stores the outcome of each in results, which is as long. The
// stages begin to load the histories of records ahead of their turn; there may be none.
//
// Conflicts and damage are errors of their results. The error of Make is another one of the
// histories.
func Make(
	h Histories, records []store.Record, results []store.Result, stages ...prefetch.Stage,
) error {
	for i := range prefetch.Ahead(len(records), stages...) {
		at, first, err := h.Find(i)
		switch {
		case errors.Is(err, store.ErrCorrupt):
			results[i] = store.Result{Err: err}
		case err != nil:
			return err
		case at.Revision == 0:
			results[i] = result(h.Add(i))
		case !records[i].Repeats(first):
			results[i] = store.Result{Err: &store.ConflictError{Revision: at.Revision}}
		default:
			results[i] = result(at)
			results[i].Duplicate = true
		}
	}
	return nil
}

func result(v store.Version) store.Result {
	r := store.Result{Version: v}
	if v.Revision > 1 {
		r.Before = v.Mark
	}
	return r
}
