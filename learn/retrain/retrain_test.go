package retrain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/proctest"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/store/pebble"
)

func TestMain(m *testing.M) {
	actAsTrainer()
	os.Exit(m.Run())
}

// trainerVariable makes this test program a training, of the kind of its value, when a retrainer
// starts it.
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
		text := fmt.Sprintln(os.Getpid(), 20-priority, err, os.Getenv("GOMAXPROCS"))
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
		fmt.Println(`{"too_few": {"users": 5, "of": 20, "want": 30}}`)
		os.Exit(3)
	case "nothing yet":
		fmt.Println(`{"too_few": {"reason": "no interactions: 0 events"}}`)
		os.Exit(1)
	case "says why":
		fmt.Println(`{"failure": "no room"}`)
		os.Exit(1)
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
func newTestRetrainer(
	t *testing.T, kind string,
) (r *Loop, s *fakeServer, log *proctest.Output, done *[]Attempt) {
	t.Helper()
	t.Setenv(trainerVariable, kind)
	dir := t.TempDir()
	st, err := pebble.Open(context.Background(), filepath.Join(dir, "state"), pebble.Options{})
	check.Must(t, err)
	t.Cleanup(func() {
		check.Pass(t, st.Close(), "Close")
	})
	check.Must(t, os.WriteFile(filepath.Join(dir, "m.gsimc"), []byte("the old one"),
		0o600))
	s, log, done = &fakeServer{version: "old"}, &proctest.Output{}, new([]Attempt)
	loop := check.Get(New(Config{
		Every: time.Millisecond, Model: filepath.Join(dir, "m.gsimc"),
		DataDir: filepath.Join(dir, "state"),
		Store:   st, Server: s, Log: slog.New(slog.NewJSONHandler(log, nil)),
		Done: func(a Attempt) {
			*done = append(*done, a)
		},
		Command: func(ctx context.Context, t Training) *exec.Cmd {
			cmd := exec.CommandContext(ctx, os.Args[0], "--from-store", t.Checkpoint, "--like",
				t.Like, "--out", t.Out)
			cmd.Env = append(os.Environ(), "GOMAXPROCS=3")
			return cmd
		},
	}))(t)
	return loop, s, log, done
}

// TestRetrainOutcomes runs trainings of all kinds and looks at what is left of the files, counted
// and logged.
func TestRetrainOutcomes(t *testing.T) {
	good := modelFile(t)
	fake := func(copied string, c *train.Comparison) string {
		text := check.Get(json.Marshal(fakeTraining{
			train.Summary{Version: "new", Comparison: c}, copied,
		}))(t)
		return string(text)
	}
	broken := filepath.Join(t.TempDir(), "broken.gsimc")
	check.Must(t, os.WriteFile(broken, []byte("no model"), 0o600))
	better := &train.Comparison{OldVersion: "old", Old: 0.25, New: 0.5, Users: 40, N: 50}
	for _, c := range []struct {
		name, kind string
		refuse     error
		outcome    string
		log        string
		reloads    int
	}{
		{"swapped", fake(good, better), nil, Swapped, `"recall_old":0.25,"recall_new":0.5`, 1},
		{"worse", fake(good, &train.Comparison{OldVersion: "old", Old: 0.5, New: 0.25,
			Worse: true}), nil, Kept, "is worse on the latest events", 0},
		{"superseded", fake(good, &train.Comparison{OldVersion: "third"}), nil, Superseded,
			"another model was loaded meanwhile", 0},
		{"refused", fake(good, better), errors.New("not this one"), Failed, "not this one", 1},
		{"broken file", fake(broken, better), nil, Failed, "retraining failed", 0},
		{"not compared", fake(good, nil), nil, Failed, "compared nothing", 0},
		{"fails", "fail", nil, Failed,
			"the training ended early: exit status 1: gsimc: out of luck", 0},
		{"says why", "says why", nil, Failed, `"error":"no room"`, 0},
		{"too few", "too few", nil, Skipped,
			`"reason":"5 of the 20 users can be held out, want at least 30`, 0},
		{"empty store", "nothing yet", nil, Skipped, `"reason":"no interactions: 0 events"`, 0},
		{"babbles", "babble", nil, Failed, "the summary of the training cannot be read", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, s, log, done := newTestRetrainer(t, c.kind)
			s.refuse = c.refuse
			r.once(t.Context())
			if len(*done) != 1 || (*done)[0].Outcome != c.outcome || (*done)[0].Took <= 0 {
				t.Errorf("counted %+v, want one %s", *done, c.outcome)
			}
			got := (*done)[0].Summary.Comparison
			if c.name == "swapped" && (got == nil || got.Old != 0.25 || got.New != 0.5) {
				t.Errorf("counted %+v, want the recalls", *done)
			}
			check.Has(t, log.String(), c.log, "the log")
			check.Same(t, c.reloads, s.reloaded, "reloads")
			want := check.Get(os.ReadFile(good))(t)
			if c.outcome != Swapped {
				want = []byte("the old one")
			}
			check.Same(t, want, check.Get(os.ReadFile(r.model))(t), "the model file")
			wantFiles(t, r)
		})
	}
}

