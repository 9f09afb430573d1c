package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// A list with an extra history is that of a user who has these events too, and nothing of them is
// left.
func TestExtraHistory(t *testing.T) {
	overModels(t, func(t *testing.T, open opened) {
		ts := startStill(t, open)
		observed := func(user string, items ...int) {
			for _, i := range items {
				e := newEvent(user, i)
				e.EventId = item(i)
				ts.observe(t, e)
			}
		}
		observed("both", 0, 4, 8, 12, 16, 20, 7, 9)
		observed("extra only", 7, 9)
		for stored, twin := range map[string]string{"ann": "both", "nobody": "extra only"} {
			for explain := range int32(3) {
				plain := explaining(forUser(stored), int(explain))
				before := ts.ask(t, plain)
				with := explaining(forUser(stored), int(explain))
				with.ExtraHistory = forHistory(7, 9).GetHistory()
				got := ts.ask(t, with)
				same(t, before.GetUserRevision(), got.GetUserRevision(), "%s: revision", stored)
				want := ts.ask(t, explaining(forUser(twin), int(explain)))
				if d := cmp.Diff(want, got, protocmp.Transform(), protocmp.IgnoreFields(
					&pb.RecommendResponse{}, "user_revision")); d != "" {
					t.Errorf("%s (-observed +extra):\n%s", stored, d)
				}
				same(t, before, ts.ask(t, plain), "%s (-before +after)", stored)
			}
		}
		with := forUser("ann")
		with.ExtraHistory = forHistory(testItems + 1).GetHistory()
		same(t, []string{item(testItems + 1)}, ts.ask(t, with).GetUnknownItemIds(),
			"unknown_item_ids")
	}, "paper", "learned")
}
