package wire

import (
	"encoding/binary"
	"math"
	"unicode/utf8"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// A StreamMessage is a StreamObserveRequest that is decoded without reflection into memory of its
// own, which the next message takes over. All strings of a message share one piece of memory: clone
// a string to keep it for long.
//
// Only the ordinary form is decoded here: known fields, each once, with their own wire types and
// valid UTF-8, in events of at most ordinaryBytes, so that an event that waits keeps no large
// message in memory. Everything else is left to the library, including the verdict about it.
type StreamMessage struct {
	Sequence uint64
	Events   []*pb.Event // of event and events; nil stands for an absent event
	Both     bool        // event and events are set
	Tokens   bool        // session tokens are wanted
	Fault    error       // if not nil, why the message cannot be decoded

	slots []eventSlot
	limit int // of events; 0: none
}

// streamEventsName is the field that the limit is of.
const streamEventsName = "gsimc.v1.StreamObserveRequest.events"

// ordinaryBytes is more than a valid event has.
const ordinaryBytes = 1 << 10

// eventSlot is the memory of a decoded event.
type eventSlot struct {
	event pb.Event
	time  timestamppb.Timestamp
	value float64
}

func (m *StreamMessage) decode(c Codec, data mem.BufferSlice) error {
	buffer := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buffer.Free()
	m.limit = c.counters.limits[streamEventsName]
	// The string is a copy, which a message of too many events is not worth.
	if whole := buffer.ReadOnlyData(); (m.limit == 0 || len(whole) <= m.limit*ordinaryBytes) &&
		m.ordinary(string(whole)) {
		return nil
	}
	var req pb.StreamObserveRequest
	if err := c.Unmarshal(mem.BufferSlice{buffer}, &req); err != nil {
		return err
	}
	m.Fault = Malformed(&req)
	m.Sequence, m.Events, m.Both = req.GetSequence(), req.GetEvents(), false
	m.Tokens = req.GetSessionTokens()
	if len(req.GetEvents()) == 0 {
		m.Events = []*pb.Event{req.GetEvent()}
	} else if req.GetEvent() != nil {
		m.Both = true
	}
	return nil
}

// bit stands for a field in a set of them: a field with a tag of one byte has a number below 16.
func bit(t tag) int { return 1 << (t >> 3) }

// ordinary decodes a message of the ordinary form, and reports whether it was one.
func (m *StreamMessage) ordinary(s string) bool {
	m.Sequence, m.Events, m.Both, m.Tokens, m.Fault = 0, m.Events[:0], false, false, nil
	seen := 0
	for len(s) > 0 {
		t := s[0]
		switch t {
		case streamSequence, streamTokens:
			v, n := varint(s[1:])
			if n == 0 || seen&bit(t) != 0 {
				return false
			}
			if s = s[1+n:]; t == streamSequence {
				m.Sequence = v
			} else {
				m.Tokens = v != 0
			}
		case streamEvent, streamEvents:
			body, rest, ok := cut(s[1:])
			if len(m.Events) == m.limit && m.limit > 0 {
				m.Fault = &MalformedError{"events", tooMany(m.limit)}
				return true
			}
			if !ok || t == streamEvent && len(m.Events) > 0 || seen&bit(streamEvent) != 0 ||
				!m.event(body) {
				return false
			}
			s = rest
		default:
			return false
		}
		seen |= bit(t)
	}
	if len(m.Events) == 0 {
		m.Events = append(m.Events, nil)
	}
	return true
}

// event decodes an event into the next slot.
func (m *StreamMessage) event(s string) bool {
	at := len(m.Events)
	if at == len(m.slots) {
		// The old slots stay with the events that are in them.
		m.slots = append(make([]eventSlot, at, 2*at+1)[:at:at], make([]eventSlot, at+1)...)
	}
	slot := &m.slots[at]
	if len(s) > ordinaryBytes || !slot.decode(s) {
		return false
	}
	m.Events = append(m.Events, &slot.event)
	return true
}

func (slot *eventSlot) decode(s string) bool {
	e := &slot.event
	e.EventId, e.UserId, e.ItemId, e.EventType, e.EventTime, e.Value = "", "", "", "", nil, nil
	e.RecommendationId = ""
	seen := 0
	for len(s) > 0 {
		t := s[0]
		if seen&bit(t) != 0 {
			return false
		}
		seen |= bit(t)
		if t == eventValue {
			if len(s) < 9 {
				return false
			}
			slot.value = math.Float64frombits(binary.LittleEndian.Uint64([]byte(s[1:9])))
			e.Value = &slot.value
			s = s[9:]
			continue
		}
		body, rest, ok := cut(s[1:])
		if !ok {
			return false
		}
		s = rest
		switch t {
		case eventEventID:
			e.EventId = body
		case eventUserID:
			e.UserId = body
		case eventItemID:
			e.ItemId = body
		case eventEventType:
			e.EventType = body
		case eventListID:
			e.RecommendationId = body
		case eventEventTime:
			if !slot.decodeTime(body) {
				return false
			}
			e.EventTime = &slot.time
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

func (slot *eventSlot) decodeTime(s string) bool {
	slot.time.Seconds, slot.time.Nanos = 0, 0
	for last := tag(0); len(s) > 0; {
		t := s[0]
		v, n := varint(s[1:])
		if n == 0 || t <= last {
			return false
		}
		switch t {
		case timeSeconds:
			slot.time.Seconds = int64(v)
		case timeNanos:
			slot.time.Nanos = int32(v)
		default:
			return false
		}
		last, s = t, s[1+n:]
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

// cut splits a length-prefixed field off the front of s: its content and the rest of s.
func cut(s string) (body, rest string, ok bool) {
	size, n := varint(s)
	if n == 0 || size > uint64(len(s)-n) {
		return "", "", false
	}
	return s[n : n+int(size)], s[n+int(size):], true
}
