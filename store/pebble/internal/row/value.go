package row

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/gsimc/gsimc/store"
)

const (
	eventsVersion  = 2
	journalVersion = 1

	// ChecksumBytes is how much [End] adds to a value.
	ChecksumBytes = 4
)

// errShort is the reason when a value ends too early.
var errShort = errors.New("ends too early")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// End ends the value dst[start:] of a row with its checksum.
func End(dst []byte, start int, key []byte) []byte {
	return binary.LittleEndian.AppendUint32(dst, checksum(key, dst[start:]))
}

func checksum(key, value []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value)
}

// checked returns the value without its checksum.
func checked(key, value []byte) ([]byte, error) {
	body := len(value) - ChecksumBytes
	if body < 0 || binary.LittleEndian.Uint32(value[body:]) != checksum(key, value[:body]) {
		return nil, fmt.Errorf("%w: checksum mismatch", store.ErrCorrupt)
	}
	return value[:body], nil
}

// versioned returns the body of a value that begins with a version.
func versioned(key, value []byte, want byte) ([]byte, error) {
	body, err := checked(key, value)
	switch {
	case err != nil:
		return nil, err
	case len(body) == 0:
		return nil, fmt.Errorf("%w: %w", store.ErrCorrupt, errShort)
	case body[0] != want:
		return nil, fmt.Errorf("%w: version %d, this program knows %d",
			store.ErrCorrupt, body[0], want)
	}
	return body[1:], nil
}

// EncodeHead returns the value of a head row, in the memory of dst.
func EncodeHead(dst, key []byte, head store.Version) []byte {
	dst = binary.BigEndian.AppendUint64(dst[:0], head.Revision)
	return End(binary.BigEndian.AppendUint64(dst, head.Mark), 0, key)
}

// DecodeHead returns what is in the value of a head row. The mark is 0 if the row is of format 3.
func DecodeHead(key, value []byte) (head store.Version, err error) {
	body, err := checked(key, value)
	switch {
	case err != nil:
		return head, err
	case len(body) == 16:
		head.Mark = binary.BigEndian.Uint64(body[8:])
	case len(body) != 8:
		return head, fmt.Errorf("%w: head of %d bytes, want 16", store.ErrCorrupt, len(body))
	}
	head.Revision = binary.BigEndian.Uint64(body)
	return head, nil
}

// EncodeNumber returns the value of a format, emptied or branch row, in the memory of dst.
func EncodeNumber(dst, key []byte, n uint64) []byte {
	return End(binary.BigEndian.AppendUint64(dst[:0], n), 0, key)
}

// DecodeNumber returns the number in the value of a format, emptied or branch row.
func DecodeNumber(key, value []byte) (uint64, error) {
	body, err := checked(key, value)
	if err != nil {
		return 0, err
	}
	if len(body) != 8 {
		return 0, fmt.Errorf("%w: number of %d bytes, want 8", store.ErrCorrupt, len(body))
	}
	return binary.BigEndian.Uint64(body), nil
}

// EncodeUsers returns the value of the users row.
func EncodeUsers(emptied uint64, users int64) []byte {
	b := binary.BigEndian.AppendUint64(nil, emptied)
	return End(binary.BigEndian.AppendUint64(b, uint64(users)), 0, UsersKey)
}

// DecodeUsers returns what is in the value of the users row.
func DecodeUsers(value []byte) (emptied uint64, users int64, err error) {
	body, err := checked(UsersKey, value)
	if err != nil {
		return 0, 0, err
	}
	if len(body) != 16 {
		return 0, 0, fmt.Errorf("%w: users of %d bytes, want 16", store.ErrCorrupt, len(body))
	}
	return binary.BigEndian.Uint64(body), int64(binary.BigEndian.Uint64(body[8:])), nil
}

// EncodeIdentity returns the value of the identity row.
func EncodeIdentity(id [16]byte) []byte { return End(id[:], 0, IdentityKey) }

// DecodeIdentity returns the id in the value of the identity row.
func DecodeIdentity(value []byte) (id [16]byte, err error) {
	body, err := checked(IdentityKey, value)
	if err != nil {
		return id, err
	}
	if len(body) != len(id) {
		return id, fmt.Errorf("%w: id of %d bytes, want %d", store.ErrCorrupt, len(body), len(id))
	}
	copy(id[:], body)
	return id, nil
}

// BeginEvents begins the value of a row of events, in the memory of dst. [AppendEncoded] adds
// events, [End] ends it.
func BeginEvents(dst []byte) []byte { return append(dst[:0], eventsVersion) }

// AppendEncoded appends an encoded event with its length in front.
func AppendEncoded(dst, event []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(event))), event...)
}

// Events returns the encoded events in the value of a row, for [CutEvent].
func Events(key, value []byte) ([]byte, error) { return versioned(key, value, eventsVersion) }

// CutEvent takes the first encoded event off events.
func CutEvent(events []byte) (event, rest []byte, err error) {
	if event, rest, err = cut(events); err != nil {
		return nil, nil, corruptEvent(err)
	}
	return event, rest, nil
}

// cut takes bytes with their length in front off b.
func cut(b []byte) (value, rest []byte, err error) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return nil, nil, errShort
	}
	return b[n : n+int(size)], b[n+int(size):], nil
}

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}
