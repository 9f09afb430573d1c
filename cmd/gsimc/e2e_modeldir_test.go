package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
)

// Three servers watch a folder of models. Within ten seconds all of them serve the newest one: after
// one has arrived, also if it is bad, and after the newest was taken away.
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
		begun := time.Now()
		if !eventually(func() bool {
			for _, s := range servers {
				if servedVersion(t, s) != want {
					return false
				}
			}
			return true
		}) {
			t.Fatalf("%s: the servers do not agree on version %s after 10 s", what, want)
		}
		t.Logf("%s: all servers have version %s after %v", what, want,
			time.Since(begun).Round(time.Millisecond))
	}
	train := func(day, seed string) (file, version string) {
		t.Helper()
		at, err := time.Parse(time.DateOnly, day)
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("SOURCE_DATE_EPOCH", strconv.FormatInt(at.Unix(), 10))
		execute(t, "train", "--data", events, "--rank", "16", "--seed", seed, "--out", dir+"/")
		files, err := filepath.Glob(filepath.Join(dir, at.Format("20060102")+"T000000Z-*.gsimc"))
		if err != nil || len(files) != 1 {
			t.Fatalf("files of %s: %v, %v", day, files, err)
		}
		return files[0], versionIn(files[0])
	}
	_, first := train("2026-01-02", "1")
	awaitModel("the first model", first)
	newer, second := train("2026-01-03", "2")
	awaitModel("a newer one", second)
	train("2026-01-01", "3") // an older one that arrives later changes nothing

	later, _ := train("2026-01-04", "4")
	awaitModel("the newest of all", versionIn(later))
	content := mustRead(t, later)
	temp := filepath.Join(dir, "damaged.tmp")
	if err := os.WriteFile(temp, content[:len(content)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temp, later); err != nil {
		t.Fatal(err)
	}
	for _, s := range servers {
		s.awaitLog(t, "model reload failed", 1)
	}
	awaitModel("the newest file is damaged", versionIn(later))
	starting := startServe(t, "", t.TempDir(), "--model-dir", dir)
	if got := servedVersion(t, starting); got != second {
		t.Errorf("a server that starts then has version %s, want the one before: %s", got, second)
	}
	if page := starting.page(t, "/readyz"); !strings.Contains(page, "an older one serves") {
		t.Errorf("/readyz says %q", page)
	}
	if page := starting.page(t, "/metrics"); !strings.Contains(page, "\ngsimc_model_behind 1\n") {
		t.Error("no metric says that an older model serves")
	}
	code, _, _ := runCLI(t, nil, "reload", "--server", servers[0].Admin)
	if code == cli.ExitOK {
		t.Error("ReloadModel took a damaged file")
	}
	for _, file := range []string{later, newer} {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	awaitModel("back to the first", first)
}

// versionIn is the version in the name of a file that train has named.
func versionIn(file string) string {
	name := strings.TrimSuffix(filepath.Base(file), ".gsimc")
	return name[strings.LastIndexByte(name, '-')+1:]
}

// servedVersion is the version of the model file that a server says it serves.
func servedVersion(t *testing.T, s *serverProcess) string {
	t.Helper()
	status, err := pb.NewAdminServiceClient(s.dialAdmin(t).Conn()).GetStatus(t.Context(),
		&pb.GetStatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return status.GetModel().GetVersion()
}
