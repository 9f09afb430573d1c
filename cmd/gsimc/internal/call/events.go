package call

import (
	"sort"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/learn/dataset"
)

// fileEvents are the interactions of a data set as events, one user after the other. Each has a
// time, so that the server gives the same event the same id whenever it is sent again.
type fileEvents struct {
	*dataset.Interactions
	typed   *dataset.Events // the same with their types; nil: all have the type kind
	kind    string
	written time.Time // time of events without one
	repeats []int32   // see countRepeats; nil: no event is there twice at one time
}

// countRepeats counts, for each typed event without a time, the earlier events of the same user,
// item and type. The n-th repetition gets a time n nanoseconds later: with equal times the server
// would take it for the first event, sent again.
func (f *fileEvents) countRepeats() {
	if f.typed == nil || f.Time != nil {
		return
	}
	type what struct {
		item int32
		kind uint16
	}
	f.repeats = make([]int32, len(f.Item))
	count := map[what]int32{}
	for u := range f.Users {
		clear(count)
		for i := f.Ptr[u]; i < f.Ptr[u+1]; i++ {
			w := what{f.Item[i], f.typed.Kind[i]}
			f.repeats[i] = count[w]
			count[w]++
		}
	}
}

// Event returns the i-th interaction.
func (f *fileEvents) Event(i int) *pb.Event {
	user := sort.Search(len(f.Users), func(u int) bool { return f.Ptr[u+1] > int64(i) })
	e := &pb.Event{
		UserId: f.Users[user], ItemId: f.Items[f.Item[i]],
		EventType: f.kind,
	}
	if f.typed != nil {
		e.EventType = f.typed.Types[f.typed.Kind[i]]
	}
	switch {
	case f.Time != nil:
		e.EventTime = &timestamppb.Timestamp{Seconds: f.Time[i]}
	case f.repeats != nil:
		e.EventTime = timestamppb.New(f.written.Add(time.Duration(f.repeats[i])))
	default:
		e.EventTime = timestamppb.New(f.written)
	}
	if f.Weight != nil {
		e.Value = proto.Float64(float64(f.Weight[i]))
	}
	return e
}
