package row

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/gsimc/gsimc/store"
)

// Kinds of entries of the journal.
const (
	entryEvent = 1
	entryErase = 2
	entryFirst = 3
)

var errEntry = errors.New("unknown entry")

// BeginJournal begins a row of the journal at the end of dst. [AppendEntry] and [AppendErasure] add
// entries, [End] ends it.
func BeginJournal(dst []byte) []byte { return append(dst, journalVersion) }

// MaxEntryBytes is the largest length of the entry of an event.
func MaxEntryBytes(user string, e *store.Event) int { return 16 + len(user) + maxEventBytes(e) }

// AppendEntry appends the entry of an event, which makes the history that of a version, and returns
// the offset of the encoded event, with its length in front, in the result.
func AppendEntry(dst []byte, user string, v store.Version, e *store.Event) (b []byte, at int) {
	if v.Revision == 1 {
		b = binary.BigEndian.AppendUint64(appendString(append(dst, entryFirst), user), v.Mark)
	} else {
		b = binary.AppendUvarint(appendString(append(dst, entryEvent), user), v.Revision)
	}
	return AppendEvent(b, e), len(b)
}

// MaxErasureBytes is the largest length of the entry of an erasure.
func MaxErasureBytes(user string) int { return 4 + len(user) }

// AppendErasure appends the entry of an erasure.
func AppendErasure(dst []byte, user string) []byte {
	return appendString(append(dst, entryErase), user)
}

// EventAt returns the encoded event at the offset that [AppendEntry] or [EachEntry] has told. The
// bytes must not have changed since.
func EventAt(b []byte) []byte {
	size, n := binary.Uvarint(b)
	return b[n : n+int(size)]
}

// EachEntry calls fn for each entry of a row of the journal, in order. An event comes with its
// revision and the offset in the value for [EventAt], an erasure with revision 0. The version has a
// mark for revision 1 alone, and not where it was written in format 3. fn must not keep user.
func EachEntry(key, value []byte, fn func(user []byte, v store.Version, at int)) error {
	body, err := versioned(key, value, journalVersion)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	for len(body) > 0 {
		user, v, rest, err := cutEntry(body)
		at := len(value) - ChecksumBytes - len(rest)
		if err == nil && v.Revision > 0 {
			_, rest, err = cut(rest)
		}
		if err != nil {
			return fmt.Errorf("%w: journal: %w", store.ErrCorrupt, err)
		}
		fn(user, v, at)
		body = rest
	}
	return nil
}

// cutEntry takes the first entry off b, up to its event.
func cutEntry(b []byte) (user []byte, v store.Version, rest []byte, err error) {
	kind := b[0]
	if user, rest, err = cut(b[1:]); err != nil {
		return nil, v, nil, err
	}
	switch kind {
	case entryErase:
		return user, v, rest, nil
	case entryFirst:
		if len(rest) < 8 {
			return nil, v, nil, errShort
		}
		v = store.Version{Revision: 1, Mark: binary.BigEndian.Uint64(rest)}
		return user, v, rest[8:], nil
	case entryEvent:
		revision, n := binary.Uvarint(rest)
		if n <= 0 || revision == 0 {
			return nil, v, nil, errShort
		}
		return user, store.Version{Revision: revision}, rest[n:], nil
	}
	return nil, v, nil, errEntry
}
