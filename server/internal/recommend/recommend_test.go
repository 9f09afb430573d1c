package recommend

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/server/internal/outcome"
	"github.com/gsimc/gsimc/server/internal/servertest"
	"github.com/gsimc/gsimc/server/internal/state"
	"github.com/gsimc/gsimc/server/internal/valid"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// Without times, entries of an inline history all happened at once; leading ones happened with the
// first that has a time.
func TestInlineHistoryTimes(t *testing.T) {
	s := New(Deps{Updater: state.NewUpdater(nil)})
	at := timestamppb.New(servertest.Now)
	h := &pb.InlineHistory{Entries: []*pb.HistoryEntry{{ItemId: servertest.Item(1)},
		{ItemId: servertest.Item(2), EventTime: at}, {ItemId: servertest.Item(3)}}}
	l := &list{s: s, Model: servertest.NewModel(t, 1)}
	l.req = &pb.RecommendRequest{Subject: &pb.RecommendRequest_History{History: h}}
	u := l.inlineState()
	if !u.First.Equal(servertest.Now) || !u.Last.Equal(servertest.Now) || u.Kalman.Time != servertest.Now.Unix() {
		t.Errorf("times from %v to %v, state at %d, want all at %v", u.First, u.Last, u.Kalman.Time,
			servertest.Now)
	}
}

// TestSessionTokensOfNewLife has read a former life, longer than what the token of the new one
// names: that does not reach it.
func TestSessionTokensOfNewLife(t *testing.T) {
	s := New(Deps{Store: memory.New()})
	write := func(events int) (last store.Version) {
		for i := range events {
			r, err := s.Store.Append(t.Context(), []store.Record{{User: "ann", Event: store.Event{
				ID: fmt.Sprint(i), Item: servertest.Item(i), Type: "like", Time: servertest.Now}}})
			check.Must(t, errors.Join(err, r[0].Err))
			last = r[0].Version
		}
		return last
	}
	former := write(5)
	check.Get(s.Store.Erase(t.Context(), "ann"))(t)
	if reached, err := s.reaches(t.Context(), "ann", former, write(1)); reached || err != nil {
		t.Errorf("reached %v, %v; want that it is waited for", reached, err)
	}
}

// A call fails if its request was good and its client waits for it.
func TestFailed(t *testing.T) {
	for want, errs := range map[bool][]error{
		false: {nil, context.Canceled, valid.Bad("user_id", "is too long"), outcome.ErrNoUncertainty},
		true:  {errors.New("of a kind that nobody knows"), store.ErrFailed, context.DeadlineExceeded},
	} {
		for _, err := range errs {
			check.Same(t, want, failed(err), "%v has failed", err)
		}
	}
}
