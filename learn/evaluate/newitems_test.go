package evaluate_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/learn/train"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/evaluate"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/spectral"
)

// modelsOf trains on the partitions of x, with the same constants.
func modelsOf(
	t *testing.T, x *evaluate.NewItems, spec model.Spec, rank int,
) evaluate.NewItemsModels {
	t.Helper()
	var models [3]*model.Model
	for i, p := range []*dataset.Partition{x.Full, x.Reduced, x.Shown} {
		basis, err := spectral.Solve(train.Incidence(p), spectral.Options{
			Graph: spectral.Graph{Kind: spec.Graph, DegreeExponent: spec.DegreeExponent},
			Rank:  rank, Seed: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		spec.TrainUsers = int64(p.Train.Len())
		if models[i], err = model.New(spec, basis, p.Items, train.LearnFrom(p)); err != nil {
			t.Fatal(err)
		}
	}
	return evaluate.NewItemsModels{Full: models[0], Reduced: models[1], Shown: models[2]}
}

func hide(
	t *testing.T, p *dataset.Partition, share, shown float64, seed uint64,
) *evaluate.NewItems {
	t.Helper()
	x, err := evaluate.HideItems(p, evaluate.HiddenItems{Share: share, Shown: shown, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestHideItems(t *testing.T) {
	p := checkerboard(t)
	x := hide(t, p, 0.25, 0.5, 1)
	if len(x.Hidden) != 6 || len(x.Reduced.Items) != 18 {
		t.Fatalf("%d items hidden and %d left, want 6 and 18", len(x.Hidden), len(x.Reduced.Items))
	}
	for _, id := range x.Hidden {
		for _, other := range x.Reduced.Items {
			if id == other {
				t.Errorf("%s is hidden and is not", id)
			}
		}
	}
	// What is left of a training user's history are its items that are not hidden, in order.
	for u := range x.Reduced.Train.Len() {
		var want, got []string
		for _, i := range p.Train.Of(int(x.Reduced.Train.User[u])) {
			if id := p.Items[i]; !strings.Contains(strings.Join(x.Hidden, " "), id) {
				want = append(want, id)
			}
		}
		for _, i := range x.Reduced.Train.Of(u) {
			got = append(got, x.Reduced.Items[i])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("user %d (-want +got):\n%s", u, diff)
		}
	}
	shown := map[int64]bool{} // users of Shown with hidden items
	for u := range x.Shown.Train.Len() {
		of := p.Train.Of(int(x.Shown.Train.User[u]))
		for _, i := range x.Shown.Train.Of(u) {
			if slices.Contains(x.Hidden, p.Items[i]) {
				shown[int64(x.Shown.Train.User[u])] = true
			}
		}
		all := len(x.Shown.Train.Of(u)) == len(of)
		if shown[int64(x.Shown.Train.User[u])] && !all {
			t.Errorf("training user %d shows some hidden items and not others", u)
		}
	}
	if len(shown) == 0 || len(shown) > p.Train.Len()/2 {
		t.Errorf("%d of %d training users have hidden items, want up to half", len(shown),
			p.Train.Len())
	}
	if diff := cmp.Diff(x.Hidden, hide(t, p, 0.25, 0.5, 1).Hidden); diff != "" {
		t.Errorf("the same seed hides other items:\n%s", diff)
	}
	if cmp.Equal(x.Hidden, hide(t, p, 0.25, 0.5, 2).Hidden) {
		t.Error("another seed hides the same items")
	}
	if _, err := evaluate.HideItems(p, evaluate.HiddenItems{Share: 0.01, Shown: 1}); err == nil {
		t.Error("no item to hide, and no error")
	}
}

// On the checkerboard everything is known: an extended model must find new items of the user's
// colour.
func TestCompareOnCheckerboard(t *testing.T) {
	p := checkerboard(t)
	x := hide(t, p, 0.25, 0.5, 3)
	spec := model.DefaultSpec()
	models := modelsOf(t, x, spec, 2)
	calls := 0
	results, err := x.Compare(evaluate.Filtered(evaluate.GS, spectral.RandomWalk), models,
		func(int, int) {
			calls++
		})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range results {
		names = append(names, r.Model)
		if len(r.New.Ranks)+len(r.Known.Ranks) != p.Test.Len() {
			t.Errorf("%s: %d and %d targets of %d users", r.Model, len(r.New.Ranks),
				len(r.Known.Ranks), p.Test.Len())
		}
	}
	if diff := cmp.Diff([]string{evaluate.FullModel, evaluate.ReducedModel, evaluate.ExtendedModel,
		evaluate.ShownModel}, names); diff != "" {
		t.Fatal(diff)
	}
	if len(results[0].New.Ranks) == 0 {
		t.Fatal("no target is new: choose another seed")
	}
	if results[1].New.Metrics[0].HR != 0 || results[1].Placed != 0 ||
		results[2].Placed != len(x.Hidden) {
		t.Errorf("without: HR %v, placed %d; extended: placed %d, want 0, 0 and %d",
			results[1].New.Metrics[0].HR, results[1].Placed, results[2].Placed, len(x.Hidden))
	}
	for _, r := range results[2].New.Ranks { // 12 items of a colour, 5 of them in the history
		if r > 7 {
			t.Errorf("extended: a new target of the user's colour has rank %d, want at most 7", r)
		}
	}
	for _, beside := range []string{evaluate.FullModel, evaluate.ShownModel} {
		if share, ok := evaluate.ReachedHR(results, beside, 50); !ok || share != 1 {
			t.Errorf("the extension reaches %v of the HR@50 of the model %s, want all", share, beside)
		}
	}
}

// TestNewItemsReference is the acceptance on public data: a fifth of the items come after the
// training, and half the users show them.
func TestNewItemsReference(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: the reference data takes some seconds")
	}
	p, _ := loadReference(t, "movietweetings")
	x := hide(t, p, 0.2, 0.5, 1)
	spec := learnedSpec(p)
	spec.Dynamics.Positions = 200
	models := modelsOf(t, x, spec, 128)
	results, err := x.Compare(evaluate.LearnedDynamics(), models, nil)
	if err != nil {
		t.Fatal(err)
	}
	share, ok := evaluate.ReachedHR(results, evaluate.FullModel, 50)
	t.Logf("HR@50 of new targets: %.3f trained on all, %.3f extended; of known ones %.3f and %.3f",
		results[0].New.Metrics[1].HR, results[2].New.Metrics[1].HR, results[0].Known.Metrics[1].HR,
		results[2].Known.Metrics[1].HR)
	if !ok || share < 0.8 {
		t.Errorf("the extension reaches %.0f %% of the full model's HR@50, want at least 80 %%",
			100*share)
	}
	if got, want := results[2].Known.Metrics[1].HR, results[0].Known.Metrics[1].HR; got < 0.9*want {
		t.Errorf("known targets pay for it: HR@50 is %.3f, want at least 90 %% of %.3f", got, want)
	}
}
