package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
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
	got, err := pb.NewEventServiceClient(a.client(t)).BatchObserve(t.Context(),
		&pb.BatchObserveRequest{Events: batch})
	if err != nil || len(got.GetResults()) != len(batch) {
		t.Fatalf("BatchObserve: %d results, %v", len(got.GetResults()), err)
	}
	if err := a.Kill(); err != nil {
		t.Fatal(err)
	}
	for user := range 10 {
		got, err := pb.NewUserServiceClient(b.client(t)).GetUser(t.Context(),
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

// BenchmarkBatchObservePostgres measures BatchObserve of 500 events of as many users by 8 callers,
// with a server, a primary and a standby that confirms each commit on the same machine.
func BenchmarkBatchObservePostgres(b *testing.B) {
	const callers, size, users = 8, 500, 20_000
	_, model := smallModel(b)
	p := startShared(b, model, postgresURL(b, enginetest.Namespace()), "--max-new-users", "0")
	service := pb.NewEventServiceClient(p.client(b))
	var calls atomic.Int64
	var all sync.WaitGroup
	b.ResetTimer()
	for range callers {
		all.Go(func() {
			for {
				call := calls.Add(1)
				if call > int64(b.N) {
					return
				}
				batch := events(fmt.Sprint("call-", call), 0, size)
				for i, e := range batch {
					e.UserId = fmt.Sprint("user-", (int(call)*size+i)%users)
				}
				ctx, cancel := context.WithTimeout(b.Context(), 10*time.Second)
				got, err := service.BatchObserve(ctx, &pb.BatchObserveRequest{Events: batch})
				cancel()
				if err != nil || len(got.GetResults()) != size {
					b.Errorf("BatchObserve: %d results, %v", len(got.GetResults()), err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "events/s")
}
