package evaluate_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/learntest"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/evaluate"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/spectral"
)

// basisOf is the basis of the training users of p.
func basisOf(t *testing.T, p *dataset.Partition, g spectral.Graph, rank int) *spectral.Basis {
	t.Helper()
	options := spectral.Options{Graph: g, Rank: rank, Seed: 1}
	return check.Get(spectral.Solve(train.Incidence(p), options))(t)
}

func solve(t *testing.T, p *dataset.Partition, rank int) (*spectral.Basis, model.Spec) {
	t.Helper()
	basis := basisOf(t, p, spectral.Graph{Kind: spectral.Hypergraph, DegreeExponent: 1}, rank)
	spec := model.DefaultSpec()
	spec.TrainUsers = int64(p.Train.Len())
	return basis, spec
}

// Every method but popularity must rank the items of the user's own colour
// first: 12 of them, 5 of which are in the history.
func TestRunOnCheckerboard(t *testing.T) {
	p := learntest.Checkerboard()
	basis, spec := solve(t, p, 8)
	learned := spec
	learned.Dynamics = model.DynamicsSpec{
		Kind: model.DynamicsLearned, Bands: []kalman.Band{{Rho: 0}, {Rho: 0.8}}, Ridge: 1,
		Deviation: true,
	}
	var finished []string
	results := check.Get(evaluate.Run(p, evaluate.Options{
		Methods: evaluate.AllMethods(), MRFCFA: 2,
		Paper:   evaluate.Ingredients{Basis: basis, Spec: spec},
		Learned: evaluate.Ingredients{Basis: basis, Spec: learned},
		Done:    func(r *evaluate.Result) { finished = append(finished, r.Name) },
	}))(t)
	var want []string
	for _, r := range results {
		want = append(want, r.Name)
		for u, rank := range r.Ranks {
			if limit := int32(12 - 5); r.Name != evaluate.Popularity && rank > limit {
				t.Errorf("%v: user %d has rank %d, want at most %d", r.Name, u, rank, limit)
			}
		}
	}
	check.Same(t, want, finished, "Done calls")
}

// The cutoff filter passes everything in the band, so BGS-IMC's estimate is
// the measurement and its ranking GS-IMC's, whatever the gains (paper,
// Section 4).
func TestCutoffMakesBGSEqualGS(t *testing.T) {
	p := learntest.Checkerboard()
	basis, spec := solve(t, p, 5)
	methods := check.Get(evaluate.ParseMethods("gs-imc cutoff, bgs-imc cutoff"))(t)
	results := check.Get(evaluate.Run(p, evaluate.Options{
		Methods: methods, Paper: evaluate.Ingredients{Basis: basis, Spec: spec},
	}))(t)
	check.Same(t, results[0].Ranks, results[1].Ranks, "ranks")
}

// methodsNamed returns the methods of a list.
func methodsNamed(t *testing.T, list string) []evaluate.Method {
	t.Helper()
	return check.Get(evaluate.ParseMethods(list))(t)
}

// On the checkerboard all filters find the colour; the first of the best is chosen, and its ranks
// are those of that method.
func TestBestFilterIsChosenOnValidation(t *testing.T) {
	p := learntest.Checkerboard()
	basis, spec := solve(t, p, 8)
	opt := evaluate.Options{
		Paper:   evaluate.Ingredients{Basis: basis, Spec: spec},
		Methods: methodsNamed(t, evaluate.BestGS+", "+evaluate.GS),
	}
	results := check.Get(evaluate.Run(p, opt))(t)
	onValidation := check.Get(evaluate.Run(validationAsTest(p), opt))(t)
	best := 1 // of the filters, by NDCG@10 on the validation users
	for i := range onValidation[1:] {
		if onValidation[i+1].Metrics[0].NDCG > onValidation[best].Metrics[0].NDCG {
			best = i + 1
		}
	}
	check.Same(t, onValidation[best].Name, evaluate.GS+" "+results[0].Variant, "the choice")
	check.Same(t, results[best].Ranks, results[0].Ranks, "ranks of %s", results[best].Name)
}

// validationAsTest returns p with its validation users as test users.
func validationAsTest(p *dataset.Partition) *dataset.Partition {
	out := *p
	out.Test = p.Validation
	return &out
}

func TestRunErrors(t *testing.T) {
	p := learntest.Checkerboard()
	basis, spec := solve(t, p, 5)
	empty := *p
	empty.Test = dataset.Histories{Ptr: []int64{0}}
	bad := spec
	bad.Alpha = 2
	gs := []evaluate.Method{evaluate.Filtered(evaluate.GS, spectral.Tikhonov)}
	tests := []struct {
		name string
		p    *dataset.Partition
		opt  evaluate.Options
		want string
	}{
		{"no test users", &empty, evaluate.Options{Methods: gs,
			Paper: evaluate.Ingredients{Basis: basis, Spec: spec}}, "no test user"},
		{"no basis", p, evaluate.Options{Methods: gs, Paper: evaluate.Ingredients{Spec: spec}},
			"needs a basis"},
		{"bad constant", p, evaluate.Options{Methods: gs,
			Paper: evaluate.Ingredients{Basis: basis, Spec: bad}}, "Alpha: 2"},
		{"bad a", p, evaluate.Options{Methods: methodsNamed(t, evaluate.MRFCF)}, "A: 0"},
	}
	for _, tt := range tests {
		if _, err := evaluate.Run(tt.p, tt.opt); err == nil ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
}

// Of each colour one item is not hidden: these two are all targets, and all that is ranked.
func TestHiddenItemsAreNotRanked(t *testing.T) {
	p := learntest.Checkerboard()
	p.Hide(func(id string) bool { return id != "10" && id != "11" })
	basis, spec := solve(t, p, 8)
	learned := spec
	learned.Dynamics = model.DynamicsSpec{
		Kind: model.DynamicsLearned, Bands: []kalman.Band{{Rho: 0.8}}, Ridge: 1,
	}
	methods := check.Get(evaluate.ParseMethods(
		"popularity,dynamics,mrfcf,gs-imc random-walk,vsknn,markov,ease"))(t)
	results := check.Get(evaluate.Run(p, evaluate.Options{
		Methods: methods, MRFCFA: 2, NoCalibration: true,
		Paper:   evaluate.Ingredients{Basis: basis, Spec: spec},
		Learned: evaluate.Ingredients{Basis: basis, Spec: learned},
	}))(t)
	for _, r := range results {
		if len(r.Ranks) < 2 || slices.Max(r.Ranks) > 2 {
			t.Errorf("%v: ranks %v, want 1 and 2 of two users or more", r.Name, r.Ranks)
		}
	}
}
