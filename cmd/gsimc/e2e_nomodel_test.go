package main

import (
	"path/filepath"
	"slices"
	"testing"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/learn/dataset"
)

// A server starts with nothing at all: it lists what is popular in its store, teaches itself the
// first model, and is personal from then on, over a restart too.
func TestServeWithoutModel(t *testing.T) {
	dir := t.TempDir()
	events := filepath.Join(t.TempDir(), "events.csv.gz")
	mustRun(t, "generate", "--users", "300", "--items", "120", "--events", "6000", "--out", events)
	server := startServe(t, "", dir, "--retrain-every", "1s")
	got := listFor(t, server, "ann")
	if len(got.GetItems()) != 0 || !slices.Contains(got.GetDegradations(),
		pb.Degradation_DEGRADATION_NO_MODEL) {
		t.Errorf("with nothing there the answer is %v", got)
	}
	says(t, "/readyz", server.page(t, "/readyz"), "there is no model yet")
	server.awaitLog(t, "no first model yet", 1)
	check.Same(t, 0.0, server.metrics(t)[`gsimc_retrain_total{outcome="failed"}`],
		"failed trainings of an empty store")
	for _, e := range [][2]string{{"ann", "x"}, {"bob", "x"}, {"bob", "y"}} {
		execute(t, "observe", "--server", server.GRPC, "--user", e[0], "--item", e[1])
	}
	if !eventually(func() bool {
		got = listFor(t, server, "eve")
		return len(got.GetItems()) == 2
	}) || got.GetItems()[0].GetItemId() != "x" {
		t.Errorf("the popular items are %v", got)
	}
	if got := listFor(t, server, "ann"); len(got.GetItems()) != 1 ||
		got.GetItems()[0].GetItemId() != "y" {
		t.Errorf("ann, who has seen x, gets %v", got)
	}
	execute(t, "observe", "--server", server.GRPC, "--data", events)
	server.awaitLog(t, "retrained: the first model serves", 1)
	personal := func() bool { // the first training may have begun before the events were there
		got = listFor(t, server, firstUser(t, events))
		return len(got.GetItems()) == 5 && len(got.GetDegradations()) == 0 &&
			got.GetItems()[0].GetSource() == pb.ResultSource_RESULT_SOURCE_PERSONALIZED
	}
	for range 2 {
		if !eventually(personal) {
			t.Fatalf("after the training the answer is %v", got)
		}
		server.mustStop(t)
		server = startServe(t, "", dir)
	}
}

// firstUser is the first user of a file of events.
func firstUser(t *testing.T, path string) string {
	t.Helper()
	d, _, err := dataset.Read([]string{path}, dataset.Options{})
	check.Must(t, err)
	return d.Users[0]
}

// listFor asks for five items for a user.
func listFor(t *testing.T, p *serverProcess, user string) *pb.RecommendResponse {
	t.Helper()
	return listTo(t, p.client(t), user, 5)
}
