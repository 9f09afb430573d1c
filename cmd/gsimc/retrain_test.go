package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gsimc/gsimc/dataset"
	"github.com/gsimc/gsimc/server"
	"github.com/gsimc/gsimc/store/pebble"
	"github.com/gsimc/gsimc/train"
)

// trainerVariable makes this test program a training, of the kind of its value, when a retrainer starts it.
const trainerVariable = "TEST_GSIMC_TRAINER"

// fakeTraining is what a training of the tests prints; the model that it makes is a copy of Copy.
type fakeTraining struct {
	train.Summary
	Copy string
}

// actAsTrainer ends the process if it is a training.
func actAsTrainer() {
	kind := os.Getenv(trainerVariable)
	if kind == "" {
		return
	}
	out := os.Args[slices.Index(os.Args, "--out")+1]
	switch kind {
	case "hang":
		priority, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
		text := fmt.Sprintln(os.Getpid(), 20-priority, err, os.Getenv("GOMAXPROCS"), os.Getenv("GSIMC_RANK"))
		if err := os.WriteFile(out+".running.tmp", []byte(text), 0o600); err != nil {
			panic(err)
		}
		if err := os.Rename(out+".running.tmp", out+".running"); err != nil {
			panic(err)
		}
		time.Sleep(time.Hour)
	case "fail":
		fmt.Fprintln(os.Stderr, "a note\ngsimc: out of luck")
		os.Exit(1)
	case "too few":
		fmt.Fprintln(os.Stderr, "gsimc: too few")
		os.Exit(exitTooFew)
	case "babble":
		fmt.Println("all went well")
		os.Exit(0)
	}
	var f fakeTraining
	if err := json.Unmarshal([]byte(kind), &f); err != nil {
		panic(err)
	}
	file, err := os.ReadFile(f.Copy)
	if err == nil {
		err = os.WriteFile(out, file, 0o600)
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(f.Summary)
	}
	if err != nil {
		panic(err)
	}
	os.Exit(0)
}

// fakeServer is the server of a retrainer in tests.
type fakeServer struct {
	version  string
	refuse   error
	reloaded int
}

func (f *fakeServer) ModelVersion() string { return f.version }

func (f *fakeServer) Reload(context.Context) error {
	f.reloaded++
	return f.refuse
}

