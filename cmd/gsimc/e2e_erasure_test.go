package main

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/filetest"
)

// TestErasureIsWaitedFor looks into all files of a server once DeleteUser with wait_for_erasure has
// answered. The user's ids were there before.
func TestErasureIsWaitedFor(t *testing.T) {
	t.Parallel()
	_, model := smallModel(t)
	dir := filepath.Join(t.TempDir(), "data")
	srv := startServe(t, model, dir)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	conn := srv.client(t)
	const mark = "marked-"
	for _, user := range []string{mark + "ann", "bob"} {
		if _, err := pb.NewEventServiceClient(conn).Observe(ctx, &pb.ObserveRequest{Event: &pb.Event{
			UserId: user, ItemId: "i1", EventId: user + "-e1"}}); err != nil {
			t.Fatal(err)
		}
	}
	if files := filetest.With(t, dir, mark); len(files) == 0 {
		t.Fatal("the mark is in no file: nothing is tested")
	}
	r, err := pb.NewUserServiceClient(conn).DeleteUser(ctx,
		&pb.DeleteUserRequest{UserId: mark + "ann", WaitForErasure: true})
	if err != nil || r.GetDeletedEventCount() != 1 {
		t.Fatalf("DeleteUser: %v, %v; want 1 event", r, err)
	}
	if files := filetest.With(t, dir, mark); len(files) > 0 {
		t.Errorf("the call was answered while the mark is in %v", files)
	}
	if files := filetest.With(t, dir, "bob-e1"); len(files) == 0 {
		t.Error("another user is gone")
	}
}
