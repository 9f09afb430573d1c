package pebble

import (
	"encoding/binary"
	"fmt"

	"github.com/gsimc/gsimc/store"
)

// Keys. All rows of a user lie next to each other and sort as head, events by revision:
//
//	| length of the user id (2 B, big endian) | user id | 0                          |   head: the last revision in rows
//	| length of the user id (2 B, big endian) | user id | 1 | revision (8 B, b. e.)  |   events from this revision on
//
// The length in front keeps the rows of "a" and "aa" apart whatever bytes the ids contain. User ids are not empty, so the
// length 0 is free for rows of the store itself: its format, and the journal.
const (
	kindHead  = 0
	kindEvent = 1
	kindEnd   = 2 // above all rows of a user
)

// formatKey holds the format number of the rows.
var formatKey = []byte("\x00\x00format")

// journalPrefix begins the keys of the journal; the number of the row follows (8 B, big endian).
var journalPrefix = []byte("\x00\x00journal")

func journalKey(dst []byte, number uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst[:0], journalPrefix...), number)
}

func journalNumber(key []byte) (uint64, error) {
	if len(key) != len(journalPrefix)+8 {
		return 0, fmt.Errorf("%w: a row of the journal has a key of %d bytes", store.ErrCorrupt, len(key))
	}
	return binary.BigEndian.Uint64(key[len(journalPrefix):]), nil
}

// firstUserKey is below the rows of every user and above those of the store itself.
var firstUserKey = []byte{0, 1}

// possible reports whether there can be rows of the user: Append accepts no other user ids, and a longer one would not fit
// the length in front of the key.
func possible(user string) bool { return user != "" && len(user) <= store.MaxIDBytes }

func appendKey(dst []byte, user string, kind byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(user)))
	dst = append(dst, user...)
	return append(dst, kind)
}

func headKey(dst []byte, user string) []byte { return appendKey(dst[:0], user, kindHead) }

func eventKey(dst []byte, user string, revision uint64) []byte {
	return binary.BigEndian.AppendUint64(appendKey(dst[:0], user, kindEvent), revision)
}

func endKey(dst []byte, user string) []byte { return appendKey(dst[:0], user, kindEnd) }

// userOfHead returns the user of a head key.
func userOfHead(key []byte) (string, error) {
	if len(key) < 4 || key[len(key)-1] != kindHead || int(binary.BigEndian.Uint16(key)) != len(key)-3 {
		return "", fmt.Errorf("%w: expected the head row of a history, found another row", store.ErrCorrupt)
	}
	return string(key[2 : len(key)-1]), nil
}

// revisionOf returns the revision in an event key of a user id of the given length.
func revisionOf(key []byte, userLen int) (uint64, error) {
	prefix := 2 + userLen + 1
	if len(key) != prefix+8 || key[prefix-1] != kindEvent {
		return 0, fmt.Errorf("%w: expected an event row, found another row", store.ErrCorrupt)
	}
	return binary.BigEndian.Uint64(key[prefix:]), nil
}
