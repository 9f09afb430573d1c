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
//	number:  | value (8 B, big endian) | CRC |
//	event:   | version 1 (1 B) | seconds since 1970 (zigzag varint) | nanoseconds (uvarint) | value (IEEE 754, 8 B, l. e.) |
//	         | id, item, type: each length (uvarint) and bytes | CRC |

const eventVersion = 1

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

func encodeEvent(dst, key []byte, e store.Event) []byte {
	dst = append(dst[:0], eventVersion)
	dst = binary.AppendVarint(dst, e.Time.Unix())
	dst = binary.AppendUvarint(dst, uint64(e.Time.Nanosecond()))
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(e.Value))
	for _, s := range []string{e.ID, e.Item, e.Type} {
		dst = binary.AppendUvarint(dst, uint64(len(s)))
		dst = append(dst, s...)
	}
	return appendCRC(dst, key)
}

// errShort is the reason when an event value ends too early.
var errShort = errors.New("ends too early")

// decodeEvent decodes what encodeEvent wrote for the key. Nothing in the result refers to value.
func decodeEvent(key, value []byte) (store.Event, error) {
	body, err := checkCRC(key, value)
	if err != nil {
		return store.Event{}, err
	}
	e, err := decodeEventBody(body)
	if err != nil {
		return store.Event{}, fmt.Errorf("%w: event value: %w", store.ErrCorrupt, err)
	}
	return e, nil
}

func decodeEventBody(b []byte) (e store.Event, err error) {
	if len(b) == 0 {
		return e, errShort
	}
	if b[0] != eventVersion {
		return e, fmt.Errorf("version %d, this program knows %d", b[0], eventVersion)
	}
	b = b[1:]
	seconds, n := binary.Varint(b)
	if n <= 0 {
		return e, errShort
	}
	b = b[n:]
	nanos, n := binary.Uvarint(b)
	if n <= 0 || len(b) < n+8 {
		return e, errShort
	}
	if nanos >= uint64(time.Second) {
		return e, fmt.Errorf("%d nanoseconds in a second", nanos)
	}
	b = b[n:]
	e.Time = time.Unix(seconds, int64(nanos)).UTC()
	e.Value = math.Float64frombits(binary.LittleEndian.Uint64(b))
	b = b[8:]
	for _, dst := range []*string{&e.ID, &e.Item, &e.Type} {
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return e, errShort
		}
		*dst = string(b[n : n+int(size)])
		b = b[n+int(size):]
	}
	if len(b) != 0 {
		return e, fmt.Errorf("%d bytes too many", len(b))
	}
	return e, nil
}
