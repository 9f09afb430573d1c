package train_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/spectral"
)

func TestCandidates(t *testing.T) {
	cfg := train.Config{Spec: train.Recommended(), ChooseRank: true, ChooseRidge: true}
	for rank, want := range map[int][]int{
		100: nil, 170: nil, 171: {128}, 256: {128}, 523: {128, 256}, 779: {128, 256, 512},
		1024: {128, 256, 512}, 2000: {128, 256, 512},
	} {
		check.Same(t, want, cfg.Candidates(rank).Ranks, "ranks below %d", rank)
	}
	if f := cfg.Candidates(100); len(f.Ridges) != 4 || f.Ridges[2] != 3 || f.FewerBands {
		t.Errorf("%+v, want ridges two below 1, 3 and 9, and all bands", f)
	}
	cfg.ChooseBands = true
	if f := cfg.Candidates(100); !f.FewerBands {
		t.Errorf("%+v, want fewer bands", f)
	}
	cfg.Spec.Dynamics.Bands = cfg.Spec.Dynamics.Bands[:1]
	if f := cfg.Candidates(100); f.FewerBands {
		t.Errorf("%+v, want the only band", f)
	}
	cfg.Spec = train.Paper()
	if f := cfg.Candidates(1024); !f.None() {
		t.Errorf("without learned dynamics: %+v", f)
	}
}

// choosing is a training that chooses, with a provenance.
func choosing() train.Config {
	return train.Config{
		Spec: train.Recommended(), Rank: 300, Seed: 1,
		ChooseRank: true, ChooseRidge: true, ChooseBands: true,
		Origin: &train.Origin{TrainedAt: time.Unix(0, 0)},
	}
}

// TestRunChooses: the basis, the provenance and the summary are those of the chosen rank, a
// training like it keeps the rank and the ridge, and the plan has the stages that are told.
func TestRunChooses(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: training takes seconds")
	}
	p := pieces(t, 1, shape{body: 800, cliques: 10, perClique: 5, train: 2, validation: 1, test: 1})
	cfg := choosing()
	cfg.Notes = func(b *spectral.Basis) map[string]string {
		return map[string]string{"eigenvectors": strings.Repeat("|", b.K)}
	}
	var told []string
	cfg.Progress = func(stage string, _, _ int) {
		if !slices.Contains(told, stage) {
			told = append(told, stage)
		}
	}
	r := check.Get(train.Run(p, cfg))(t)
	c := r.Choice
	if c == nil || c.Rank >= c.Of || c.Of != 300 {
		t.Fatalf("choice %+v, want a rank below 300: walks among few communities", c)
	}
	spec := r.Model.Spec()
	if r.Basis.K != c.Rank || r.Model.Rank() != c.Rank || spec.Dynamics.Ridge != c.Ridge ||
		r.Basis.Report.KappaMin != r.Model.Kappa()[c.Rank-1] {
		t.Errorf("the basis has rank %d and ends at %v, the model has rank %d and ridge %v; chosen %v",
			r.Basis.K, r.Basis.Report.KappaMin, r.Model.Rank(), spec.Dynamics.Ridge, c)
	}
	for key, want := range map[string]string{
		train.KeyChoice: c.String(), train.KeyCandidates: c.Values(), train.KeyAskedRank: "128",
		train.KeySolverReport: r.Basis.Report.String(), "eigenvectors": strings.Repeat("|", c.Rank),
	} {
		check.Same(t, want, spec.Provenance[key], "provenance %s", key)
	}
	if got := train.NewSummary(p, r, nil).Choice; got != c.String() {
		t.Errorf("summary %q, want %q", got, c)
	}
	var planned []string
	for _, s := range train.NewPlan(p, cfg).Announced() {
		planned = append(planned, s.Name)
	}
	check.Same(t, append(told, train.StageWrite), planned, "stages")
	like := train.Like(r.Model)
	again := check.Get(train.Run(p, like.Apply(choosing())))(t)
	if again.Choice != nil || again.Model.Rank() != c.Rank ||
		again.Model.Spec().Dynamics.Ridge != c.Ridge {
		t.Errorf("trained like it: rank %d, ridge %v, choice %v", again.Model.Rank(),
			again.Model.Spec().Dynamics.Ridge, again.Choice)
	}
}

// TestLikeOfADefaultRank: a training like one that asked for no rank takes the default of its own
// catalogue, and not of the largest one.
func TestLikeOfADefaultRank(t *testing.T) {
	p := pieces(t, 2, shape{body: 400, train: 2, validation: 1, test: 1})
	cfg := choosing()
	cfg.Rank, cfg.ChooseRank = 0, false
	like := train.Like(check.Get(train.Run(p, cfg))(t).Model)
	again := like.Apply(choosing())
	for _, items := range []int{100, 3000, 100_000} {
		want := train.DefaultRank(model.DynamicsLearned, items)
		check.Same(t, want, again.RankFor(items), "rank for %d items", items)
	}
}

// TestPlanOfTheChoice: its cost grows with the candidates, and its memory is part of the peak.
func TestPlanOfTheChoice(t *testing.T) {
	p := pieces(t, 2, shape{body: 400, train: 2, validation: 1, test: 1})
	seconds := func(cfg train.Config) (sum float64) {
		for _, s := range train.NewPlan(p, cfg).Announced() {
			if s.Name == fit.StageChoose {
				sum += s.Seconds
			}
		}
		return sum
	}
	all, givenBands, onlyRank, none := choosing(), choosing(), choosing(), choosing()
	givenBands.ChooseBands = false
	onlyRank.ChooseBands, onlyRank.ChooseRidge = false, false
	none.ChooseRank, none.ChooseRidge, none.ChooseBands = false, false, false
	a, b, c, d := seconds(all), seconds(givenBands), seconds(onlyRank), seconds(none)
	if !(a > b && b > c && c > d) || d != 0 {
		t.Errorf("%v s for rank, ridge and bands, %v s for rank and ridge, %v s for the rank, "+
			"%v s for none", a, b, c, d)
	}
	with, stage := train.NewPlan(p, all).Peak(0)
	without, _ := train.NewPlan(p, none).Peak(0)
	if with <= without || stage != "dynamics: choice" {
		t.Errorf("peak of %d bytes in %q, and of %d without a choice", with, stage, without)
	}
}
