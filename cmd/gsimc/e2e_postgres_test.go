package main

import (
	"context"
	"fmt"
	"testing"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/enginetest"
)

// TestServersOverPostgres sends events to one server, which is killed, and finds them at another
// one over the same database.
func TestServersOverPostgres(t *testing.T) {
	t.Parallel()
	_, model := smallModel(t)
	url := postgresURL(t, enginetest.Namespace())
	a, b := startShared(t, model, url), startShared(t, model, url)
	a.awaitLog(t, "promise of the store", 5)
	batch := events("batch", 0, 100)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // many work beside
	defer cancel()
	got, err := pb.NewEventServiceClient(a.client(t)).BatchObserve(ctx,
		&pb.BatchObserveRequest{Events: batch})
	if err != nil || len(got.GetResults()) != len(batch) {
		t.Fatalf("BatchObserve: %d results, %v", len(got.GetResults()), err)
	}
	if err := a.Kill(); err != nil {
		t.Fatal(err)
	}
	for user := range 10 {
		got, err := pb.NewUserServiceClient(b.client(t)).GetUser(ctx,
			&pb.GetUserRequest{UserId: fmt.Sprint("user-", user)})
		if err != nil || got.GetUser().GetEventCount() != 10 {
			t.Errorf("user %d has %d events at the other server, %v, want 10", user,
				got.GetUser().GetEventCount(), err)
		}
	}
	b.mustStop(t)
}

// events are events from one number to another, of 10 users in turn.
func events(name string, from, to int) []*pb.Event {
	var all []*pb.Event
	for i := from; i < to; i++ {
		all = append(all, &pb.Event{UserId: fmt.Sprint("user-", i%10),
			EventId: fmt.Sprint(name, "-", i), ItemId: fmt.Sprint("item-", i%300)})
	}
	return all
}
