package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"

	"google.golang.org/grpc"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/evaluate"
)

// A model that was trained without some items is served; users stream events on them; the items
// join, and are there again after a restart.
func TestNewItemsAreServed(t *testing.T) {
	dir := t.TempDir()
	events, reduced := filepath.Join(dir, "events.csv.gz"), filepath.Join(dir, "model.gsimc")
	trainSmall(t, events, reduced, "1")
	data, _, err := dataset.Read([]string{events},
		dataset.Options{UserColumn: "user_id", ItemColumn: "item_id", TimeColumn: "timestamp"})
	if err != nil {
		t.Fatal(err)
	}
	part, err := data.Partition(dataset.SeededSplit(data.NumUsers(), 1))
	if err != nil {
		t.Fatal(err)
	}
	x, err := evaluate.HideItems(part, evaluate.HiddenItems{Share: 0.2, Shown: 1, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	without := filepath.Join(dir, "without.csv.gz")
	writeEvents(t, without, x.Reduced)
	if code, _, stderr := runCLI(t, nil, "train", "--data", without, "--rank", "16", "--out",
		reduced); code != cli.ExitOK {
		t.Fatal(stderr)
	}

	state := filepath.Join(dir, "state")
	server := startServe(t, reduced, state, "--extend-every", "50ms")
	var stream []*pb.Event
	for u := range 60 {
		for j, i := range part.Train.Of(u) {
			stream = append(stream, &pb.Event{EventId: fmt.Sprint(j),
				UserId: fmt.Sprintf("user %d", u), ItemId: part.Items[i]})
		}
	}
	if _, err := streamEvents(t.Context(), server.client(t), stream, nil); err != nil {
		t.Fatal(err)
	}
	asked := awaitNewItems(t, server.client(t), x.Hidden)
	server.mustStop(t)
	server = startServe(t, reduced, state, "--extend-every", "1h")
	if again := awaitNewItems(t, server.client(t), x.Hidden); again == 0 || asked == 0 {
		t.Errorf("%d and %d new items are recommended before and after the restart", asked, again)
	}
	server.mustStop(t)
}

// awaitNewItems waits until no event of a user waits for its item, and returns how many of the
// items are recommended to anyone.
func awaitNewItems(t *testing.T, conn grpc.ClientConnInterface, hidden []string) (recommended int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	users, recommender := pb.NewUserServiceClient(conn), pb.NewRecommenderServiceClient(conn)
	for u := range 60 {
		id := fmt.Sprintf("user %d", u)
		for {
			got, err := users.GetUser(ctx, &pb.GetUserRequest{UserId: id})
			if err != nil {
				t.Fatalf("%s has pending events still: %v", id, err)
			}
			if got.GetUser().GetPendingEventCount() == 0 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		answer, err := recommender.Recommend(ctx,
			&pb.RecommendRequest{Subject: &pb.RecommendRequest_UserId{UserId: id}})
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range answer.GetItems() {
			if slices.Contains(hidden, item.GetItemId()) {
				recommended++
			}
		}
	}
	return recommended
}

// writeEvents writes the training users' events of a partition.
func writeEvents(t *testing.T, path string, p *dataset.Partition) {
	t.Helper()
	f, err := dataset.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(f, "user_id,item_id,timestamp")
	for u := range p.Train.Len() {
		for j, i := range p.Train.Of(u) {
			fmt.Fprintf(f, "%d,%s,%d\n", u, p.Items[i], j)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
