package server

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/server/internal/state"
)

// approximately compares floating-point numbers to 1e-5 of them.
var approximately = cmp.Comparer(func(a, b float64) bool {
	return math.Abs(a-b) <= 1e-5*max(math.Abs(a), math.Abs(b))
})

func explaining(req *pb.RecommendRequest, n int) *pb.RecommendRequest {
	req.Explain = int32(n)
	return req
}

// checkExplanation checks that the parts add up to the score, and that the contributions are in
// order.
func checkExplanation(t *testing.T, r *pb.ScoredItem, contributions int) {
	t.Helper()
	x := r.GetExplanation()
	sum := x.GetBase() + x.GetTrend() + x.GetAgain().GetContribution() + x.GetRemainder()
	for i, c := range x.GetContributions() {
		sum += c.GetContribution()
		if before := x.GetContributions()[max(i-1,
			0)]; math.Abs(c.GetContribution()) > math.Abs(before.GetContribution()) {
			t.Errorf("%s: contribution %d is larger than the one before", r.GetItemId(), i)
		}
	}
	if !cmp.Equal(sum, r.GetScore(), approximately) {
		t.Errorf("%s: the parts add up to %v, the score is %v", r.GetItemId(), sum, r.GetScore())
	}
	same(t, contributions, len(x.GetContributions()), "%s: contributions", r.GetItemId())
}

func TestExplain(t *testing.T) {
	overModels(t, func(t *testing.T, open opened) {
		ts := start(t, setup{open: open})
		for i, item := range []int{4, 9, 20, 4, 25} {
			e := newEvent("ann", item)
			e.EventTime = timestamppb.New(testNow.Add(time.Duration(i-10) * time.Hour))
			e.Value = proto.Float64(1 + float64(i)/10)
			ts.observe(t, e)
		}
		ts.observe(t, &pb.Event{UserId: "ann", ItemId: "not in the model"})
		plain := ts.ask(t, forUser("ann"))
		for n, want := range map[int]int{1: 1, 3: 3, 50: 4} {
			got := ts.ask(t, explaining(forUser("ann"), n))
			for _, r := range got.GetItems() {
				checkExplanation(t, r, want)
			}
			same(t, itemIDs(plain), itemIDs(got), "an explained list is another list")
		}
		x := ts.ask(t, explaining(forUser("ann"), 50)).GetItems()[0].GetExplanation()
		events := map[string]string{}
		for _, c := range x.GetContributions() {
			events[c.GetItemId()] = fmt.Sprint(c.GetEvents(), " ",
				c.GetEventTime().AsTime().Format("15:04"))
		}
		want := map[string]string{item(4): "2 05:00", item(9): "1 03:00", item(20): "1 04:00",
			item(25): "1 06:00"}
		same(t, want, events, "events and times")
		same(t, 0.0, x.GetRemainder(), "remainder with all items shown")
		// An inline history without times.
		for _, r := range ts.ask(t, explaining(forHistory(4, 9), 5)).GetItems() {
			checkExplanation(t, r, 2)
			if c := r.GetExplanation().GetContributions()[0]; c.GetEventTime() != nil {
				t.Errorf("the event has the time %v, want none", c.GetEventTime())
			}
		}
		// Nothing to explain.
		if r := ts.ask(t,
			explaining(forUser("nobody"), 5)).GetItems()[0]; r.GetExplanation() != nil {
			t.Errorf("a popular item has the explanation %v", r.GetExplanation())
		}
	}, "paper", "bands alone", "learned")
}

// TestExplainLongHistory: events before the newest 1000 count as one.
func TestExplainLongHistory(t *testing.T) {
	ts := startNamed(t, "learned")
	const batch = 700
	for b := range 2 {
		req := &pb.BatchObserveRequest{}
		for i := range batch {
			at := b*batch + i
			e := newEvent("ann", at%20)
			if at < 2*batch-state.TailEvents { // only these are on items 20 to 29
				e = newEvent("ann", 20+at%10)
			}
			e.EventTime = timestamppb.New(testNow.Add(time.Duration(at-2000) * time.Minute))
			req.Events = append(req.Events, e)
		}
		reply(t, ts.events.BatchObserve, req)
	}
	req := explaining(forUser("ann"), 50)
	req.Seen = &pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_INCLUDE}
	got := ts.ask(t, req)
	same(t, uint64(2*batch), got.GetUserRevision(), "revision")
	for _, r := range got.GetItems() {
		checkExplanation(t, r, 20)
		for _, c := range r.GetExplanation().GetContributions() {
			same(t, int32(state.TailEvents/20), c.GetEvents(), "events on %s", c.GetItemId())
		}
	}
}