// TestFirstModelNotYet tells a store that has too few events for a first model, which is no fault,
// from a training that fails.
func TestFirstModelNotYet(t *testing.T) {
	for kind, want := range map[string][3]string{
		"nothing yet": {Skipped, `"level":"INFO"`, "no first model yet: it takes users"},
		"says why":    {Failed, `"level":"ERROR"`, "retraining failed, there is no first model yet"},
	} {
		r, s, log, done := newTestRetrainer(t, kind)
		s.version = ""
		r.once(t.Context())
		text := log.String()
		last := text[strings.LastIndex(strings.TrimSpace(text), "\n")+1:]
		if len(*done) != 1 || (*done)[0].Outcome != want[0] ||
			!strings.Contains(last, want[1]) || !strings.Contains(last, want[2]) {
			t.Errorf("%s: counted %+v, the log ends in %s\nwant %q", kind, *done, last, want)
		}
	}
}

// TestRetrainLeavesOtherFiles swaps a model in beside a file of the operator, and what a server
// left that was killed in a swap.
func TestRetrainLeavesOtherFiles(t *testing.T) {
	good := modelFile(t)
	r, _, _, _ := newTestRetrainer(t, "")
	fresh := check.Get(os.ReadFile(good))(t)
	own := r.model + ".previous"
	for path, text := range map[string][]byte{
		r.fresh(): fresh, own: []byte("of the operator"), r.rollback(): []byte("left"),
	} {
		check.Must(t, os.WriteFile(path, text, 0o600))
	}
	check.Must(t, r.swap(t.Context(), r.fresh()))
	check.Same(t, "of the operator", string(check.Get(os.ReadFile(own))(t)), "the operator's file")
	for _, path := range []string{r.fresh(), r.rollback()} {
		check.Fails(t, check.Err(os.Stat(path)), os.ErrNotExist, "%s is left", path)
	}
}

// wantFiles checks that there is nothing but the model and the store.
func wantFiles(t *testing.T, r *Loop) {
	t.Helper()
	var names []string
	left, err := os.ReadDir(filepath.Dir(r.model))
	for _, entry := range left {
		names = append(names, entry.Name())
	}
	if err != nil || !slices.Equal(names, []string{"m.gsimc", "state"}) {
		t.Errorf("files left beside the model: %v %v", names, err)
	}
	if left, err := os.ReadDir(filepath.Join(r.cfg.DataDir, "checkpoints")); err != nil ||
		len(left) > 0 {
		t.Errorf("checkpoints left: %v %v", left, err)
	}
}

// TestRetrainStops ends the server in the middle of a training, which runs behind it in every
// respect.
func TestRetrainStops(t *testing.T) {
	own := check.Get(unix.Getpriority(unix.PRIO_PROCESS, 0))(t)
	r, s, log, done := newTestRetrainer(t, "hang")
	// by a server that was killed
	for _, left := range []string{"m.gsimc.retrained", ".m.gsimc.retrained.123.tmp"} {
		check.Must(t, os.WriteFile(filepath.Join(filepath.Dir(r.model), left), nil, 0o600))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.Run(ctx)
	}()
	stop := func() {
		cancel()
		<-ended
	}
	defer stop()
	var text []byte
	for deadline := time.Now().Add(20 * time.Second); len(text) == 0; time.Sleep(
		5 * time.Millisecond) {
		if text, _ = os.ReadFile(r.model + ".retrained.running"); time.Now().After(deadline) {
			t.Fatalf("no training began; log:\n%s", log)
		}
	}
	var pid, nice int
	var rest string
	check.Get(fmt.Sscan(string(text), &pid, &nice, &rest))(t)
	check.Same(t, fmt.Sprintln(pid, min(20-own+10, 19), nil, 3), string(text),
		"what the training says of itself (pid, nice, error, GOMAXPROCS)")
	now := check.Get(unix.Getpriority(unix.PRIO_PROCESS, 0))(t)
	check.Same(t, own, now, "the priority of the server itself")
	// The server sets it when the training may have begun already.
	check.Await(t, "oom_score_adj is 1000", func() bool {
		score := check.Get(os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid)))(t)
		return strings.TrimSpace(string(score)) == "1000"
	})
	began := time.Now()
	stop()
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("stopping took %s: the training was killed, not told", took)
	}
	check.Fails(t, syscall.Kill(pid, 0), syscall.ESRCH, "a signal to the training that has ended")
	if s.reloaded > 0 || len(*done) > 0 || !strings.Contains(log.String(), "retraining stopped") {
		t.Errorf("%d reloads, counted %v, log:\n%s", s.reloaded, *done, log)
	}
	check.Pass(t, os.Remove(r.model+".retrained.running"), "Remove")
	wantFiles(t, r)
}

// anyTime is when the model of modelFile was trained.
var anyTime = time.Date(1999, 1, 2, 3, 4, 5, 0, time.UTC)

// modelFile writes a small model.
func modelFile(t *testing.T) string {
	t.Helper()
	p := &dataset.Partition{Items: []string{"a", "b", "c"}}
	p.Train = dataset.Histories{
		User: []int32{0, 1}, Ptr: []int64{0, 2, 4}, Item: []int32{0, 1, 1, 2},
	}
	p.Validation = dataset.Histories{Ptr: []int64{0}}
	result := check.Get(train.Run(p, train.Config{Spec: train.Paper(), Rank: 2,
		Origin: &train.Origin{TrainedAt: anyTime}}))(t)
	path := filepath.Join(t.TempDir(), "good.gsimc")
	f := check.Get(os.Create(path))(t)
	check.Get(result.Model.WriteTo(f))(t)
	check.Must(t, f.Close())
	return path
}
