package server

import (
	"encoding/binary"
	"math"
	"unicode/utf8"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// selfDecoder is a message that decodes itself, instead of by the library.
type selfDecoder interface {
	decode(c codec, data mem.BufferSlice) error
}

// streamMessage is a StreamObserveRequest that is decoded without reflection into memory of its own, which the next message
// takes over. All strings of a message share one piece of memory: whoever keeps one for long makes a copy.
//
// Only the ordinary form is decoded here: known fields, each once, with their own wire types and valid UTF-8, in events of at
// most ordinaryBytes, so that an event that waits keeps no large message in memory. Everything else is left to the library, and
// so is the verdict about it.
type streamMessage struct {
	sequence uint64
	events   []*pb.Event // of event and events; nil stands for an absent event
	both     bool        // event and events are set
	fault    error       // the message cannot be decoded

	slots []eventSlot
}

// ordinaryBytes is more than a valid event has.
const ordinaryBytes = 1 << 10

// eventSlot is the memory of a decoded event.
type eventSlot struct {
	event pb.Event
	time  timestamppb.Timestamp
	value float64
}

// decode implements selfDecoder.
func (m *streamMessage) decode(c codec, data mem.BufferSlice) error {
	buffer := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buffer.Free()
	if m.ordinary(string(buffer.ReadOnlyData())) {
		return nil
	}
	var req pb.StreamObserveRequest
	if err := c.Unmarshal(data, &req); err != nil {
		return err
	}
	m.fault = malformed(&req)
	m.sequence, m.events, m.both = req.GetSequence(), req.GetEvents(), false
	if len(req.GetEvents()) == 0 {
		m.events = []*pb.Event{req.GetEvent()}
	} else if req.GetEvent() != nil {
		m.both = true
	}
	return nil
}

// The tags of the fields: number<<3 | wire type, which is 0 for a varint.
const (
	tagSequence  = 1 << 3
	tagEvent     = 2<<3 | 2
	tagEvents    = 3<<3 | 2
	tagEventID   = 1<<3 | 2
	tagUserID    = 2<<3 | 2
	tagItemID    = 3<<3 | 2
	tagEventType = 4<<3 | 2
	tagEventTime = 5<<3 | 2
	tagValue     = 6<<3 | 1
	tagSeconds   = 1 << 3
	tagNanos     = 2 << 3
)

// ordinary decodes a message of the ordinary form, and reports whether it was one.
func (m *streamMessage) ordinary(s string) bool {
	m.sequence, m.events, m.both, m.fault = 0, m.events[:0], false, nil
	seen := 0
	for len(s) > 0 {
		tag := s[0]
		switch tag {
		case tagSequence:
			v, n := varint(s[1:])
			if n == 0 || seen&(1<<tagSequence) != 0 {
				return false
			}
			m.sequence, s = v, s[1+n:]
		case tagEvent, tagEvents:
			body, rest, ok := cut(s[1:])
			if !ok || tag == tagEvent && len(m.events) > 0 || seen&(1<<tagEvent) != 0 || !m.event(body) {
				return false
			}
			s = rest
		default:
			return false
		}
		seen |= 1 << tag
	}
	if len(m.events) == 0 {
		m.events = append(m.events, nil)
	}
	return true
}

// event decodes an event into the next slot.
func (m *streamMessage) event(s string) bool {
	at := len(m.events)
	if at == len(m.slots) {
		// The old slots stay with the events that are in them.
		m.slots = append(make([]eventSlot, at, 2*at+1)[:at:at], make([]eventSlot, at+1)...)
	}
	slot := &m.slots[at]
	if len(s) > ordinaryBytes || !slot.decode(s) {
		return false
	}
	m.events = append(m.events, &slot.event)
	return true
}

func (t *eventSlot) decode(s string) bool {
	e := &t.event
	e.EventId, e.UserId, e.ItemId, e.EventType, e.EventTime, e.Value = "", "", "", "", nil, nil
	seen := 0
	for len(s) > 0 {
		tag := s[0]
		if tag >= 64 || seen&(1<<tag) != 0 {
			return false
		}
		seen |= 1 << tag
		if tag == tagValue {
			if len(s) < 9 {
				return false
			}
			t.value = math.Float64frombits(binary.LittleEndian.Uint64([]byte(s[1:9])))
			e.Value = &t.value
			s = s[9:]
			continue
		}
		body, rest, ok := cut(s[1:])
		if !ok {
			return false
		}
		s = rest
		switch tag {
		case tagEventID:
			e.EventId = body
		case tagUserID:
			e.UserId = body
		case tagItemID:
			e.ItemId = body
		case tagEventType:
			e.EventType = body
		case tagEventTime:
			if !t.decodeTime(body) {
				return false
			}
			e.EventTime = &t.time
			continue
		default:
			return false
		}
		if !utf8.ValidString(body) {
			return false
		}
	}
	return true
}

func (t *eventSlot) decodeTime(s string) bool {
	t.time.Seconds, t.time.Nanos = 0, 0
	for last := byte(0); len(s) > 0; {
		tag := s[0]
		v, n := varint(s[1:])
		if n == 0 || tag <= last {
			return false
		}
		switch tag {
		case tagSeconds:
			t.time.Seconds = int64(v)
		case tagNanos:
			t.time.Nanos = int32(v)
		default:
			return false
		}
		last, s = tag, s[1+n:]
	}
	return true
}

// varint decodes a varint of up to nine bytes; n is 0 if there is none.
func varint(s string) (v uint64, n int) {
	for n < len(s) && n < 9 {
		b := s[n]
		v |= uint64(b&0x7f) << (7 * n)
		n++
		if b < 0x80 {
			return v, n
		}
	}
	return 0, 0
}

// cut takes bytes with their length in front off s.
func cut(s string) (body, rest string, ok bool) {
	size, n := varint(s)
	if n == 0 || size > uint64(len(s)-n) {
		return "", "", false
	}
	return s[n : n+int(size)], s[n+int(size):], true
}
