package pebble

import (
	"encoding/binary"
	"fmt"

	"github.com/gsimc/gsimc/store"
)

// Keys. All rows of a user lie next to each other and sort as head, events by revision, event ids:
//
//	| length of the user id (2 B, big endian) | user id | 0                          |   head: the current revision
//	| length of the user id (2 B, big endian) | user id | 1 | revision (8 B, b. e.)  |   an event
//	| length of the user id (2 B, big endian) | user id | 2 | event id               |   revision of that event
//
// The length in front keeps the rows of "a" and "aa" apart whatever bytes the ids contain. User ids are not empty, so the
// length 0 is free for rows of the store itself.
const (
	kindHead    = 0
	kindEvent   = 1
	kindEventID = 2
	kindEnd     = 3 // above all rows of a user
)

// formatKey holds the format number of the rows.
var formatKey = []byte("\x00\x00format")

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

func eventIDKey(dst []byte, user, id string) []byte {
	return append(appendKey(dst[:0], user, kindEventID), id...)
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
