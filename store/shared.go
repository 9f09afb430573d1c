package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Shared is a [Store] that several processes use at the same time, with the little that they need
// to agree on what is derived once for all of them: leases, and notes under topics.
//
// One process at a time holds a lease. Its term rises with every new holder, so that what a holder
// has written under its term can be told from what another one writes later, and a holder that was
// paused beyond its lease cannot undo the work of the next one (see [Fence]).
type Shared interface {
	Store

	// Lease takes the lease of a name for a holder, or prolongs it, from now for ttl. held is false
	// if another holder has it; term is then that of the other. A holder that takes it again after
	// it ran out, and whom nobody followed, keeps its term; every other new holder gets a term
	// above all former ones, the first of all 1.
	Lease(ctx context.Context, name, holder string, ttl time.Duration) (term uint64, held bool,
		err error)

	// Release gives a lease back before its time. It does nothing if the holder does not have it.
	Release(ctx context.Context, name, holder string) error

	// PutNote writes a note of a topic, durably as Append does. It replaces the one of the same
	// name. A note has at most MaxNoteBytes bytes. ErrLeaseLost: the fence does not hold; nothing
	// is written.
	PutNote(ctx context.Context, topic, name string, value []byte, fence Fence) error

	// DeleteNotes removes notes of a topic in one atomic step. Unknown names are ignored.
	// ErrLeaseLost: as of PutNote.
	DeleteNotes(ctx context.Context, topic string, names []string, fence Fence) error

	// Note returns a note; found is false if there is none.
	Note(ctx context.Context, topic, name string) (value []byte, found bool, err error)

	// NoteNames returns the names of the notes of a topic, sorted bytewise.
	NoteNames(ctx context.Context, topic string) ([]string, error)

	// Promises says what the store promises with the settings that were found when it was opened,
	// for people, in a fixed order.
	Promises() []Promise
}

// A Fence makes a write of notes depend on a lease: it takes place only while nobody has got a
// later term. The zero Fence does not.
type Fence struct {
	Lease string
	Term  uint64
}

// MaxNoteBytes is the largest size of a note.
const MaxNoteBytes = 64 << 20

// ErrLeaseLost is the error of a write that came too late: another holder has taken the lease of a
// [Fence]. Nothing was written.
var ErrLeaseLost = errors.New("store: the lease has gone to another holder")

// A Promise is a property of a store and how far it is kept.
type Promise struct {
	// Name is what is promised, such as "acknowledged events survive the kill of one process".
	Name string
	// Kept is "yes", "no", or the condition or bound under which it is kept.
	Kept string
}

// ValidateNote checks a topic, a name and a value. Its error names the argument and wraps
// ErrInvalid.
func ValidateNote(topic, name string, value []byte) error {
	for _, f := range []struct{ what, value string }{{"topic", topic}, {"name", name}} {
		if f.value == "" || len(f.value) > MaxIDBytes {
			return fmt.Errorf("%w: the %s of a note has %d bytes, want 1 to %d", ErrInvalid, f.what,
				len(f.value), MaxIDBytes)
		}
	}
	if len(value) > MaxNoteBytes {
		return fmt.Errorf("%w: a note has %d bytes, want at most %d", ErrInvalid, len(value),
			MaxNoteBytes)
	}
	return nil
}
