package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
)

// Three servers watch a folder of models, as TestModelDir says. Soon all of them serve the newest
// one: after one has arrived, also if it is bad, and after the newest was taken away.
func TestModelsAreDelivered(t *testing.T) {
	dir := t.TempDir()
	events := filepath.Join(t.TempDir(), "events.csv.gz")
	execute(t, "generate", "--users", "300", "--items", "120", "--events", "6000", "--out", events)
	var servers []*serverProcess
	for range 3 {
		servers = append(servers, startServe(t, "", t.TempDir(), "--model-dir", dir))
	}
	awaitModel := func(what, want string) {
		t.Helper()
		await(t, what+": version "+want+" at all servers", func() bool {
			return !slices.ContainsFunc(servers, func(s *serverProcess) bool {
				return servedVersion(t, s) != want
			})
		})
	}
	train := func(day, seed string) (file, version string) {
		t.Helper()
		at := check.Get(time.Parse(time.DateOnly, day))(t)
		t.Setenv("SOURCE_DATE_EPOCH", strconv.FormatInt(at.Unix(), 10))
		execute(t, "train", "--data", events, "--rank", "16", "--seed", seed, "--out", dir+"/")
		files, err := filepath.Glob(filepath.Join(dir, at.Format("20060102")+"T000000Z-*.gsimc"))
		if err != nil || len(files) != 1 {
			t.Fatalf("files of %s: %v, %v", day, files, err)
		}
		name := strings.TrimSuffix(filepath.Base(files[0]), ".gsimc")
		return files[0], name[strings.LastIndexByte(name, '-')+1:]
	}
	_, first := train("2026-01-02", "1")
	awaitModel("the first model", first)
	newer, second := train("2026-01-03", "2")
	awaitModel("a newer one", second)
	later, newest := train("2026-01-04", "4")
	awaitModel("the newest of all", newest)
	content := mustRead(t, later)
	replace(t, later, content[:len(content)-1])
	for _, s := range servers {
		s.awaitLog(t, "model reload failed", 1)
	}
	awaitModel("the newest file is damaged", newest)
	starting := startServe(t, "", t.TempDir(), "--model-dir", dir)
	check.Same(t, second, servedVersion(t, starting), "version of a server that starts then")
	says(t, "/readyz", starting.page(t, "/readyz"), "an older one serves")
	says(t, "/metrics", starting.metricsPage(t), "\ngsimc_model_behind 1\n")
	if _, err := pb.NewAdminServiceClient(servers[0].dialAdmin(t).Conn()).ReloadModel(t.Context(),
		&pb.ReloadModelRequest{}); err == nil {
		t.Error("ReloadModel took a damaged file")
	}
	for _, file := range []string{later, newer} {
		check.Must(t, os.Remove(file))
	}
	awaitModel("back to the first", first)
}

// servedVersion is the version of the model file that a server says it serves.
func servedVersion(t *testing.T, s *serverProcess) string {
	t.Helper()
	status := check.Get(pb.NewAdminServiceClient(s.dialAdmin(t).Conn()).GetStatus(t.Context(),
		&pb.GetStatusRequest{}))(t)
	return status.GetModel().GetVersion()
}
