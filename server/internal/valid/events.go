package valid

import (
	"cmp"
	"fmt"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/internal/wire"
)

// Event checks one event, received at now. Its faults name the fields with prefix before them.
func Event(e *pb.Event, prefix string, now time.Time) error {
	if e == nil {
		return Bad("event", "is required")
	}
	var c checker
	c.checkIn(prefix, "event_id", badText(e.GetEventId(), MaxEventIDBytes))
	c.checkIn(prefix, "user_id", badID(e.GetUserId()))
	c.checkIn(prefix, "item_id", badID(e.GetItemId()))
	c.checkIn(prefix, "event_type", badEventType(e.GetEventType()))
	c.checkIn(prefix, "event_time", badEventTime(e.GetEventTime(), now))
	c.checkIn(prefix, "value", badValue(e.Value))
	// One that the server does not know is accepted: an event is worth more than its attribution.
	c.checkIn(prefix, "recommendation_id", badText(e.GetRecommendationId(), maxRecommendationID))
	return c.err()
}

// InTime reports whether the event would have no fault if it arrived at its own time.
func InTime(e *pb.Event) bool { return Event(e, "", e.GetEventTime().AsTime()) == nil }

// BatchObserve checks what holds for all events, each of which is checked by itself.
func BatchObserve(r *pb.BatchObserveRequest) error {
	var c checker
	c.check("events", badCount(len(r.GetEvents()), 1, MaxBatch))
	return c.err()
}

// StreamMessage returns the fault of a message as a whole, which ends the stream. The number of the
// message must be next.
func StreamMessage(m *wire.StreamMessage, next uint64) error {
	var c checker
	switch {
	case m.Fault != nil:
		return m.Fault
	case m.Sequence != next:
		c.check(FieldSequence,
			"must be 1 for the first event of a stream and then rise by one with each event")
	case m.Both:
		c.check("events", "must be empty when event is set")
	case len(m.Events) > MaxBatch:
		c.check("events",
			fmt.Sprintf("has %d elements, at most %d are allowed", len(m.Events), MaxBatch))
	}
	return c.err()
}

// EventType is the type of an event, or of an entry of a history.
func EventType(t string) string {
	return cmp.Or(t, event.DefaultType)
}

// Value returns a value that may be absent, which then is 1.
func Value(v *float64) float64 {
	if v == nil {
		return 1
	}
	return *v
}
