package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/call"
)

// Each list that was served while events came is made again, items and scores to the last bit, by
// the running server, from its folder, and from a backup.
func TestReplay(t *testing.T) {
	t.Parallel()
	_, model := smallModel(t)
	dir := filepath.Join(t.TempDir(), "state")
	weights := []string{"--event-weight", "view=0.3"}
	p := startServe(t, model, dir, weights...)
	events := pb.NewEventServiceClient(p.client(t))
	lists := pb.NewRecommenderServiceClient(p.client(t))
	const user = "ann"
	recommend := func() (items []call.Item) {
		got, err := lists.Recommend(t.Context(), &pb.RecommendRequest{PageSize: 20,
			Subject: &pb.RecommendRequest_UserId{UserId: user}})
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range got.GetItems() {
			items = append(items, call.Item{ID: item.GetItemId(), Score: item.GetScore()})
		}
		return items
	}
	served := [][]call.Item{recommend()}
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	value := 0.7
	for n := range 12 {
		e := &pb.Event{UserId: user, ItemId: fmt.Sprintf("i%03d", 7*n+3),
			EventTime: timestamppb.New(begin.Add(time.Duration(n) * time.Hour))}
		switch n % 4 {
		case 1:
			e.EventType = "view"
		case 2:
			e.Value = &value
		case 3:
			e.ItemId = "of-no-model"
		}
		if _, err := events.Observe(t.Context(), &pb.ObserveRequest{Event: e}); err != nil {
			t.Fatal(err)
		}
		served = append(served, recommend())
	}
	if slices.Equal(served[4], served[6]) {
		t.Fatal("the lists do not change")
	}
	replayed := func(from string, want int, args ...string) {
		t.Helper()
		var got call.Answer
		out := execute(t, append([]string{"replay", "--user", user, "-n", "20", "--json"},
			args...)...)
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatal(err)
		}
		same := func(a, b call.Item) bool { return a.ID == b.ID && a.Score == b.Score }
		if !slices.EqualFunc(got.Items, served[want], same) || got.Revision != uint64(want) {
			t.Errorf("%s, %d events: got %v\nwant %v", from, want, got.Items, served[want])
		}
		if want > 0 && got.Items[0].Explanation == nil {
			t.Errorf("%s, %d events: no explanation", from, want)
		}
	}
	for _, n := range []int{0, 1, 6, 12} {
		replayed("server", n, "--at", fmt.Sprint(n), "--server", p.GRPC)
	}
	backup := filepath.Join(t.TempDir(), "backup")
	execute(t, "backup", "--data-dir", dir, "--server", p.Admin, "--to", backup)
	p.mustStop(t)
	for from, folder := range map[string]string{"folder": dir, "backup": backup} {
		at := append([]string{"--data-dir", folder, "--model", model}, weights...)
		for _, n := range []int{0, 2, 5, 8, 12} {
			replayed(from, n, append(at, "--at", fmt.Sprint(n))...)
		}
		replayed(from, 12, at...)
		// Half an hour after the fifth event.
		replayed(from, 5, append(at, "--at", begin.Add(4*time.Hour+30*time.Minute).Format(
			time.RFC3339))...)
	}
}
