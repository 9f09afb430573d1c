package server

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/models"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// checkpointer is a store whose copies are names.
type checkpointer struct {
	store.Store
	err           error // of making one
	made, removed atomic.Int64
}

func (c *checkpointer) Checkpoint(context.Context) (string, error) {
	c.made.Add(1)
	return "checkpoints/7", c.err
}

func (c *checkpointer) RemoveCheckpoint(ctx context.Context, dir string) error {
	if dir == "checkpoints/7" && ctx.Err() == nil {
		c.removed.Add(1)
	}
	return nil
}

// checkpoint asks for a checkpoint, which the call holds once there is no error.
func (ts *testServer) checkpoint(
	c context.Context,
) (pb.AdminService_CreateCheckpointClient, error) {
	stream, err := ts.admin.CreateCheckpoint(c, &pb.CreateCheckpointRequest{})
	if err != nil {
		return nil, err
	}
	copied, err := stream.Recv()
	if err == nil && copied.GetDir() != "checkpoints/7" {
		err = fmt.Errorf("the copy is %v", copied)
	}
	return stream, err
}

func TestCreateCheckpoint(t *testing.T) {
	st := &checkpointer{Store: memory.New()}
	ts := start(t, setup{store: st})
	call, cancel := context.WithCancel(ctx(t))
	defer cancel()
	check.Get(ts.checkpoint(call))(t)
	if st.removed.Load() > 0 {
		t.Error("the checkpoint was removed before the end of the call")
	}
	cancel()
	eventually(t, "the checkpoint is removed", func() bool { return st.removed.Load() == 1 })
	eventually(t, "the call has ended well", func() bool {
		_, page := ts.get(t, "/metrics")
		return strings.Contains(page, `grpc_server_handled_total{grpc_code="OK",`+
			`grpc_method="CreateCheckpoint",grpc_service="gsimc.v1.AdminService",`+
			`grpc_type="server_stream"} 1`)
	})
	for name, c := range map[string]struct {
		store store.Store
		want  problem
	}{
		"memory": {memory.New(),
			problem{Code: codes.FailedPrecondition, Reason: "STORE_NOT_ON_DISK"}},
		"full": {&checkpointer{Store: memory.New(), err: store.ErrFull},
			problem{Code: codes.ResourceExhausted, Reason: "STORE_FULL", Retry: true}},
	} {
		_, err := start(t, setup{store: c.store}).checkpoint(ctx(t))
		same(t, c.want, problemOf(t, err), "%s: problem differs", name)
	}
}

// GetStatus, ReloadModel, the metrics and the log agree on what a model of learned dynamics is.
func TestModelIsDescribed(t *testing.T) {
	const trained = "2026-02-03T04:05:06Z"
	open := func() (*model.Model, error) {
		return buildModel(t, 1, item, func(s *model.Spec) {
			s.Dynamics = model.DynamicsSpec{Kind: model.DynamicsLearned,
				Bands: []kalman.Band{{Rho: 0.5}}, Ridge: 1}
			s.Provenance = map[string]string{model.TrainedAtKey: trained}
		}), nil
	}
	version := check.Get(open())(t).Version()
	ts := start(t, setup{open: open})
	status := reply(t, ts.admin.GetStatus, &pb.GetStatusRequest{})
	reload := reply(t, ts.admin.ReloadModel, &pb.ReloadModelRequest{})
	for call, got := range map[string]*pb.Model{"GetStatus": status.GetModel(),
		"ReloadModel": reload.GetModel()} {
		if got.GetDynamics() != "learned" || got.GetFilter() != "" || models.TrainedAt(got) != trained ||
			got.GetItemCount() != testItems || got.GetRank() != testRank ||
			got.GetVersion() != version {
			t.Errorf("%s describes the model as %v", call, got)
		}
	}
	series := `gsimc_model_info{arm="main",dynamics="learned",filter="",graph="hypergraph",trained_at="` +
		trained +
		`",version="` + version + `"}`
	same(t, 1.0, value1(t, ts, series), "%s", series)
	line, _, _ := strings.Cut(ts.logs.String(), "\n")
	for _, want := range []string{
		`"msg":"serving"`, `"version":"unknown"`, `"model":"` + version + `"`,
		`"dynamics":"learned"`, `"items":30`,
		`"rank":8`, `"trained":"` + trained + `"`, `"grpc":"127.0.0.1:`, `"ops":"127.0.0.1:`,
	} {
		check.Has(t, line, want, "the first line of the log")
	}
}
