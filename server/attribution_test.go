package server

import (
	"fmt"
	"strings"
	"testing"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/server/internal/credit"
	"github.com/gsimc/gsimc/server/internal/session"
)

// counters returns the series of a metric above 0, by the values of their labels in the order of
// the names of the labels.
func (s *Server) counters(t testing.TB, name string) map[string]float64 {
	t.Helper()
	families := check.Get(s.metrics.registry.Gather())(t)
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var values []string
			for _, l := range m.GetLabel() {
				values = append(values, l.GetValue())
			}
			if v := m.GetCounter().GetValue(); f.GetName() == name && v > 0 {
				got[strings.Join(values, " ")] = v
			}
		}
	}
	return got
}

// An event that names a list is counted once, at the position of its item, whichever way it comes.
func TestAttribution(t *testing.T) {
	ts := start(t, setup{config: func(c *Config) {
		c.EventWeights = map[string]float64{"buy": 3}
	}})
	req := forUser("ann")
	req.PageSize, req.Paged = 3, true
	same(t, "", ts.ask(t, req).GetRecommendationId(), "the id of a list that nobody asked for")
	req.Attribute = true
	first := ts.ask(t, req)
	req.PageToken = first.GetNextPageToken()
	second := ts.ask(t, req)
	batch := reply(t, ts.recommend.BatchRecommend, &pb.BatchRecommendRequest{Attribute: true,
		Subjects: []*pb.BatchSubject{{Subject: &pb.BatchSubject_UserId{UserId: "bob"}}}})
	third := batch.GetResults()[0].GetResponse()
	from := func(user, kind string, of *pb.RecommendResponse, i int) *pb.Event {
		return &pb.Event{UserId: user, ItemId: of.GetItems()[i].GetItemId(), EventType: kind,
			EventId:          fmt.Sprint(user, kind, i, len(of.GetItems())),
			RecommendationId: of.GetRecommendationId()}
	}
	ts.observe(t, from("ann", "", first, 0))
	ts.observe(t, from("ann", "", first, 0)) // sent again
	again := from("ann", "", first, 0)
	again.RecommendationId = "" // the list is no part of the event
	if got := ts.observe(t, again).GetDisposition(); got !=
		pb.EventDisposition_EVENT_DISPOSITION_DUPLICATE {
		t.Errorf("without the id of the list it is %v", got)
	}
	elsewhere := from("ann", "buy", first, 1)
	elsewhere.ItemId = third.GetItems()[9].GetItemId()
	elsewhere.EventId = "elsewhere"
	stream := check.Get(ts.events.StreamObserve(ctx(t)))(t)
	events := []*pb.Event{from("ann", "buy", first, 1), from("ann", "view", second, 0),
		from("bob", "", third, 9), elsewhere}
	must(t, stream.Send(&pb.StreamObserveRequest{Sequence: 1, Events: events}))
	check.Get(stream.Recv())(t)
	want := map[string]float64{"main like 1": 1, "main buy 2-3": 1, "main other 4-10": 1,
		"main like 4-10": 1, "main buy none": 1}
	same(t, want, ts.counters(t, "gsimc_attributed_events_total"),
		"events by arm, type and position")
	same(t, map[string]float64{"main false": 1, "main true": 3},
		ts.counters(t, "gsimc_recommendations_total"), "lists")
}

// An id that the server does not know costs the event its attribution, and nothing else.
func TestUnknownRecommendations(t *testing.T) {
	ts := start(t, setup{})
	here := ts.store.Identity()
	there := here
	there.ID[0]++
	made := func(before time.Duration) session.Recommendation {
		return session.Recommendation{Arm: "gone", Made: testNow.Add(-before)}
	}
	late, old, other := made(credit.Window-time.Minute), made(credit.Window+time.Minute),
		made(0)
	for i, id := range []string{"x", old.Token(here), other.Token(there), late.Token(here),
		late.Token(here)[1:]} {
		e := newEvent("ann", i)
		e.RecommendationId = id
		if got := ts.observe(t, e).GetDisposition(); got !=
			pb.EventDisposition_EVENT_DISPOSITION_APPLIED {
			t.Errorf("with the id %q the event is %v", id, got)
		}
	}
	same(t, map[string]float64{"malformed": 2, "old": 1, "other_store": 1},
		ts.counters(t, "gsimc_attribution_unknown_total"), "unknown")
	same(t, map[string]float64{"other like none": 1},
		ts.counters(t, "gsimc_attributed_events_total"), "events")
}
