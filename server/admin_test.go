package server

import (
	"context"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/google/go-cmp/cmp"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// checkpointStore pretends to copy itself.
type checkpointStore struct {
	store.Store
	err     error
	removed chan string
}

func (c *checkpointStore) Checkpoint(context.Context) (string, error) { return "checkpoints/7", c.err }

func (c *checkpointStore) RemoveCheckpoint(ctx context.Context, dir string) error {
	c.removed <- dir
	return ctx.Err()
}

func TestCreateCheckpoint(t *testing.T) {
	st := &checkpointStore{Store: memory.New(), removed: make(chan string, 1)}
	ts := start(t, setup{store: st})
	call, cancel := context.WithCancel(ctx(t))
	defer cancel()
	stream, err := ts.admin.CreateCheckpoint(call, &pb.CreateCheckpointRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if copied, err := stream.Recv(); err != nil || copied.GetDir() != "checkpoints/7" {
		t.Errorf("got %v, %v, want checkpoints/7", copied, err)
	}
	select {
	case <-st.removed:
		t.Error("the checkpoint was removed before the end of the call")
	default:
	}
	cancel()
	if dir := <-st.removed; dir != "checkpoints/7" {
		t.Errorf("removed %q", dir)
	}
}

func TestCreateCheckpointRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		store store.Store
		want  problem
	}{
		"memory": {memory.New(), problem{Code: codes.FailedPrecondition, Reason: "STORE_NOT_ON_DISK"}},
		"full":   {&checkpointStore{Store: memory.New(), err: store.ErrFull}, problem{Code: codes.ResourceExhausted, Reason: "STORE_FULL", Retry: true}},
	} {
		ts := start(t, setup{store: c.store})
		stream, err := ts.admin.CreateCheckpoint(ctx(t), &pb.CreateCheckpointRequest{})
		if err == nil {
			_, err = stream.Recv()
		}
		if diff := cmp.Diff(c.want, problemOf(t, err)); diff != "" {
			t.Errorf("%s: problem differs (-want +got):\n%s", name, diff)
		}
	}
}
