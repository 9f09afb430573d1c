package call

import (
	"sort"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/learn/dataset"
)

// fileEvents are the events of a data set, one user after the other. Each has a time, so that the
// server gives the same event the same id whenever it is sent again.
type fileEvents struct {
	*dataset.Events
	kind    string // of events whose files have no types
	written time.Time
	repeats []int32 // see countRepeats; nil: the events have times
}

// countRepeats counts, for each event without a time, the earlier events of the same user, item and
// type. The n-th repetition gets a time n nanoseconds later: with equal times the server would take
// it for the first event, sent again.
func (f *fileEvents) countRepeats() {
	h := &f.Histories
	if h.Time != nil {
		return
	}
	type what struct {
		item int32
		kind uint16
	}
	f.repeats = make([]int32, h.Len())
	count := map[what]int32{}
	for u := range h.Users {
		clear(count)
		for i := h.Ptr[u]; i < h.Ptr[u+1]; i++ {
			w := what{item: h.Item[i]}
			if f.Kind != nil {
				w.kind = f.Kind[i]
			}
			f.repeats[i] = count[w]
			count[w]++
		}
	}
}

// Len returns the number of events.
func (f *fileEvents) Len() int { return f.Histories.Len() }

// Event returns the i-th event.
func (f *fileEvents) Event(i int) *pb.Event {
	h := &f.Histories
	user := sort.Search(len(h.Users), func(u int) bool { return h.Ptr[u+1] > int64(i) })
	e := &pb.Event{UserId: h.Users[user], ItemId: h.Items[h.Item[i]], EventType: f.kind}
	if f.Kind != nil {
		e.EventType = f.Types[f.Kind[i]]
	}
	if h.Time != nil {
		e.EventTime = &timestamppb.Timestamp{Seconds: h.Time[i]}
	} else {
		e.EventTime = timestamppb.New(f.written.Add(time.Duration(f.repeats[i])))
	}
	if h.Weight != nil {
		e.Value = proto.Float64(float64(h.Weight[i]))
	}
	return e
}
