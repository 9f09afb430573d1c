package valkey

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/gsimc/gsimc/store"
)

// A packed event is its mark (8 bytes), time (seconds, 8 bytes; nanoseconds, 4), value (8), id and
// item (a byte with their length less one, and the text), and type, which is the rest. Numbers are
// little endian. functions.lua knows where mark and time end.
const (
	markBytes = 8
	headBytes = markBytes + 12 + 8
)

// noTime in place of the nanoseconds stands for the zero time.
const noTime = math.MaxUint32

// packEvent returns an event with a mark.
func packEvent(mark uint64, e *store.Event) string {
	b := make([]byte, 0, headBytes+2+len(e.ID)+len(e.Item)+len(e.Type))
	b = binary.LittleEndian.AppendUint64(b, mark)
	if e.Time.IsZero() {
		b = binary.LittleEndian.AppendUint64(b, 0)
		b = binary.LittleEndian.AppendUint32(b, noTime)
	} else {
		b = binary.LittleEndian.AppendUint64(b, uint64(e.Time.Unix()))
		b = binary.LittleEndian.AppendUint32(b, uint32(e.Time.Nanosecond()))
	}
	value := e.Value + 0 // payloads are compared as bytes, and -0 equals 0
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(value))
	b = append(append(b, byte(len(e.ID)-1)), e.ID...)
	b = append(append(b, byte(len(e.Item)-1)), e.Item...)
	return string(append(b, e.Type...))
}

// errPacked is the error of an event that cannot be read.
var errPacked = fmt.Errorf("%w: an event cannot be read", store.ErrCorrupt)

// unpackEvent reads a packed event.
func unpackEvent(p string) (mark uint64, e store.Event, err error) {
	if len(p) < headBytes {
		return 0, e, errPacked
	}
	head := []byte(p[:headBytes])
	mark = binary.LittleEndian.Uint64(head)
	sec, nsec := binary.LittleEndian.Uint64(head[8:]), binary.LittleEndian.Uint32(head[16:])
	if nsec != noTime {
		e.Time = time.Unix(int64(sec), int64(nsec)).UTC()
	}
	e.Value = math.Float64frombits(binary.LittleEndian.Uint64(head[20:]))
	rest := p[headBytes:]
	for _, text := range []*string{&e.ID, &e.Item} {
		if rest == "" || len(rest) < 2+int(rest[0]) {
			return 0, e, errPacked
		}
		n := 1 + int(rest[0])
		*text, rest = rest[1:1+n], rest[1+n:]
	}
	e.Type = rest
	return mark, e, nil
}

// packMark and unpackMark are the forms of marks in arguments and answers. The mark of a history
// without events is empty.
func packMark(mark uint64) string {
	if mark == 0 {
		return ""
	}
	return string(binary.LittleEndian.AppendUint64(nil, mark))
}

func unpackMark(p string) (uint64, error) {
	switch len(p) {
	case 0:
		return 0, nil
	case markBytes:
		return binary.LittleEndian.Uint64([]byte(p)), nil
	default:
		return 0, errPacked
	}
}

// shortID is the length up to which an event id stands for itself in the hash of a history.
const shortID = 16

// standIn returns what stands for an event id in the hash of a history: the id, or 17 bytes of its
// SHA-256 if it is long.
func standIn(id string) string {
	if len(id) <= shortID {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return string(sum[:shortID+1])
}
