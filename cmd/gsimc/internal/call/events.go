package call

import (
	"sort"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/dataset"
)

// fileEvents are the interactions of a data set as events, one user after the other. Each has a
// time, so that the server gives the same event the same id whenever it is sent again.
type fileEvents struct {
	*dataset.Interactions
	typed   *dataset.Events // the same with their types; nil: all have the type kind
	kind    string
	written *timestamppb.Timestamp // time of events without one
}

// Event returns the i-th interaction.
func (f *fileEvents) Event(i int) *pb.Event {
	user := sort.Search(len(f.Users), func(u int) bool { return f.Ptr[u+1] > int64(i) })
	e := &pb.Event{
		UserId: f.Users[user], ItemId: f.Items[f.Item[i]],
		EventType: f.kind, EventTime: f.written,
	}
	if f.typed != nil {
		e.EventType = f.typed.Types[f.typed.Kind[i]]
	}
	if f.Time != nil {
		e.EventTime = &timestamppb.Timestamp{Seconds: f.Time[i]}
	}
	if f.Weight != nil {
		e.Value = proto.Float64(float64(f.Weight[i]))
	}
	return e
}
