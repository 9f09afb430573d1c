package store

import "context"

// Checkpointer is a [Store] on disk that can copy itself while it is in use, so that another
// process can read everything at leisure.
type Checkpointer interface {
	Store

	// Checkpoint makes a copy of the whole store as of one moment during the call, and returns the
	// name of its folder, relative to that of the store. Writes go on meanwhile and afterwards and
	// do not change the copy. It has every Append that returned before the call, and every Append
	// as a whole or not at all. The copy and the store share the disk space of the files that they
	// have in common.
	//
	// A copy keeps the history of a user who is erased later, so it must be removed soon. Opening
	// the store removes the copies of an earlier process, except one that another process reads.
	Checkpoint(ctx context.Context) (dir string, err error)

	// RemoveCheckpoint removes a copy. A name that Checkpoint did not return, or that is removed
	// already, is an error.
	RemoveCheckpoint(ctx context.Context, dir string) error
}
