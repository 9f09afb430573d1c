package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"

	"github.com/gsimc/gsimc/learn/evaluate"
	"github.com/gsimc/gsimc/model"
)

// mustRun runs a command in this process.
func mustRun(t testing.TB, args ...string) string {
	t.Helper()
	code, stdout, stderr := runCLI(t, nil, args...)
	if code != cli.ExitOK {
		t.Fatalf("gsimc %s: exit code %d: %s", strings.Join(args, " "), code, stderr)
	}
	return stdout
}

func TestGenerateIsDeterministic(t *testing.T) {
	dir := t.TempDir()
	var files [][]byte
	for _, name := range []string{"a.csv", "b.csv"} {
		mustRun(t, "generate", "--users", "50", "--items", "20", "--events", "300", "--seed", "7",
			"--out", filepath.Join(dir, name))
		text := mustRead(t, filepath.Join(dir, name))
		files = append(files, text)
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("the same seed gave two different files")
	}
	if got := bytes.Count(files[0], []byte("\n")); got != 301 {
		t.Errorf("%d lines, want a header and 300 events", got)
	}
}

func TestTrainShow(t *testing.T) {
	events, path := smallModel(t)
	args := []string{"train", "--data", events, "--out", path, "--rank", "16", "--graph",
		"covariance", "--filter", "diffusion",
		"--gamma", "2", "--alpha", "0.9", "--half-life", "48h", "--covariance", "full",
		"--degree-rescale", "0.5"}
	out, verbose := mustRun(t, args...), mustRun(t, append(args, "--verbose")...)
	for _, want := range []string{"270 training, 30 validation", "peak memory", "quality",
		"HR@10 0.", "30 validation users", "of popularity  HR@10 0.",
		"next: gsimc serve --model " + path} {
		if !strings.Contains(out, want) {
			t.Errorf("train does not print %q:\n%s", want, out)
		}
	}
	for _, want := range []string{"rank              16", "max residual", "eigenvalues of K"} {
		if !strings.Contains(verbose, want) || strings.Contains(out, want) {
			t.Errorf("want %q with --verbose only:\n%s\n%s", want, out, verbose)
		}
	}
	m, err := model.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	spec := m.Spec()
	if spec.Graph != "covariance" || spec.Filter.Name != "diffusion" || spec.Filter.Gamma != 2 ||
		spec.Alpha != 0.9 ||
		spec.HalfLife != 48*3600 || spec.Covariance != "full" || spec.DegreeRescale != 0.5 ||
		spec.TrainUsers != 270 {
		t.Errorf("the flags did not reach the model: %+v", spec)
	}
	shown := mustRun(t, "model", "show", path)
	for _, want := range append(slices.Collect(func(yield func(string) bool) {
		for key := range spec.Provenance {
			if !yield(key) {
				return
			}
		}
	}), m.Version(), "covariance", "diffusion", "eigenvalues") {
		if !strings.Contains(shown, want) {
			t.Errorf("model show does not mention %q:\n%s", want, shown)
		}
	}
	for _, key := range []string{"command", "data_hash", "gsimc_version", "seed", "solver_report",
		"trained_at"} {
		if spec.Provenance[key] == "" {
			t.Errorf("provenance lacks %s", key)
		}
	}
}

