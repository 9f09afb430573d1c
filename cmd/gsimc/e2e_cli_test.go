package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/call"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/check"

	"github.com/google/go-cmp/cmp"
)

// TestServeObserveRecommend goes the way of a user with the real binary: serve, recommend, observe,
// recommend, stream a file twice, restart.
func TestServeObserveRecommend(t *testing.T) {
	t.Parallel()
	events, model := smallModel(t)
	dir := filepath.Join(t.TempDir(), "state")
	server := startServe(t, model, dir)
	recommend := func() call.Answer {
		return recommendJSON(t, server, "--user", "alice", "--items", "5")
	}

	before := recommend()
	if len(before.Items) != 5 || before.Items[0].Source != "popular" ||
		!cmp.Equal(before.Degradations, []string{"unknown user"}) {
		t.Fatalf("a new user got %+v, want 5 popular items and the note that the user is unknown",
			before)
	}
	liked := before.Items[3].ID
	check.Same(t, "applied, revision 1\n", execute(t, "observe", "--server", server.GRPC, "--user",
		"alice", "--item", liked, "--event-id", "e1"), "observe printed")
	check.Same(t, "kept until a model knows the item, revision 2\n", execute(t, "observe",
		"--server", server.GRPC, "--user", "alice", "--item", "no-such-item"), "observe printed")
	after := recommend()
	if after.Revision != 2 || len(after.Items) != 5 || after.Items[0].Source != "personalized" {
		t.Fatalf("after two events: %+v, want personalized items of revision 2", after)
	}
	for _, item := range after.Items {
		if item.ID == liked {
			t.Errorf("the observed item %s is recommended again", liked)
		}
	}
	observe := []string{"observe", "--server", server.GRPC, "--data", events}
	says(t, "streaming a file", execute(t, observe...), "6000 of 6000 events acknowledged",
		"0 duplicates, 0 rejected")
	says(t, "streaming the file again", execute(t, append(observe, "--in-flight", "7")...),
		"0 applied, 0 kept until a model knows the item, 6000 duplicates")
	want := recommend()
	server.mustStop(t)
	server = startServe(t, model, dir)
	growing := cmp.FilterPath(func(p cmp.Path) bool { // with time
		return p.Last().String() == ".Uncertainty" || p.Last().String() == ".StdDev"
	}, cmp.Ignore())
	check.SameBy(t, growing, want, recommend(), "the answer after a restart (-before +after)")
	server.mustStop(t)
}

// TestExplainAndExplore: a seed gives the same draw again, and the table shows explanations and the
// draw.
func TestExplainAndExplore(t *testing.T) {
	t.Parallel()
	_, model := smallModel(t)
	server := startServe(t, model, "", "--store", "memory")
	items := recommendJSON(t, server, "--user", "alice", "--items", "4").Items
	for _, item := range items[:3] {
		execute(t, "observe", "--server", server.GRPC, "--user", "alice", "--item", item.ID)
	}
	flags := []string{"--user", "alice", "--items", "5", "--explain", "2", "--explore", "thompson",
		"--beta", "3", "--seed", "7"}
	got := recommendJSON(t, server, flags...)
	if got.Seed != 7 || got.Uncertainty == nil || got.Items[0].Source != "exploration" ||
		got.Items[0].StdDev == nil {
		t.Fatalf("an explored list is %+v", got)
	}
	if x := got.Items[0].Explanation; x == nil || len(x.Contributions) != 2 {
		t.Errorf("an explanation is %+v, want two contributions", x)
	}
	again := recommendJSON(t, server, flags...)
	for i, item := range again.Items {
		check.Same(t, got.Items[i].ID, item.ID, "with the same seed, item at place %d", i)
	}
	table := execute(t, append([]string{"recommend", "--server", server.GRPC}, flags...)...)
	says(t, "the table", table, " ± ", " %  what everybody likes", " %  the other events",
		"The percentages are shares", "uncertainty about the user: ", "explored with seed 7")
	server.mustStop(t)
}

