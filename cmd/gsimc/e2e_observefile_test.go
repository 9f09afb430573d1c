package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// A history that is imported from a file is the one that is streamed event by event: the same
// revision, list and explanation, with every event on an item that comes again. A row that is left
// out is told.
func TestFileIsStream(t *testing.T) {
	t.Parallel()
	_, model := smallModel(t)
	server := startServe(t, model, "", "--store", "memory")
	users := pb.NewUserServiceClient(server.client(t))
	events := pb.NewEventServiceClient(server.client(t))
	items := listFor(t, server, "somebody").GetItems()
	text := "user_id,item_id,timestamp\nimported,,1700000000\n"
	for i, at := range []int{0, 1, 0, 2, 0, 1} {
		item, second := items[at].GetItemId(), int64(1_700_000_000+i*86_400)
		text += fmt.Sprintf("imported,%s,%d\n", item, second)
		if _, err := events.Observe(t.Context(), &pb.ObserveRequest{Event: &pb.Event{
			UserId: "streamed", ItemId: item,
			EventTime: &timestamppb.Timestamp{Seconds: second},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	code, stdout, stderr := runCLI(t, nil, "observe", "--data", writeFile(t, "events.csv", text),
		"--server", server.GRPC, "--max-bad-rows", "1")
	if want := "6 of 6 events acknowledged"; code != 0 || !strings.Contains(stdout, want) {
		t.Errorf("exit code %d, printed %q, want %q; standard error %q", code, stdout, want, stderr)
	}
	if want := "note: 1 of 7 rows left out as bad, "; !strings.Contains(stderr, want) ||
		!strings.Contains(stderr, "events.csv:2: column item_id: empty id") {
		t.Errorf("standard error is %q, want %q and the row", stderr, want)
	}
	about := func(user string) (*pb.GetUserResponse, []*pb.ScoredItem) {
		got, err := users.GetUser(t.Context(), &pb.GetUserRequest{UserId: user})
		if err != nil {
			t.Fatal(err)
		}
		list, err := pb.NewRecommenderServiceClient(server.client(t)).Recommend(t.Context(),
			&pb.RecommendRequest{PageSize: 20, Explain: 5,
				Subject: &pb.RecommendRequest_UserId{UserId: user}})
		if err != nil {
			t.Fatal(err)
		}
		got.User.UserId = ""
		return got, list.GetItems()
	}
	streamed, want := about("streamed")
	imported, got := about("imported")
	if d := cmp.Diff(streamed, imported, protocmp.Transform()); d != "" ||
		streamed.GetUser().GetRevision() != 6 {
		t.Errorf("the history streamed (-) and imported (+):\n%s", d)
	}
	if d := cmp.Diff(want, got, protocmp.Transform()); d != "" || len(want) != 20 ||
		want[0].GetExplanation() == nil {
		t.Errorf("the %d items of the history streamed (-) and imported (+):\n%s", len(want), d)
	}
}
