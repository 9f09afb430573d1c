package mark

import (
	"fmt"
	"time"

	"github.com/gsimc/gsimc/store"
)

// LossError is the error of opening a store that has lost acknowledged commits, or that is not the
// one its mark belongs to. It is a [store.ErrCorrupt].
type LossError struct {
	// Kind is what was found.
	Kind Kind
	// Marked is the mark beside the engine; zero if it is damaged.
	Marked Mark
	// ID and Commit are those of the store that was found in the engine, if there is one.
	ID     ID
	Commit uint64
	// Missing is the number of commits known to be missing; 0: not known.
	Missing uint64
}

// Kind is a kind of [LossError].
type Kind int

// Kinds of losses.
const (
	Gone    Kind = iota // the folder of the engine is missing
	Emptied             // the folder of the engine holds no store
	Behind              // the last commits are missing
	Gap                 // commits before the last are missing
	Foreign             // another store is in the folder
	Unknown             // the mark is damaged
)

// Error says what is missing and the way out.
func (e *LossError) Error() string {
	was := fmt.Sprintf("store %s (%d acknowledged commits at %s UTC)", e.Marked.ID,
		e.Marked.Commit, e.Marked.At.Format(time.DateTime))
	const restore = "restore the store from a backup"
	switch e.Kind {
	case Gone:
		return fmt.Sprintf("the folder of %s is missing: %s", was, restore)
	case Emptied:
		return fmt.Sprintf("the folder of %s is empty (database does not exist): %s", was, restore)
	case Behind:
		return fmt.Sprintf("acknowledged events have been lost: the last %d commits of %s are "+
			"missing; its log was damaged or removed, or its folder is an older copy: %s",
			e.Missing, was, restore)
	case Gap:
		return fmt.Sprintf("acknowledged events have been lost: %d commits before commit %d are "+
			"missing; a log was damaged or removed: %s", e.Missing, e.Commit, restore)
	case Foreign:
		found := "a store without an id"
		if e.ID != (ID{}) {
			found = "store " + e.ID.String()
		}
		return fmt.Sprintf("the folder holds %s, and the file %s beside it belongs to %s: put the "+
			"folder of store %s back, or %s", found, Name, was, e.Marked.ID, restore)
	default:
		return fmt.Sprintf("%v: what it said about the last acknowledged commit is unknown: %s",
			ErrDamaged, restore)
	}
}

// Unwrap makes errors.Is(err, store.ErrCorrupt) true.
func (e *LossError) Unwrap() error { return store.ErrCorrupt }

// Check compares a mark with the store that was found: its id, and its last commit.
func (m Mark) Check(id ID, commit uint64) error {
	switch {
	case m.ID != id:
		return &LossError{Kind: Foreign, Marked: m, ID: id, Commit: commit}
	case m.Commit > commit:
		return &LossError{Kind: Behind, Marked: m, ID: id, Commit: commit,
			Missing: m.Commit - commit}
	}
	return nil
}
