// Package store defines how user histories are kept: an append-only, ordered list of events per
// user, which is the only truth the recommendation service has about a user. Back ends live in the
// folders below; storetest holds the suite that each of them must pass.
//
// # Conventions
//
// A history has revisions 1, 2, 3, … without gaps; revision r of a user is the state after r
// events, so the number of events is the current revision and 0 means "no history". Users are
// independent: there is an order within a history and none between histories. Ids are opaque bytes
// compared exactly: case matters, and no Unicode normalisation takes place.
//
// # Versions
//
// A revision is a count, so an erased user who comes back reaches the revisions of the former life
// with other events, and so does a history that lost its last events and got others. A [Version]
// has a random mark beside the revision. Two histories with the same Version are the same, over
// erasures, restarts and lost writes that the store notices, and in all processes that share a
// store. (A store does not notice an older copy of all its files that is put in their place.) So
// what is derived from a history is kept with its Version, and [Store.Since] tells what it lacks.
//
// Only the equality of whole Versions counts, and nothing follows from a mark alone: a store may
// draw a mark for each event. The stores of this module draw one when a history gets revision 1
// and keep it for that life. A history that [Store.Rewrite] has replaced has begun another life.
//
// All methods may be called by any number of goroutines at the same time, except that Close must
// not be called from within a callback. A slice that is passed in stays the caller's and is not
// kept after the call returns. A value that is returned, or passed to a callback, belongs to the
// receiver and stays valid for ever.
//
// # Outcomes of a write
//
// A nil error means durable and applied. An error that wraps ErrInvalid, ErrConflict, ErrFull,
// ErrCorrupt or ErrClosed means certainly not applied. Any other error, among them ErrFailed,
// ErrUnavailable and the errors of an expired context, leaves the outcome open: of each user,
// all records were applied or none, and the caller cannot tell which. Repeating the same call is
// always safe, because an event id is applied at most once.
//
// A record can be at fault for itself, by a conflict or by damage to the history of its user. That
// is the error of its Result, and the other records are applied without it.
//
// Error texts never contain user ids, item ids or event ids: they are personal data, and error
// texts end up in logs.
package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/gsimc/gsimc/internal/event"
)

// Event is one interaction of a user.
type Event struct {
	// ID identifies the event within its user's history. Required; at most MaxIDBytes bytes.
	ID string
	// Item is the item the user interacted with. Required; at most MaxIDBytes bytes.
	Item string
	// Type is the kind of interaction, for example "view". May be empty; at most MaxIDBytes bytes.
	Type string
	// Time is when the event happened according to the client. It is kept to the nanosecond and
	// comes back in UTC; the zero Time comes back as the zero Time. It does not influence the order
	// of the history.
	Time time.Time
	// Value is the strength of the event: any number but NaN. It is 1 when the client gave none.
	Value float64
}

// Record is an event on its way into the history of a user. User is required and has at most
// MaxIDBytes bytes.
type Record struct {
	User  string
	Event Event
	// Received is set if Event.Time is the time of arrival, because the client gave none. Such a
	// time differs from one attempt to the next, so it does not count when the event is compared
	// with one of the same id. (An event that was first sent without a time and is repeated with
	// one is another event.)
	Received bool
}

// Repeats reports whether r is first sent again: the same item, type, value and instant, but for a
// time that the client did not give.
func (r Record) Repeats(first Event) bool {
	e := r.Event
	return e.Item == first.Item && e.Type == first.Type && e.Value == first.Value &&
		(r.Received || e.Time.Equal(first.Time))
}

// MaxIDBytes is the largest length of a user id, event id, item id or event type, in bytes.
const MaxIDBytes = event.MaxIDBytes

// Validate checks the lengths of the ids and that the value is a number. Its error names the field
// and wraps ErrInvalid.
func (r Record) Validate() error {
	for _, f := range []struct {
		name, value string
		required    bool
	}{{"user id", r.User, true}, {"event id", r.Event.ID, true}, {"item id", r.Event.Item, true},
		{"event type", r.Event.Type, false}} {
		switch {
		case f.required && f.value == "":
			return fmt.Errorf("%w: the %s is empty", ErrInvalid, f.name)
		case len(f.value) > MaxIDBytes:
			return fmt.Errorf("%w: the %s has %d bytes, want at most %d", ErrInvalid, f.name,
				len(f.value), MaxIDBytes)
		}
	}
	if r.Event.Value != r.Event.Value {
		return fmt.Errorf("%w: the value is not a number", ErrInvalid)
	}
	return nil
}

