package row

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/gsimc/gsimc/store"
)

// The last byte of the prefix of a user's keys says what a row holds.
const (
	kindHead  = 0
	kindEvent = 1
	kindEnd   = 2 // above all rows of a user
)

var (
	// FormatKey is the key of the format number of the store.
	FormatKey = []byte("\x00\x00format")
	// EmptiedKey is the key of the number of the last row that was removed from the journal. The
	// journal has all rows after it.
	EmptiedKey = []byte("\x00\x00emptied")
	// IdentityKey is the key of the id of the store.
	IdentityKey = []byte("\x00\x00identity")
	// BranchKey is the key of a number that is drawn anew when the store may have lost events, and
	// that changes the marks of all histories.
	BranchKey = []byte("\x00\x00branch")
	// ErasedKey is the key of a number: 1 while files may hold something of erased users, else 0. A
	// store in which nobody was erased may have none.
	ErasedKey = []byte("\x00\x00erased")
	// UsersKey is the key of the number of users with events, as of the row of the journal whose
	// number stands before it: that of [EmptiedKey], or it is out of date.
	UsersKey = []byte("\x00\x00counted")
	// FillerPrefix begins the keys of rows without meaning.
	FillerPrefix = []byte("\x00\x00filler")
	// JournalPrefix begins the keys of the journal and is below all of them.
	JournalPrefix = []byte("\x00\x00journal")
	// FirstUserKey is below the rows of every user and above those of the store itself.
	FirstUserKey = []byte{0, 1}
	// LastKey is above the rows of every user.
	LastKey = []byte{0xff}
)

// JournalKey returns the key of a row of the journal, in the memory of dst.
func JournalKey(dst []byte, number uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst[:0], JournalPrefix...), number)
}

// JournalNumber returns the number of a row of the journal. Its error wraps [store.ErrCorrupt].
func JournalNumber(key []byte) (uint64, error) {
	if len(key) != len(JournalPrefix)+8 {
		return 0, fmt.Errorf("%w: a row of the journal has a key of %d bytes",
			store.ErrCorrupt, len(key))
	}
	return binary.BigEndian.Uint64(key[len(JournalPrefix):]), nil
}

// Possible reports whether there can be rows of the user. Append accepts no other user ids, and a
// longer one would not fit the length at the beginning of the key.
func Possible(user string) bool { return user != "" && len(user) <= store.MaxIDBytes }

func appendKey(dst []byte, user string, kind byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(user)))
	dst = append(dst, user...)
	return append(dst, kind)
}

// HeadKey returns the key of a user's head row, the first of the rows of the user, in the memory of
// dst.
func HeadKey(dst []byte, user string) []byte { return appendKey(dst[:0], user, kindHead) }

// EventKey returns the key of the events row that begins with a revision, in the memory of dst.
func EventKey(dst []byte, user string, revision uint64) []byte {
	return binary.BigEndian.AppendUint64(appendKey(dst[:0], user, kindEvent), revision)
}

// EndKey returns a key above all rows of the user and below those of the next one, in the memory of
// dst.
func EndKey(dst []byte, user string) []byte { return appendKey(dst[:0], user, kindEnd) }

// UserOf returns the user of a key of any of the rows of users. Its error wraps [store.ErrCorrupt].
func UserOf(key []byte) (string, error) {
	if len(key) >= 3 {
		if n := int(binary.BigEndian.Uint16(key)); n > 0 && len(key) >= n+3 {
			return string(key[2 : n+2]), nil
		}
	}
	return "", fmt.Errorf("%w: expected a row of a user, found another row", store.ErrCorrupt)
}

// Near returns the id of the user at whose rows a key stands, or a part of it; "" for a row of the
// store itself, or for the end of all keys.
func Near(key []byte) string {
	if len(key) < 2 || bytes.Equal(key, LastKey) {
		return ""
	}
	return string(key[2:min(len(key), 2+int(binary.BigEndian.Uint16(key)))])
}

// UserOfHead returns the user of a head key. Its error wraps [store.ErrCorrupt].
func UserOfHead(key []byte) (string, error) {
	n := len(key) - 3 // of the user id
	if n < 1 || key[n+2] != kindHead || int(binary.BigEndian.Uint16(key)) != n {
		return "", fmt.Errorf("%w: expected the head row of a history, found another row",
			store.ErrCorrupt)
	}
	return string(key[2 : n+2]), nil
}

// RevisionOf returns the revision in an events key of a user id of the given length. Its error
// wraps [store.ErrCorrupt].
func RevisionOf(key []byte, userLen int) (uint64, error) {
	prefix := 2 + userLen + 1
	if len(key) != prefix+8 || key[prefix-1] != kindEvent {
		return 0, fmt.Errorf("%w: expected an event row, found another row", store.ErrCorrupt)
	}
	return binary.BigEndian.Uint64(key[prefix:]), nil
}