// With SOURCE_DATE_EPOCH, training twice gives the same file, and the model says that it is from
// then.
func TestTrainIsReproducible(t *testing.T) {
	events, path := smallModel(t)
	var files [][]byte
	for range 2 {
		code, _, stderr := runCLI(t, []string{"SOURCE_DATE_EPOCH=1700000000"}, "train", "--data",
			events, "--out", path, "--rank", "16")
		if code != cli.ExitOK {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		file := mustRead(t, path)
		files = append(files, file)
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("the same training gave two different files")
	}
	if shown := mustRun(t, "model", "show", path); !strings.Contains(shown,
		"2023-11-14T22:13:20Z") {
		t.Errorf("the time of the training is not that of SOURCE_DATE_EPOCH:\n%s", shown)
	}
	for _, bad := range []string{"yesterday", "-1", "1.5", "253402300800"} {
		code, _, stderr := runCLI(t, []string{"SOURCE_DATE_EPOCH=" + bad}, "train", "--data",
			events, "--out", path)
		if code != cli.ExitUsage || !strings.Contains(stderr,
			`SOURCE_DATE_EPOCH: "`+bad+`", want whole seconds since 1970`) {
			t.Errorf("%s: exit code %d, stderr %q", bad, code, stderr)
		}
	}
}

// A split file decides who trains; a handful of users all train.
func TestTrainSplit(t *testing.T) {
	rows, roles := "user_id,item_id,timestamp\n", "user_id,role\n"
	for u, role := range []string{"train", "train", "train", "validation", "test"} {
		name := string(rune('a' + u))
		for i := range 4 {
			rows += name + "," + string(rune('p'+(u+i)%5)) + ",1\n"
		}
		roles += name + "," + role + "\n"
	}
	data, split := writeFile(t, "events.csv", rows), writeFile(t, "split.csv", roles)
	out := filepath.Join(t.TempDir(), "m.gsimc")
	if got := mustRun(t, "train", "--data", data, "--out", out, "--rank",
		"2"); !strings.Contains(got, "5 training, 0 validation") {
		t.Errorf("of five users not all train:\n%s", got)
	}
	if got := mustRun(t, "train", "--data", data, "--out", out, "--rank", "2", "--split",
		split); !strings.Contains(got, "3 training, 1 validation") {
		t.Errorf("the split file was not followed:\n%s", got)
	}
}

func TestEvaluate(t *testing.T) {
	events, _ := smallModel(t)
	args := []string{"evaluate", "--data", events, "--rank", "16", "--methods",
		"popularity,gs-imc,bgs-online random-walk,mrfcf,ease-forgetting"}
	table := mustRun(t, args...)
	var got struct {
		Users  struct{ Train, Validation, Test int }
		Items  int
		Rank   int
		Solver *struct {
			Leading []float64 `json:"leading_eigenvalues_of_K"`
		}
		Methods map[string]map[string]float64
	}
	if err := json.Unmarshal([]byte(mustRun(t, append(args, "--json")...)), &got); err != nil {
		t.Fatal(err)
	}
	if got.Users.Train != 240 || got.Users.Validation != 30 || got.Users.Test != 30 ||
		got.Items != 120 || got.Rank != 16 {
		t.Errorf("head is %+v, want 240, 30 and 30 users, 120 items and rank 16", got)
	}
	methods, err := evaluate.ParseMethods("popularity,gs-imc,bgs-online " +
		"random-walk,mrfcf,ease-forgetting")
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Methods) != len(methods) {
		t.Errorf("%d methods, want %d", len(got.Methods), len(methods))
	}
	for _, m := range methods {
		figures := got.Methods[m.Name()]
		if figures["hr@100"] < figures["hr@10"] || figures["hr@100"] <= 0 ||
			figures["hr@100"] > 1 || figures["hr@10 stderr"] <= 0 {
			t.Errorf("%s: figures %v", m.Name(), figures)
		}
		if !strings.Contains(table, m.Name()) {
			t.Errorf("the table lacks %s:\n%s", m.Name(), table)
		}
	}
	if f := got.Methods["ease-forgetting"]; f["lambda"] <= 0 || f["alpha"] <= 0 {
		t.Errorf("ease-forgetting: figures %v, want lambda and alpha among them", f)
	}
	if !strings.Contains(table, "chosen on the validation users") {
		t.Errorf("the table does not say what was chosen:\n%s", table)
	}
	if got.Solver == nil || len(got.Solver.Leading) != 16 {
		t.Errorf("solver report %+v, want 16 eigenvalues", got.Solver)
	}
}
