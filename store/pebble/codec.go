package pebble

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"time"

	"github.com/gsimc/gsimc/store"
)

// Values. Every value ends in a CRC-32C (Castagnoli, little endian) over its key and the value before it, so that a value
// found under the wrong key is noticed as well as a damaged one.
//
//	number:   | value (8 B, big endian) | CRC |
//	events:   | version 2 (1 B) | event | event | … | CRC |                     revisions from that of the key on
//	journal:  | version 1 (1 B) | entry | entry | … | CRC |
//
//	event:    | length of the rest (uvarint) | flags (1 B) | seconds since 1970 (zigzag varint) | nanoseconds (uvarint, flag 1)
//	          | value (IEEE 754, 8 B, l. e., flag 2) | id, item, type: each length (uvarint) and bytes |
//
// Without flag 1 the nanoseconds are 0, without flag 2 the value is 1. The entries of the journal are in journal.go.
const (
	eventsVersion  = 2
	journalVersion = 1

	hasNanos = 1
	hasValue = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func appendCRC(value, key []byte) []byte {
	return binary.LittleEndian.AppendUint32(value, checksum(key, value))
}

func checksum(key, value []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value)
}

// checkCRC returns the value without its CRC.
func checkCRC(key, value []byte) ([]byte, error) {
	body := len(value) - 4
	if body < 0 || binary.LittleEndian.Uint32(value[body:]) != checksum(key, value[:body]) {
		return nil, fmt.Errorf("%w: checksum mismatch", store.ErrCorrupt)
	}
	return value[:body], nil
}

func encodeNumber(dst, key []byte, n uint64) []byte {
	return appendCRC(binary.BigEndian.AppendUint64(dst[:0], n), key)
}

func decodeNumber(key, value []byte) (uint64, error) {
	body, err := checkCRC(key, value)
	if err != nil {
		return 0, err
	}
	if len(body) != 8 {
		return 0, fmt.Errorf("%w: number of %d bytes, want 8", store.ErrCorrupt, len(body))
	}
	return binary.BigEndian.Uint64(body), nil
}

// checkVersioned returns the body of a value that begins with a version.
func checkVersioned(key, value []byte, want byte) ([]byte, error) {
	body, err := checkCRC(key, value)
	switch {
	case err != nil:
		return nil, err
	case len(body) == 0:
		return nil, fmt.Errorf("%w: %w", store.ErrCorrupt, errShort)
	case body[0] != want:
		return nil, fmt.Errorf("%w: version %d, this program knows %d", store.ErrCorrupt, body[0], want)
	}
	return body[1:], nil
}

// maxEventBytes is the largest length of an encoded event whose strings have so many bytes.
func maxEventBytes(e *store.Event) int { return 40 + len(e.ID) + len(e.Item) + len(e.Type) }

// appendEvent appends the encoded event, its length in front.
func appendEvent(dst []byte, e *store.Event) []byte {
	start := len(dst)
	dst = append(dst, 0, 0) // room for a length of two bytes, and then the flags
	flags := len(dst)
	dst = append(dst, 0)
	dst = binary.AppendVarint(dst, e.Time.Unix())
	if nanos := e.Time.Nanosecond(); nanos != 0 {
		dst[flags] |= hasNanos
		dst = binary.AppendUvarint(dst, uint64(nanos))
	}
	if e.Value != 1 {
		dst[flags] |= hasValue
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(e.Value))
	}
	dst = appendString(appendString(appendString(dst, e.ID), e.Item), e.Type)
	// The ids have at most MaxIDBytes each, so two bytes always do: a varint may be longer than necessary.
	n := len(dst) - flags
	dst[start], dst[start+1] = byte(n)|0x80, byte(n>>7)
	return dst
}

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func appendBytes(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

func corruptEvent(err error) error { return fmt.Errorf("%w: event: %w", store.ErrCorrupt, err) }

// errShort is the reason when a value ends too early.
var errShort = errors.New("ends too early")

// cutBytes takes bytes with their length in front off b.
func cutBytes(b []byte) (value, rest []byte, err error) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return nil, nil, errShort
	}
	return b[n : n+int(size)], b[n+int(size):], nil
}

// decodeEvent decodes what appendEvent wrote, without the length. Nothing in the result refers to b.
func decodeEvent(b []byte) (store.Event, error) {
	e, err := decodeEventBody(b)
	if err != nil {
		return store.Event{}, corruptEvent(err)
	}
	return e, nil
}

func decodeEventBody(b []byte) (e store.Event, err error) {
	if len(b) == 0 {
		return e, errShort
	}
	flags := b[0]
	if flags&^(hasNanos|hasValue) != 0 {
		return e, fmt.Errorf("unknown flags %#x", flags)
	}
	b = b[1:]
	seconds, n := binary.Varint(b)
	if n <= 0 {
		return e, errShort
	}
	b = b[n:]
	var nanos uint64
	if flags&hasNanos != 0 {
		if nanos, n = binary.Uvarint(b); n <= 0 {
			return e, errShort
		}
		b = b[n:]
	}
	if nanos >= uint64(time.Second) {
		return e, fmt.Errorf("%d nanoseconds in a second", nanos)
	}
	e.Time = time.Unix(seconds, int64(nanos)).UTC()
	e.Value = 1
	if flags&hasValue != 0 {
		if len(b) < 8 {
			return e, errShort
		}
		e.Value = math.Float64frombits(binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
	for _, dst := range []*string{&e.ID, &e.Item, &e.Type} {
		var value []byte
		if value, b, err = cutBytes(b); err != nil {
			return e, err
		}
		*dst = string(value)
	}
	if len(b) != 0 {
		return e, fmt.Errorf("%d bytes too many", len(b))
	}
	return e, nil
}

// eventID returns the id in an encoded event, without the length.
func eventID(b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, errShort
	}
	flags := b[0]
	_, n := binary.Varint(b[1:])
	if n <= 0 {
		return nil, errShort
	}
	b = b[1+n:]
	if flags&hasNanos != 0 {
		if _, n = binary.Uvarint(b); n <= 0 {
			return nil, errShort
		}
		b = b[n:]
	}
	if flags&hasValue != 0 {
		if len(b) < 8 {
			return nil, errShort
		}
		b = b[8:]
	}
	id, _, err := cutBytes(b)
	return id, err
}
