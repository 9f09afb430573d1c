package main

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/learn/evaluate"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/spectral"
)

func TestTrainShow(t *testing.T) {
	events, path := smallModel(t)
	args := []string{"train", "--data", events, "--out", path, "--rank", "16", "--graph",
		"covariance", "--filter", "diffusion",
		"--gamma", "2", "--alpha", "0.9", "--half-life", "48h", "--covariance", "full",
		"--degree-rescale", "0.5"}
	out, verbose := mustRun(t, args...), mustRun(t, append(args, "--verbose")...)
	says(t, "train", out, "270 training, 30 validation", "peak memory", "quality", "HR@10 0.",
		"30 validation users", "of popularity  HR@10 0.", "next: gsimc serve --model "+path)
	for _, want := range []string{"rank              16", "max residual", "eigenvalues of K"} {
		if !strings.Contains(verbose, want) || strings.Contains(out, want) {
			t.Errorf("want %q with --verbose only:\n%s\n%s", want, out, verbose)
		}
	}
	m := check.Get(model.Open(path))(t)
	defer m.Close()
	spec := m.Spec()
	if spec.Graph != "covariance" || spec.Filter.Name != "diffusion" || spec.Filter.Gamma != 2 ||
		spec.Alpha != 0.9 ||
		spec.HalfLife != 48*3600 || spec.Covariance != "full" || spec.DegreeRescale != 0.5 ||
		spec.TrainUsers != 270 {
		t.Errorf("the flags did not reach the model: %+v", spec)
	}
	shown := mustRun(t, "model", "show", path)
	says(t, "model show", shown, append(slices.Collect(maps.Keys(spec.Provenance)), m.Version(),
		"covariance", "diffusion", "eigenvalues")...)
	for _, key := range []string{"command", "data_hash", "gsimc_version", "seed", "solver_report",
		"trained_at"} {
		if spec.Provenance[key] == "" {
			t.Errorf("provenance lacks %s", key)
		}
	}
}

// With SOURCE_DATE_EPOCH, training twice gives the same file, and the model says that it is from
// then. The validation users tell the variances, so there is no warning.
func TestTrainIsReproducible(t *testing.T) {
	events, path := smallModel(t)
	var files []string
	for range 2 {
		_, stderr := mustRunIn(t, []string{"SOURCE_DATE_EPOCH=1700000000"}, "train", "--data",
			events, "--out", path, "--rank", "16")
		check.Lacks(t, stderr, "warning", "standard error")
		files = append(files, mustRead(t, path))
	}
	check.Same(t, files[1], files[0], "file of the same training")
	says(t, "model show", mustRun(t, "model", "show", path), "2023-11-14T22:13:20Z")
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
	train := []string{"train", "--data", data, "--out", out, "--rank", "2"}
	says(t, "of five users all train", mustRun(t, train...), "5 training, 0 validation")
	says(t, "with a split", mustRun(t, append(train, "--split", split)...),
		"3 training, 1 validation")
}

func TestEvaluate(t *testing.T) {
	events, _ := smallModel(t)
	const names = "popularity,gs-imc,gs-imc-best,bgs-online random-walk,mrfcf,ease-forgetting"
	args := []string{"evaluate", "--data", events, "--rank", "16", "--methods", names}
	table := mustRun(t, args...)
	var got struct {
		Users  struct{ Train, Validation, Test int }
		Items  int
		Rank   int
		Solver *struct {
			Leading []float64 `json:"leading_eigenvalues_of_K"`
		}
		Methods   map[string]map[string]float64
		Variants  map[string]string
		TestUsers []string `json:"test_users"`
		Ranks     map[string][]int
	}
	decode(t, mustRun(t, append(args, "--json", "--verbose")...), &got)
	if got.Users.Train != 240 || got.Users.Validation != 30 || got.Users.Test != 30 ||
		got.Items != 120 || got.Rank != 16 {
		t.Errorf("head is %+v, want 240, 30 and 30 users, 120 items and rank 16", got)
	}
	if len(got.Variants) != 1 ||
		!slices.Contains(spectral.FilterNames, got.Variants["gs-imc-best"]) {
		t.Errorf("variants %v, want a filter for gs-imc-best alone", got.Variants)
	}
	methods := check.Get(evaluate.ParseMethods(names))(t)
	check.Same(t, len(methods), len(got.Methods), "methods")
	for _, m := range methods {
		figures := got.Methods[m.Name()]
		if figures["hr@100"] < figures["hr@10"] || figures["hr@100"] <= 0 ||
			figures["hr@100"] > 1 || figures["hr@10 stderr"] <= 0 {
			t.Errorf("%s: figures %v", m.Name(), figures)
		}
		hits, ranks := 0, got.Ranks[m.Name()]
		for _, rank := range ranks {
			if rank <= 10 {
				hits++
			}
		}
		if len(got.TestUsers) != 30 || len(ranks) != 30 || float64(hits)/30 != figures["hr@10"] {
			t.Errorf("%s: %d of the ranks of %d users are at most 10, but HR@10 is %v", m.Name(),
				hits, len(got.TestUsers), figures["hr@10"])
		}
		says(t, "the table", table, m.Name())
	}
	if f := got.Methods["ease-forgetting"]; f["lambda"] <= 0 || f["alpha"] <= 0 {
		t.Errorf("ease-forgetting: figures %v, want lambda and alpha among them", f)
	}
	says(t, "the table", table, "chosen on the validation users")
	if got.Solver == nil || len(got.Solver.Leading) != 16 {
		t.Errorf("solver report %+v, want 16 eigenvalues", got.Solver)
	}
}
