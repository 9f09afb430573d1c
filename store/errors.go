package store

import (
	"errors"
	"fmt"
	"strings"
)

// Sentinels of the errors that a store returns; test for them with errors.Is. The package comment
// says which of them leave the outcome of a write open.
var (
	// ErrInvalid: a record is malformed. Nothing was applied.
	ErrInvalid = errors.New("store: invalid record")
	// ErrConflict: an event id is already in use for another payload. The record was not applied.
	// See ConflictError.
	ErrConflict = errors.New("store: event id in use with another payload")
	// ErrFull: there is not enough disk space. Nothing was applied.
	ErrFull = errors.New("store: disk full")
	// ErrStalled: the disk does not answer. Writes wait, and go on by themselves.
	ErrStalled = errors.New("store: the disk does not answer")
	// ErrCorrupt: stored data is damaged. A write that ends so was not applied.
	ErrCorrupt = errors.New("store: data corrupt")
	// ErrClosed: the store was closed before the call.
	ErrClosed = errors.New("store: closed")
	// ErrUnavailable: the back end cannot be reached at present, or cannot promise what it is asked
	// for. It comes back by itself, without another start of this process.
	ErrUnavailable = errors.New("store: unavailable")
	// ErrFailed: the back end met an error it cannot recover from and takes no more writes until it
	// is opened again. The cause may be wrapped too (ErrFull, ErrCorrupt), in which case this call
	// certainly was not applied.
	ErrFailed = errors.New("store: failed, takes no more writes")
)

// ConflictError is the error of a record that used an event id again with another payload. It is an
// ErrConflict.
type ConflictError struct {
	// Revision is that of the event that has the id. It may be an earlier record of the same call.
	Revision uint64
}

// Error names the event by its revision.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("event id already used by revision %d with another payload", e.Revision)
}

// Is makes errors.Is(err, ErrConflict) true.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// RefusedError says that a back end does not believe this process who it is. It is an
// ErrUnavailable: who connects reads its files again, so it is over when they have what is right.
type RefusedError struct {
	// What is refused, such as "password".
	What string
	// Answer is what the back end says, and Remedy what to do.
	Answer, Remedy string
}

// Error says what is refused, why, and what to do.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("the store refuses the %s of this server (%s): %s", e.What, e.Answer,
		e.Remedy)
}

// Unwrap makes errors.Is(err, ErrUnavailable) true.
func (e *RefusedError) Unwrap() error { return ErrUnavailable }

// DamageError says which files of a store are known to be damaged. It is an ErrCorrupt. The users
// whose rows stand in the damaged blocks get ErrCorrupt, all others are served.
type DamageError struct {
	// Files are the names of the damaged files.
	Files []string
	// Reads is how often a damaged block has been read since the store was opened.
	Reads int64
}

// Error names the files, and what to do.
func (e *DamageError) Error() string {
	return fmt.Sprintf("damaged files (%s), %d reads of damaged blocks: run gsimc verify",
		strings.Join(e.Files, ", "), e.Reads)
}

// Unwrap makes errors.Is(err, ErrCorrupt) true.
func (e *DamageError) Unwrap() error { return ErrCorrupt }

// DamagedItemsError is the error at the end of a reading of the catalogue that could not read some
// items. It is an ErrCorrupt. All others have been read.
type DamagedItemsError struct{ IDs []string }

// Error says how many items could not be read, without their ids.
func (e *DamagedItemsError) Error() string {
	return fmt.Sprintf("%d damaged items of the catalogue cannot be read", len(e.IDs))
}

// Unwrap makes errors.Is(err, ErrCorrupt) true.
func (e *DamagedItemsError) Unwrap() error { return ErrCorrupt }

// SkippedError is the error at the end of a search through all users that could not read some of
// them. It is an ErrCorrupt. All others have been found.
type SkippedError struct {
	// Users is the number of users who were found, and whose histories cannot be read as a whole.
	Users int64
	// Ranges is the number of damaged parts of files, which may hold more users.
	Ranges int
}

// Error says how much could not be read, and what to do.
func (e *SkippedError) Error() string {
	return fmt.Sprintf("%d damaged histories and %d damaged parts of files, which may hold more, "+
		"cannot be read: run gsimc verify", e.Users, e.Ranges)
}

// Unwrap makes errors.Is(err, ErrCorrupt) true.
func (e *SkippedError) Unwrap() error { return ErrCorrupt }
