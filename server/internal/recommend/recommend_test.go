package recommend

import (
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/server/internal/models"
	"github.com/gsimc/gsimc/server/internal/servertest"
	"github.com/gsimc/gsimc/server/internal/state"
)

// Without times, entries of an inline history all happened at once; leading ones happened with the
// first that has a time.
func TestInlineHistoryTimes(t *testing.T) {
	s := New(Deps{Updater: state.NewUpdater(nil)})
	at := timestamppb.New(servertest.Now)
	h := &pb.InlineHistory{Entries: []*pb.HistoryEntry{{ItemId: servertest.Item(1)},
		{ItemId: servertest.Item(2), EventTime: at}, {ItemId: servertest.Item(3)}}}
	l := &list{s: s, req: &pb.RecommendRequest{Subject: &pb.RecommendRequest_History{History: h}}}
	l.Lease.Lease = &models.Lease{Model: servertest.NewModel(t, 1)}
	u := l.inlineState()
	if !u.First.Equal(servertest.Now) || !u.Last.Equal(servertest.Now) || u.Kalman.Time != servertest.Now.Unix() {
		t.Errorf("times from %v to %v, state at %d, want all at %v", u.First, u.Last, u.Kalman.Time,
			servertest.Now)
	}
}