// ValidateAll validates each record; its error names the index of the first bad one and wraps
// ErrInvalid.
func ValidateAll(records []Record) error {
	for i, r := range records {
		if err := r.Validate(); err != nil {
			return fmt.Errorf("record %d: %w", i, err)
		}
	}
	return nil
}

// A Version names a history: its first Revision events. See the package comment. The zero Version
// is that of the empty history, which every history begins with.
type Version struct {
	// Revision is the number of events.
	Revision uint64
	// Mark is a random number that tells histories of equal length apart; 0 without events.
	Mark uint64
}

// DrawMark returns a random mark.
func DrawMark() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return max(binary.LittleEndian.Uint64(b[:]), 1)
}

// Shard returns the shard of a user among a number of them, for [Store.Each]: the FNV-1a hash of
// the id, with its bits mixed (A. Appleby, MurmurHash3, the finaliser of 64 bits), modulo the
// number.
func Shard(user string, of int) int {
	h := uint64(0xcbf29ce484222325)
	for i := range len(user) {
		h = (h ^ uint64(user[i])) * 0x100000001b3
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return int((h ^ h>>33) % uint64(of))
}

// Result is the outcome of a record.
type Result struct {
	// Version is that of the history that ends with the event. Its Revision is the position of the
	// event in the history.
	Version
	// Before is the mark of the history before the event; 0 if it is the first. What was derived
	// from the Version (Revision-1, Before) may go on with the event, and nothing else may.
	Before uint64
	// Duplicate is set when the event was there before; Version is then that of the first one.
	Duplicate bool
	// Err is the error of this record alone; the other fields are then zero. It is a *ConflictError
	// (ErrConflict), or wraps ErrCorrupt where the history of the user is damaged so that it cannot
	// be told whether the event is new. Such a record was not applied. A store that is spread over
	// several machines may have others, which leave the outcome open.
	Err error
}

// Identity says which store it is.
type Identity struct {
	// ID tells stores apart. It is the same for all processes that share a store, and over
	// restarts. Who knows it can make session tokens, so it does not leave the servers.
	ID [16]byte
	// Lags is set if a history may for a while be that of a moment ago, as in a copy that takes
	// over from another. Without it a history that does not begin with a version which the store
	// has told of never will.
	Lags bool
}

// Name tells stores apart too, for people. It does not tell the ID.
func (id Identity) Name() string {
	hash := sha256.Sum256(append([]byte("name of a store\n"), id.ID[:]...))
	return hex.EncodeToString(hash[:6])
}

// Stats describes a store as a whole.
type Stats struct {
	// Users is the number of users with a history, or -1 when the back end cannot tell cheaply. Of
	// many users it may be an estimate, where the back end is a program of its own.
	Users int64
	// Bytes is the space in use. For a durable back end it is the disk space of its folder, with
	// space that is reserved and not yet written; for another it is an estimate of the memory.
	Bytes int64
	// Room is the disk space that may still be filled, by whatever fills the volume, before the
	// store refuses writes; -1 when it cannot tell, or has no disk.
	Room int64
	// Free is the free disk space, and Reserve the part of it that writes leave; -1 as Room. Debt
	// is how many bytes a durable back end has yet to move to have its files in order, or -1.
	Free, Reserve, Debt int64
	// Refusal is why the store takes no writes at present, or nil. It is over by itself, unlike
	// ErrFailed. It wraps ErrFull if there is too little disk space, ErrStalled if the disk hangs.
	Refusal error
	// Degraded is why the store keeps less than it is set up for at present, or nil: a part of it
	// does not answer, or has fewer copies. It goes on, and this is over by itself.
	Degraded error
	// Damage is a *DamageError if damaged files are known, or nil. The store goes on.
	Damage error
}

// Store keeps user histories.
//
// Besides the errors named at each method, every method returns ErrClosed after Close, the error of
// a context that ended before the work was done, and errors of the back end such as ErrCorrupt and
// ErrFailed.
type Store interface {
	// Append makes the records durable, in order, and returns one Result for each. The records of
	// one user become durable and visible in one atomic step; the stores of this module do so with
	// all records of a call. A record at fault leaves the others alone, see Result.Err. A call with
	// no records does nothing.
	//
	// A record whose event id is already in the user's history, or earlier in the same call, with
	// the same payload (see Record.Repeats) changes nothing and gets the version of the first with
	// Duplicate set; that answer, too, is only given once the first one is durable. With another
	// payload it is at fault.
	//
	// ErrInvalid: a record is malformed (Record.Validate). ErrFull: there is too little disk space
	// to go on safely; the call succeeds again once there is room. After these nothing of the call
	// is applied.
	//
	// A context that ends before the write begins leaves nothing applied; one that ends while the
	// write is under way gives up the waiting and not the write, so the outcome is open, as with
	// ErrFailed. See the package comment.
	Append(ctx context.Context, records []Record) ([]Result, error)

	// Since calls fn for the events that known lacks, in order, each with the Version of the
	// history that ends with it, and returns the Version of the whole history, all as of one moment
	// during the call. If the history does not begin with known, same is false, and fn gets all of
	// it: so a receiver that is called with revision 1 and has something begins anew. The zero
	// Version is the beginning of every history. An unknown user has none, and fn is not called.
	//
	// The history has at least the events of every Append that returned before the call (but see
	// Identity.Lags), and may already have those of one that has not. Like all readers Since sees
	// durable changes only: what it has said is never taken back by a crash. A nil fn asks for the
	// versions alone.
	//
	// The first error of fn ends the call and is returned as it is; head and same are then not to
	// be used. fn may call the store; events arriving meanwhile are not shown to it. A history is
	// never held in memory as a whole. ErrCorrupt: an event is missing or damaged; the events
	// before it have been passed to fn.
	Since(ctx context.Context, user string, known Version,
		fn func(v Version, e Event) error) (head Version, same bool, err error)

	// Erase removes the user's history together with its event ids and returns how many events
	// there were; 1 if it is damaged so that the number is not known. Later events of the user
	// start at revision 1, and event ids may occur again. Erasing an unknown user does nothing. An
	// Append that runs at the same time takes place as a whole either before or after. Errors leave
	// the outcome open as with Append. A lack of disk space that makes Append refuse (ErrFull) does
	// not make Erase refuse.
	Erase(ctx context.Context, user string) (uint64, error)

	// Rewrite replaces histories by what fn makes of them, in one atomic, durable step: after a
	// crash all of them are replaced or none. It returns the versions of the histories afterwards,
	// in the order of the users, who must be different ones.
	//
	// fn gets the whole histories as of one moment, and nothing is written between that moment and
	// the step: an Append or Erase that runs at the same time takes place as a whole before it or
	// after it. fn returns a history for each: nil leaves one as it is, with its version, and an
	// empty one that is not nil erases it. A history that is replaced begins anew: it has the
	// revisions 1, 2, 3, … and no version that another one ever had, so a caller who has derived
	// something from it learns that it is another one. Event ids that are not in it may occur
	// again. Bytes of events that are not in it leave the files as those of erased users do.
	//
	// fn may be called several times, of which the last one counts, and others wait for it. It
	// should be quick, must not call the store, and must not change or keep the histories, which
	// are held in memory as a whole.
	//
	// ErrInvalid: a user or an event is malformed, or an event id stands twice in a history.
	// ErrCorrupt: one of the histories is damaged. ErrFull: as of Append. After these nothing is
	// replaced; other errors leave the outcome open.
	Rewrite(ctx context.Context, users []string,
		fn func(histories [][]Event) [][]Event) ([]Version, error)

	// Each calls fn for every user of a shard with a history, in no promised order, with the
	// version of the history, as of some moment during the call. A shard is a number from 0 to
	// of-1, and has the users for whom [Shard] gives it. So several processes can share the work,
	// and 0 of 1 is all users. The first error of fn ends the iteration and is returned as it is.
	// fn may call the store. Damage does not end the iteration: users whose version cannot be read
	// are left out, and after all others the error is a *SkippedError (ErrCorrupt).
	Each(ctx context.Context, shard, of int, fn func(user string, head Version) error) error

	// Identity returns the identity of the store. It may be called after Close.
	Identity() Identity

	// Stats returns the size of the store. It is cheap enough to be called every second. ErrFailed:
	// the store takes no more writes.
	Stats(ctx context.Context) (Stats, error)

	// Close waits for the calls under way and releases everything. A second Close returns
	// ErrClosed.
	Close() error
}