func recommendJSON(t *testing.T, server *serverProcess, args ...string) (got call.Answer) {
	t.Helper()
	decode(t, execute(t, append([]string{"recommend", "--server", server.GRPC, "--json"},
		args...)...), &got)
	return got
}

// A SIGHUP that comes during a drain is ignored: by default it would end the process before the
// store is closed.
func TestHangupWhileDraining(t *testing.T) {
	_, model := smallModel(t)
	server := startServe(t, model, t.TempDir(), "--drain-delay", "500ms")
	check.Must(t, server.Signal(syscall.SIGTERM))
	server.awaitLog(t, `"msg":"signal: draining, again to exit at once"`, 1)
	for range 3 {
		time.Sleep(100 * time.Millisecond)
		check.Must(t, server.Signal(syscall.SIGHUP))
	}
	if <-server.Exited(); server.Err() != nil {
		t.Errorf("the server did not exit with 0: %v", server.Err())
	}
}

// A hangup loads the new file; a damaged one is refused and the old model goes on serving.
func TestReload(t *testing.T) {
	t.Parallel()
	events, model := smallModel(t)
	server := startServe(t, model, "", "--store", "memory")
	version := func() string { return recommendJSON(t, server, "--user", "u").ModelVersion }
	first := version()

	trainSmall(t, events, model, "2")
	hangup := func(log string) {
		t.Helper()
		seen := strings.Count(server.log.String(), log)
		check.Must(t, server.Signal(syscall.SIGHUP))
		server.awaitLog(t, log, seen+1)
	}
	hangup("model loaded")
	second := version()
	if second == first {
		t.Errorf("version is still %s after the reload of another model", first)
	}
	replace(t, model, "not a model")
	hangup("model reload failed")
	check.Same(t, second, version(), "version after a failed reload")
	server.mustStop(t)
}

// A server whose store or address is in use does not start, says why in one line and exits with 1.
func TestServeRefuses(t *testing.T) {
	_, model := smallModel(t)
	dir := t.TempDir()
	server, empty := startServe(t, model, dir), t.TempDir()
	for name, args := range map[string][]string{
		"store in use":   {"--model", model, "--data-dir", dir},
		"no new store":   {"--model", model, "--data-dir", empty, "--listen", server.GRPC},
		"address in use": {"--model", model, "--store", "memory", "--listen", server.GRPC},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, stderr := runCLI(t, nil, serveFlags(args...)...)
			last := stderr[strings.LastIndex(strings.TrimSpace(stderr), "\n")+1:]
			if code != cli.ExitFailure || !strings.HasPrefix(last, "gsimc: ") ||
				strings.Contains(stderr, "goroutine ") {
				t.Errorf("exit code %d, stderr %q", code, stderr)
			}
		})
	}
	mustBeEmpty(t, empty)
}

// The demonstration replaces no file that is there before it.
func TestDemoReplacesNothing(t *testing.T) {
	for _, name := range []string{"events.csv.gz", "model.gsimc", "state"} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, name), "mine")
		refused(t, cli.ExitFailure, "--dir: "+dir+" has "+name+", of an earlier run or yours: "+
			"choose another folder", "demo", "--dir", dir)
		check.Same(t, "mine", mustRead(t, filepath.Join(dir, name)), "the %s that was there", name)
	}
}

func TestDemo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "demo")
	out := execute(t, "demo", "--dir", dir, "--users", "300", "--items", "120", "--events", "6000",
		"--rank", "16")
	says(t, "demo", out, "is unknown to the server: popular items", "Event 6: ",
		"The answer is the same: revision 6, 10 items", "Done in ")
	if !regexp.MustCompile(`personalized  (new|up \d+|down \d+)`).MatchString(out) {
		t.Errorf("no list changed:\n%s", out)
	}
	check.Get(os.Stat(filepath.Join(dir, "model.gsimc")))(t) // --dir keeps the files
}
