package loadtest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	crand "crypto/rand"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// Visibility measures the time from sending an Observe until a Recommend of the same user shows it,
// with the given number of clients at once. Each client has users of its own. It observes the first
// item of a user's list, waits for the acknowledgement, and asks at once for the list again, in
// every second turn with min_user_revision. That answer must have the revision of the
// acknowledgement and not the item; any other answer is a violation.
func (s *Suite) Visibility(ctx context.Context, clients int) error {
	clients = min(clients, s.Traffic.Users)
	return s.rounds(ctx, "visibility", "", 0, 1, func(ctx context.Context, r *round) error {
		r.begin()
		v := &visibility{
			suite: s, clients: clients, acked: NewHistogram(), shown: NewHistogram(),
			name: crand.Text()[:10],
			end:  time.Now().Add(s.Warmup + s.Duration),
		}
		if err := v.run(ctx); err != nil {
			return err
		}
		if v.shown.Count() == 0 {
			return fmt.Errorf("visibility: no event was followed through in %s: measure longer",
				s.Warmup+s.Duration)
		}
		r.add("events followed", "count", float64(v.shown.Count()))
		r.measured = append(r.measured,
			figure{name: "violations", unit: "count", value: float64(v.violations.Load()),
				atMost: limit(0)})
		r.latencies("sent to acknowledged", v.acked, p50, p99, most)
		r.latencies("sent to shown", v.shown, p50, p99, most)
		return nil
	})
}

// visibility is one measurement.
type visibility struct {
	suite   *Suite
	clients int
	name    string // of this measurement, in event ids
	end     time.Time

	acked, shown *Histogram
	violations   atomic.Int64
}

func (v *visibility) run(ctx context.Context) error {
	errs := make([]error, v.clients)
	var wg sync.WaitGroup
	for c := range v.clients {
		wg.Go(func() {
			for turn := 0; ctx.Err() == nil && time.Now().Before(v.end) && errs[c] == nil; turn++ {
				user := (c + turn*v.clients) % (v.suite.Traffic.Users / v.clients * v.clients)
				errs[c] = v.follow(ctx, user, turn)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// follow follows one event of a user.
func (v *visibility) follow(ctx context.Context, user, turn int) error {
	ctx, cancel := context.WithTimeout(ctx, 3*v.suite.Timeout)
	defer cancel()
	lists, events := pb.NewRecommenderServiceClient(
		v.suite.Server.Conn()), pb.NewEventServiceClient(v.suite.Server.Conn())
	request := &pb.RecommendRequest{
		Subject:  &pb.RecommendRequest_UserId{UserId: UserID(user)},
		PageSize: int32(v.suite.Traffic.Page),
	}
	before, err := lists.Recommend(ctx, request)
	if err != nil || len(before.GetItems()) == 0 { // a user who has seen everything
		return err
	}
	item := before.GetItems()[0].GetItemId()
	event := &pb.Event{EventId: fmt.Sprintf("%s-%d", v.name, turn), UserId: UserID(user),
		ItemId: item}
	sent := time.Now()
	ack, err := events.Observe(ctx, &pb.ObserveRequest{Event: event})
	if err != nil {
		return err
	}
	acked := time.Since(sent)
	if turn%2 == 1 {
		request.MinUserRevision = ack.GetUserRevision()
	}
	after, err := lists.Recommend(ctx, request)
	if err != nil {
		return err
	}
	v.acked.Record(acked)
	v.shown.Record(time.Since(sent))
	if !shows(after, item, ack.GetUserRevision()) {
		v.violations.Add(1)
	}
	return nil
}

// shows tells whether a list was made after the event of this revision on this item.
func shows(list *pb.RecommendResponse, item string, revision uint64) bool {
	return list.GetUserRevision() >= revision &&
		!slices.ContainsFunc(list.GetItems(),
			func(i *pb.ScoredItem) bool { return i.GetItemId() == item })
}
