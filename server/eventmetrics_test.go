package server

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
)

// TestEventsAreCounted by outcome, by type, with their ages and the histories that they begin, in
// all calls; types that nobody has named make no series of their own.
func TestEventsAreCounted(t *testing.T) {
	ts := start(t, setup{config: func(c *Config) { c.EventWeights = map[string]float64{"buy": 3} }})
	event := func(user, kind, id string, age time.Duration) *pb.Event {
		return &pb.Event{UserId: user, ItemId: item(1), EventType: kind, EventId: id,
			EventTime: timestamppb.New(ts.cfg.Now().Add(-age))}
	}
	ts.observe(t, newEvent("ann", 1))
	old := event("ann", "buy", "1", 2*time.Hour)
	ts.observe(t, old)
	ts.observe(t, old)
	var batch []*pb.Event
	for i := range 50 {
		batch = append(batch, event("bob", fmt.Sprint("made-up-", i), fmt.Sprint(i), -time.Hour))
	}
	batch = append(batch, &pb.Event{UserId: "bob"}, event("cat", "buy", "1", 90*24*time.Hour))
	reply(t, ts.events.BatchObserve, &pb.BatchObserveRequest{Events: batch})
	want := map[string]float64{"applied like": 1, "applied buy": 2, "applied other": 50,
		"duplicate buy": 1, "rejected other": 1}
	same(t, want, ts.counters(t, "gsimc_events_total"), "events by outcome and type")
	for series, want := range map[string]float64{
		`gsimc_new_users_total`:                           3,
		`gsimc_store_users`:                               3,
		`gsimc_event_age_seconds_bucket{le="1"}`:          51, // those of the future among them
		`gsimc_event_age_seconds_bucket{le="21600"}`:      52,
		`gsimc_event_age_seconds_bucket{le="3.1536e+07"}`: 53,
		`gsimc_event_age_seconds_bucket{le="2.592e+06"}`:  52,
		`gsimc_retrain_last_success_timestamp_seconds`:    0,
		`gsimc_observe_visible_seconds_count`:             4,
	} {
		same(t, want, value1(t, ts, series), "%s", series)
	}
	ended := time.UnixMilli(1_700_000_000_500)
	ts.metrics.Retrained(Retraining{Outcome: "swapped", Ended: ended})
	ts.metrics.Retrained(Retraining{Outcome: "failed"})
	same(t, 1_700_000_000.5, value1(t, ts, "gsimc_retrain_last_success_timestamp_seconds"),
		"the last good retraining was")
}

// TestModelInfoHasTheVersionsOfAnswers of each arm, so that both can be joined.
func TestModelInfoHasTheVersionsOfAnswers(t *testing.T) {
	ts := start(t, withArm(t, nil, 50, nil))
	seen := map[string]string{}
	for i := range 40 {
		answer := ts.ask(t, forUser(fmt.Sprint(i)))
		seen[answer.GetArm()] = answer.GetModelVersion()
	}
	check.MustSame(t, 2, len(seen), "number of the arms %v of answers", seen)
	for arm, version := range seen {
		series := fmt.Sprintf(`gsimc_model_info{arm=%q,dynamics="none",filter="random-walk",`+
			`graph="hypergraph",trained_at="",version=%q}`, arm, version)
		same(t, 1.0, value1(t, ts, series), "%s", series)
	}
}