// newTestRetrainer has a store with one event, and a model file; its trainings are of the kind.
func newTestRetrainer(t *testing.T, kind string) (r *retrainer, s *fakeServer, log *serverLog, done *[]server.Retraining) {
	t.Helper()
	t.Setenv(trainerVariable, kind)
	dir := t.TempDir()
	st, err := pebble.Open(context.Background(), filepath.Join(dir, "state"), pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := os.WriteFile(filepath.Join(dir, "m.gsimc"), []byte("the old one"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, log, done = &fakeServer{version: "old"}, &serverLog{}, new([]server.Retraining)
	return &retrainer{
		every: time.Millisecond, exe: os.Args[0], cpus: 3, model: filepath.Join(dir, "m.gsimc"), dataDir: filepath.Join(dir, "state"),
		store: st, server: s, log: slog.New(slog.NewJSONHandler(log, nil)),
		retrained: func(d server.Retraining) { *done = append(*done, d) },
	}, s, log, done
}

// TestRetrainOutcomes runs trainings of all kinds and looks at what is left of the files, counted and logged.
func TestRetrainOutcomes(t *testing.T) {
	_, good := smallModel(t)
	fake := func(copied string, c *train.Comparison) string {
		text, err := json.Marshal(fakeTraining{train.Summary{Version: "new", Comparison: c}, copied})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	broken := writeFile(t, "broken.gsimc", "no model")
	better := &train.Comparison{OldVersion: "old", Old: 0.25, New: 0.5, Users: 40, N: 50}
	for _, c := range []struct {
		name, kind string
		refuse     error
		outcome    string
		log        string
		reloads    int
	}{
		{"swapped", fake(good, better), nil, server.RetrainSwapped, `"recall_old":0.25,"recall_new":0.5`, 1},
		{"worse", fake(good, &train.Comparison{OldVersion: "old", Old: 0.5, New: 0.25, Worse: true}), nil, server.RetrainKept, "is worse on the latest events", 0},
		{"superseded", fake(good, &train.Comparison{OldVersion: "third"}), nil, server.RetrainSuperseded, "another model was loaded meanwhile", 0},
		{"refused", fake(good, better), errors.New("not this one"), server.RetrainFailed, "not this one", 1},
		{"broken file", fake(broken, better), nil, server.RetrainFailed, "retraining failed", 0},
		{"not compared", fake(good, nil), nil, server.RetrainFailed, "compared nothing", 0},
		{"fails", "fail", nil, server.RetrainFailed, "exit status 1: gsimc: out of luck", 0},
		{"too few", "too few", nil, server.RetrainSkipped, "too few new events to judge", 0},
		{"babbles", "babble", nil, server.RetrainFailed, "its summary cannot be read", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, s, log, done := newTestRetrainer(t, c.kind)
			s.refuse = c.refuse
			r.once(t.Context())
			if len(*done) != 1 || (*done)[0].Outcome != c.outcome || (*done)[0].Took <= 0 {
				t.Errorf("counted %+v, want one %s", *done, c.outcome)
			}
			if c.name == "swapped" && ((*done)[0].RecallOld != 0.25 || (*done)[0].RecallNew != 0.5 || !(*done)[0].Compared) {
				t.Errorf("counted %+v, want the recalls", *done)
			}
			if !strings.Contains(log.String(), c.log) {
				t.Errorf("the log is %s\nwant %q", log, c.log)
			}
			if s.reloaded != c.reloads {
				t.Errorf("reloaded %d times, want %d", s.reloaded, c.reloads)
			}
			want, err := os.ReadFile(good)
			if err != nil {
				t.Fatal(err)
			}
			if c.outcome != server.RetrainSwapped {
				want = []byte("the old one")
			}
			if got, err := os.ReadFile(r.model); err != nil || string(got) != string(want) {
				t.Errorf("the model file has %d bytes, %v, want %d", len(got), err, len(want))
			}
			wantFiles(t, r)
		})
	}
}

// TestRetrainLeavesOtherFiles swaps a model in beside a file of the operator, and what a server left that was killed in a swap.
func TestRetrainLeavesOtherFiles(t *testing.T) {
	_, good := smallModel(t)
	r, _, _, _ := newTestRetrainer(t, "")
	fresh, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	own := r.model + ".previous"
	for path, text := range map[string][]byte{r.fresh(): fresh, own: []byte("of the operator"), r.rollback(): []byte("left")} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.swap(t.Context(), r.fresh()); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(own); err != nil || string(text) != "of the operator" {
		t.Errorf("the operator's file holds %q, %v", text, err)
	}
	for _, path := range []string{r.fresh(), r.rollback()} {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
}

// wantFiles checks that there is nothing but the model and the store.
func wantFiles(t *testing.T, r *retrainer) {
	t.Helper()
	var names []string
	left, err := os.ReadDir(filepath.Dir(r.model))
	for _, entry := range left {
		names = append(names, entry.Name())
	}
	if err != nil || !slices.Equal(names, []string{"m.gsimc", "state"}) {
		t.Errorf("files left beside the model: %v %v", names, err)
	}
	if left, err := os.ReadDir(filepath.Join(r.dataDir, "checkpoints")); err != nil || len(left) > 0 {
		t.Errorf("checkpoints left: %v %v", left, err)
	}
}

// TestRetrainStops ends the server in the middle of a training, which runs behind it in every respect.
func TestRetrainStops(t *testing.T) {
	t.Setenv("GSIMC_RANK", "7") // of the server, not of the training
	own, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	r, s, log, done := newTestRetrainer(t, "hang")
	for _, left := range []string{"m.gsimc.retrained", ".m.gsimc.retrained.123.tmp"} { // by a server that was killed
		if err := os.WriteFile(filepath.Join(filepath.Dir(r.model), left), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stop := inBackground(ctx, r.run)
	defer stop()
	var text []byte
	for deadline := time.Now().Add(20 * time.Second); len(text) == 0; time.Sleep(5 * time.Millisecond) {
		if text, _ = os.ReadFile(r.model + ".retrained.running"); time.Now().After(deadline) {
			t.Fatalf("no training began; log:\n%s", log)
		}
	}
	var pid, nice int
	var rest string
	if _, err := fmt.Sscan(string(text), &pid, &nice, &rest); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintln(pid, min(20-own+10, 19), nil, 3, ""); string(text) != want {
		t.Errorf("the training says %q of itself (pid, nice, error, GOMAXPROCS, GSIMC_RANK), want %q", text, want)
	}
	if now, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err != nil || now != own {
		t.Errorf("the priority of the server itself went from %d to %d, %v", own, now, err)
	}
	if score, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid)); err != nil || strings.TrimSpace(string(score)) != "1000" {
		t.Errorf("oom_score_adj is %q, %v, want 1000", score, err)
	}
	began := time.Now()
	cancel()
	stop()
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("stopping took %s: the training was killed, not told", took)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the training is still there: %v", err)
	}
	if s.reloaded > 0 || len(*done) > 0 || !strings.Contains(log.String(), "retraining stopped") {
		t.Errorf("%d reloads, counted %v, log:\n%s", s.reloaded, *done, log)
	}
	if err := os.Remove(r.model + ".retrained.running"); err != nil {
		t.Error(err)
	}
	wantFiles(t, r)
}

var metricLine = regexp.MustCompile(`(?m)^(gsimc_(?:retrain|online)\S*) (\S+)$`)

// metrics are the series of retraining and live quality of a running server.
func (p *serverProcess) metrics(t *testing.T) map[string]float64 {
	t.Helper()
	resp, err := http.Get("http://" + p.ops + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, m := range metricLine.FindAllStringSubmatch(string(page), -1) {
		if found[m[1]], err = strconv.ParseFloat(m[2], 64); err != nil {
			t.Errorf("metric %s: %v", m[1], err)
		}
	}
	return found
}

// TestServeRetrains starts a server on the model of another catalogue, streams events to it, and waits until it has taught itself better;
// and one on a good model whose store has too little to learn from, which keeps what it has.
func TestServeRetrains(t *testing.T) {
	events, right := smallModel(t)
	dir := t.TempDir()
	wrong := filepath.Join(dir, "model.gsimc")
	trainSmall(t, filepath.Join(dir, "foreign.csv.gz"), wrong, "77")
	before := provenance(t, wrong, "data_hash")

	// start serves from a store that holds the first events of some users.
	start := func(t *testing.T, model string, users, most int, flags ...string) *serverProcess {
		data := filepath.Join(t.TempDir(), "state")
		p := serve(t, model, data)
		execute(t, "observe", "--data", firstEvents(t, events, users, most, laterYears), "--server", p.grpc)
		if m := p.metrics(t); m[`gsimc_retrain_total{outcome="swapped"}`] != 0 || len(m) < 5 {
			t.Errorf("without --retrain-every: %v", m)
		}
		p.mustStop(t)
		return serve(t, model, data, append(flags, "--retrain-every", "1s")...)
	}
	t.Run("a better model is swapped in", func(t *testing.T) {
		p := start(t, wrong, 300, 1000, "--quality-sample", "1", "--shadow-model", right)
		p.awaitLog(t, "retrained: the new model serves", 1)
		observeOnceMore(t, p, events)
		m := p.metrics(t)
		if m[`gsimc_retrain_total{outcome="swapped"}`] != 1 || m["gsimc_retrain_seconds"] <= 0 ||
			m[`gsimc_retrain_recall{model="new"}`] <= m[`gsimc_retrain_recall{model="old"}`] {
			t.Errorf("the metrics of retraining are %v", m)
		}
		if m[`gsimc_online_rank_count{model="serving"}`] != 1 || m[`gsimc_online_rank_count{model="shadow"}`] != 1 {
			t.Errorf("the metrics of live quality are %v", m)
		}
		p.awaitLog(t, "not retrained: too few new events", 1) // the new model has seen what there is
		p.mustStop(t)
		if after := provenance(t, wrong, "data_hash"); after == before {
			t.Error("the model file is the old one")
		}
		if spec, rank := specOf(t, wrong); rank != 16 || spec.Dynamics.Kind != "learned" {
			t.Errorf("the new model has rank %d and the spec %+v", rank, spec)
		}
	})
	t.Run("a worse model is not", func(t *testing.T) {
		p := start(t, right, 300, 2) // two events of each user are too little to learn from
		m := wantKept(t, p, right, server.RetrainKept, "the new model is worse on the latest events")
		if m[`gsimc_retrain_recall{model="new"}`] >= m[`gsimc_retrain_recall{model="old"}`] {
			t.Errorf("the metrics are %v", m)
		}
	})
	t.Run("too few events change nothing", func(t *testing.T) {
		p := start(t, right, 20, 9)
		wantKept(t, p, right, server.RetrainSkipped, "--compare: 5 of the 20 users can be held out")
	})
}

// observeOnceMore sends an event that is new to a user, and waits until its rank is measured.
func observeOnceMore(t *testing.T, p *serverProcess, events string) {
	t.Helper()
	d, _, err := dataset.Read([]string{events}, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	fresh := int32(0)
	for slices.Contains(d.Of(0), fresh) {
		fresh++
	}
	execute(t, "observe", "--user", d.Users[0], "--item", d.Items[fresh], "--server", p.grpc)
	for deadline := time.Now().Add(20 * time.Second); p.metrics(t)[`gsimc_online_rank_count{model="shadow"}`] == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the event was not measured")
		}
	}
}

// laterYears makes events newer than those that a model knows.
const laterYears = 2

// firstEvents writes the first events of the first users of a file to another, as of some years later.
func firstEvents(t *testing.T, path string, users, events, years int) string {
	t.Helper()
	d, _, err := dataset.Read([]string{path}, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := "user_id,item_id,timestamp\n"
	for u, user := range d.Users[:users] {
		for j := d.Ptr[u]; j < min(d.Ptr[u]+int64(events), d.Ptr[u+1]); j++ {
			text += fmt.Sprintf("%s,%s,%d\n", user, d.Items[d.Item[j]], d.Time[j]+int64(years)*365*86400)
		}
	}
	return writeFile(t, "first.csv", text)
}

// wantKept waits for a retraining with that outcome and log, and checks that the server goes on with the model of the file.
func wantKept(t *testing.T, p *serverProcess, path, outcome, log string) map[string]float64 {
	t.Helper()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p.awaitLog(t, log, 1)
	m := p.metrics(t)
	if m[`gsimc_retrain_total{outcome="`+outcome+`"}`] == 0 || m[`gsimc_retrain_total{outcome="swapped"}`] != 0 {
		t.Errorf("the metrics are %v", m)
	}
	if strings.Contains(p.log.String(), "model loaded") {
		t.Errorf("a model was loaded:\n%s", p.log)
	}
	if got := recommendTo(t, p.client(t), "nobody", 5); len(got.Items) != 5 {
		t.Errorf("the server answers %+v", got)
	}
	p.mustStop(t)
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the model file was changed, %v", err)
	}
	return m
}
