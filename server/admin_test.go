package server

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/models"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// checkpointStore pretends to copy itself.
type checkpointStore struct {
	store.Store
	err     error
	removed chan string
}

func (c *checkpointStore) Checkpoint(context.Context) (string, error) {
	return "checkpoints/7", c.err
}

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
	must(t, err)
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
		"memory": {memory.New(),
			problem{Code: codes.FailedPrecondition, Reason: "STORE_NOT_ON_DISK"}},
		"full": {&checkpointStore{Store: memory.New(), err: store.ErrFull},
			problem{Code: codes.ResourceExhausted, Reason: "STORE_FULL", Retry: true}},
	} {
		ts := start(t, setup{store: c.store})
		stream, err := ts.admin.CreateCheckpoint(ctx(t), &pb.CreateCheckpointRequest{})
		if err == nil {
			_, err = stream.Recv()
		}
		same(t, c.want, problemOf(t, err), "%s: problem differs", name)
	}
}

// GetStatus, ReloadModel, the metrics and the log agree on what a model of learned dynamics is.
func TestModelIsDescribed(t *testing.T) {
	const trained = "2026-02-03T04:05:06Z"
	m := buildModel(t, 1, item, func(s *model.Spec) {
		s.Dynamics = model.DynamicsSpec{Kind: model.DynamicsLearned,
			Bands: []kalman.Band{{Rho: 0.5}}, Ridge: 1}
		s.Provenance = map[string]string{model.TrainedAtKey: trained}
	})
	ts := start(t, setup{open: func() (*model.Model, error) { return m, nil }})
	status := reply(t, ts.admin.GetStatus, &pb.GetStatusRequest{})
	reload := reply(t, ts.admin.ReloadModel, &pb.ReloadModelRequest{})
	for call, got := range map[string]*pb.Model{"GetStatus": status.GetModel(),
		"ReloadModel": reload.GetModel()} {
		if got.GetDynamics() != "learned" || got.GetFilter() != "" || models.TrainedAt(got) != trained ||
			got.GetItemCount() != testItems || got.GetRank() != testRank ||
			got.GetVersion() != m.Version() {
			t.Errorf("%s describes the model as %v", call, got)
		}
	}
	series := `gsimc_model_info{arm="main",dynamics="learned",filter="",graph="hypergraph",trained_at="` +
		trained +
		`",version="` + m.Version() + `"}`
	if got := value1(t, ts, series); got != 1 {
		t.Errorf("%s = %v, want 1", series, got)
	}
	line, _, _ := strings.Cut(ts.logs.String(), "\n")
	for _, want := range []string{
		`"msg":"serving"`, `"version":"unknown"`, `"model":"` + m.Version() + `"`,
		`"dynamics":"learned"`, `"items":30`,
		`"rank":8`, `"trained":"` + trained + `"`, `"grpc":"127.0.0.1:`, `"ops":"127.0.0.1:`,
	} {
		if !strings.Contains(line, want) {
			t.Errorf("the first line of the log lacks %s: %s", want, line)
		}
	}
}
