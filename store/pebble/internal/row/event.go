package row

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/gsimc/gsimc/store"
)

// Flags of an event.
const (
	hasNanos = 1
	hasValue = 2
)

// maxEventBytes is the largest length of the encoded event, with its length in front.
func maxEventBytes(e *store.Event) int { return 40 + len(e.ID) + len(e.Item) + len(e.Type) }

// AppendEvent appends the encoded event with its length in front.
func AppendEvent(dst []byte, e *store.Event) []byte {
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
	// Two bytes suffice, because an id has at most MaxIDBytes. A varint may be longer than
	// necessary.
	n := len(dst) - flags
	dst[start], dst[start+1] = byte(n)|0x80, byte(n>>7)
	return dst
}

func corruptEvent(err error) error { return fmt.Errorf("%w: event: %w", store.ErrCorrupt, err) }

// DecodeEvent decodes an encoded event. Nothing in the result refers to b.
func DecodeEvent(b []byte) (store.Event, error) {
	e, err := decode(b)
	if err != nil {
		return store.Event{}, corruptEvent(err)
	}
	return e, nil
}

func decode(b []byte) (e store.Event, err error) {
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
		if value, b, err = cut(b); err != nil {
			return e, err
		}
		*dst = string(value)
	}
	if len(b) != 0 {
		return e, fmt.Errorf("%d bytes too many", len(b))
	}
	return e, nil
}

// EventID returns the id in an encoded event, a part of b.
func EventID(b []byte) ([]byte, error) {
	id, err := eventID(b)
	if err != nil {
		return nil, corruptEvent(err)
	}
	return id, nil
}

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
	id, _, err := cut(b)
	return id, err
}
