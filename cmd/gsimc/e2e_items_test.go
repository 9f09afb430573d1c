package main

import (
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// An item that is hidden is not in the next list, nor after kill -9 and another start; a category
// filters, and the items come back when they are shown again.
func TestHiddenItemsOverRestarts(t *testing.T) {
	t.Parallel()
	_, model := smallModel(t)
	dir := filepath.Join(t.TempDir(), "data")
	srv := startServe(t, model, dir)
	list := func(filter *pb.ItemFilter) (ids []string) {
		t.Helper()
		r, err := pb.NewRecommenderServiceClient(srv.client(t)).Recommend(t.Context(),
			&pb.RecommendRequest{Subject: &pb.RecommendRequest_UserId{UserId: "nobody"},
				Filter: filter})
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range r.GetItems() {
			ids = append(ids, i.GetItemId())
		}
		return ids
	}
	write := func(req *pb.BatchUpsertItemsRequest) {
		t.Helper()
		_, err := pb.NewItemServiceClient(srv.client(t)).BatchUpsertItems(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
	}
	all := list(nil)
	hidden, tagged := all[0], all[3]
	check := func(moment string) {
		t.Helper()
		if got := list(nil); slices.Contains(got, hidden) || len(got) != len(all) {
			t.Errorf("%s: %v has %s, which is hidden", moment, got, hidden)
		}
		got := list(&pb.ItemFilter{AnyCategories: []string{"shoes"}})
		if !slices.Equal(got, []string{tagged}) {
			t.Errorf("%s: %v are shoes, want %s", moment, got, tagged)
		}
	}
	write(&pb.BatchUpsertItemsRequest{Items: []*pb.Item{
		{ItemId: hidden, Hidden: proto.Bool(true), Categories: []string{"shoes"}},
		{ItemId: tagged, Categories: []string{"shoes", "boots"}}}})
	check("at once")
	if err := srv.Kill(); err != nil {
		t.Fatal(err)
	}
	srv = startServe(t, model, dir)
	check("after kill -9")
	srv.mustStop(t)
	srv = startServe(t, model, dir)
	check("after a restart")
	write(&pb.BatchUpsertItemsRequest{Items: []*pb.Item{{ItemId: hidden}},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"hidden"}}})
	if got := list(nil); !slices.Equal(got, all) {
		t.Errorf("shown again: %v, want %v", got, all)
	}
	srv.mustStop(t)
}
