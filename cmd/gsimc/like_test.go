package main

import (
	"math"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/learn/train"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
)

// specOf is the spec of a model file without its provenance, and its rank.
func specOf(t *testing.T, path string) (model.Spec, int) {
	t.Helper()
	m := check.Get(model.Open(path))(t)
	defer m.Close()
	spec := m.Spec()
	spec.Provenance = nil
	return spec, m.Rank()
}

// TestTrainLike trains models of all kinds, and each again with --like: they must have the same
// constants, and the second the same events after the same filters.
func TestTrainLike(t *testing.T) {
	events, _ := smallModel(t)
	dir := t.TempDir()
	first, second := filepath.Join(dir, "first.gsimc"), filepath.Join(dir, "second.gsimc")
	for _, flags := range []string{
		"--rank 12", "--quick",
		"--rank 12 --window 5 --degree-exponent 0.9 --degree-rescale 0.3 --bands 0,0.8@720h " +
			"--ridge 0.5 --positions 7 --no-deviation",
		"--rank 12 --preset paper --covariance full --alpha 0.9",
		"--rank 12 --graph covariance --filter power --power 0.7 --half-life 48h --sigma-nu 0.01 " +
			"--min-user-events 12 --min-item-events 9",
		"--rank 12 --solver nystrom --landmarks 90 --nystrom-form paper",
	} {
		mustRun(t, append([]string{"train", "--data", events, "--out", first},
			strings.Fields(flags)...)...)
		mustRun(t, "train", "--data", events, "--out", second, "--like", first)
		spec, rank := specOf(t, first)
		again, againRank := specOf(t, second)
		if diff := cmp.Diff(spec, again); diff != "" || rank != againRank {
			t.Errorf("%s: ranks %d and %d, specs differ (-first +second):\n%s", flags, rank,
				againRank, diff)
		}
		for _, key := range []string{"data_hash", "asked_rank", "solver", "landmarks",
			"min_user_events"} {
			if a, b := provenance(t, first, key), provenance(t, second, key); a != b {
				t.Errorf("%s: %s is %q, and then %q", flags, key, a, b)
			}
		}
	}
	mustRun(t, "train", "--data", events, "--out", second, "--like", second) // which it replaces
	for _, flag := range []string{"--rank=5", "--bands=0", "--filter=power", "--preset=paper",
		"--window=5", "--alpha=0.5"} {
		name, _, _ := strings.Cut(flag, "=")
		refused(t, cli.ExitUsage, name+": has no effect with --like", "train", "--data", events,
			"--out", second, "--like", first, flag)
	}
	refused(t, cli.ExitFailure, "model file", "train", "--data", events, "--out", second, "--like",
		events)
}

// TestTrainCompare compares a model with one of another catalogue of the same item ids, both ways
// round.
func TestTrainCompare(t *testing.T) {
	events, right := smallModel(t)
	dir := t.TempDir()
	foreign, wrong, out := filepath.Join(dir, "foreign.csv.gz"), filepath.Join(dir, "wrong.gsimc"),
		filepath.Join(dir, "out.gsimc")
	trainSmall(t, foreign, wrong, "77")

	compare := func(data, with string) (got train.Summary) {
		t.Helper()
		decode(t, mustRun(t, "train", "--data", data, "--out", out, "--like", right, "--compare",
			with, "--json"), &got)
		return got
	}
	better := compare(firstEvents(t, events, 300, 1000, laterYears), wrong)
	if c := better.Comparison; c.Worse || c.Users != 75 || c.LeftOut != 0 || c.N != 50 ||
		!(c.Difference > 2*c.DifferenceErr) || math.Abs(c.New-c.Old-c.Difference) > 1e-9 {
		t.Errorf("against the model of another catalogue: %+v, want it clearly better on 75 users",
			*c)
	}
	if better.Rank != 16 || better.Items != 120 || better.Users != 270 ||
		better.Version == better.Comparison.OldVersion {
		t.Errorf("the summary is %+v", better)
	}
	row := mustRun(t, "train", "--data", firstEvents(t, events, 300, 1000, laterYears), "--out",
		out, "--like", right, "--compare", wrong)
	row = strings.Join(strings.Fields(row), " ") // the width of the columns varies
	of := regexp.MustCompile(`recall@50 0\.\d+ ± 0\.\d+ on 75 recent events ` +
		`of the other 0\.\d+ ± 0\.\d+, ` + regexp.QuoteMeta(wrong) + ` difference \+0\.`)
	if !of.MatchString(row) {
		t.Errorf("the summary is\n%s", row)
	}
	check.Has(t, row, "next: gsimc serve --model "+out, "the row of a better model")
	row = mustRun(t, "train", "--data", firstEvents(t, events, 300, 2, laterYears), "--out", out,
		"--like", right, "--compare", right) // two events of each user are too little
	says(t, "a worse model", row, ": the new model is worse", "next: gsimc serve --model "+right)
	renamed := writeFile(t, "renamed.csv", "user_id,item_id,timestamp"+strings.ReplaceAll(
		strings.TrimPrefix(mustRead(t, firstEvents(t, events, 300, 1000, laterYears)),
			"user_id,item_id,timestamp"), ",i", ",other"))
	refused(t, cli.ExitTooFew, right+" knows none of the items of the 75 events that were held out",
		"train", "--data", renamed, "--out", out, "--compare", right)
	decode(t, mustRun(t, "train", "--data", renamed, "--out", out, "--compare", right, "--json"),
		&better)
	if c := better.Comparison; c.Users != 0 || c.LeftOut != 75 || c.Worse {
		t.Errorf("a model of other items as servers retrain: %+v", *c)
	}
	for data, want := range map[string]string{
		firstEvents(t, events, 20, 9, laterYears): "--compare: 5 of the 20 users can be held " +
			"out, want at least 30",
		events: "--compare: no event is newer than ",
	} {
		refused(t, cli.ExitTooFew, want, "train", "--data", data, "--like", right, "--out", out,
			"--compare", right)
	}
}

// TestTrainCompareWithoutTimes compares with a model of events without times. It has seen all that
// there was at its training.
func TestTrainCompareWithoutTimes(t *testing.T) {
	events, _ := smallModel(t)
	dir := t.TempDir()
	old, out := filepath.Join(dir, "old.gsimc"), filepath.Join(dir, "out.gsimc")
	timeless := writeFile(t, "timeless.csv", strings.Replace(
		mustRead(t, firstEvents(t, events, 300, 1000, 0)), "timestamp", "unused", 1))
	mustRun(t, "train", "--data", timeless, "--rank", "16", "--out", old)
	args := []string{"train", "--like", old, "--compare", old, "--out", out, "--data"}
	refused(t, cli.ExitTooFew, "Z, and the old model may have seen all until then: 0 of the 300 "+
		"users can be held out", append(args, events)...)
	mustRun(t, append(args, firstEvents(t, events, 300, 1000, 100))...)
	_, note := mustRunIn(t, nil, append(args, timeless)...)
	says(t, "a comparison on events without times", note, "--compare favours a model that was")
}
