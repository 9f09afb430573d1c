package evaluate_test

import (
	"math"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"

	"github.com/gsimc/gsimc/learn/evaluate"
	"github.com/gsimc/gsimc/spectral"
)

// Learned dynamics with the default constants of train rank far better on movietweetings than any
// filter: HR@10 above 0.250 and NDCG@10 above 0.140, where the best filter with forgetting has
// 0.229 and 0.130 (docs/accuracy.md).
func TestLearnedDynamicsOnReferenceData(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: learns a model of rank 512")
	}
	p, _ := loadReference(t, "movietweetings")
	spec := learnedSpec(p)
	spec.Window, spec.Dynamics.Positions = 40, 200
	basis := basisOf(t, p, spectral.Graph{Kind: spec.Graph, DegreeExponent: spec.DegreeExponent,
		Window: spec.Window}, 512)
	results := check.Get(evaluate.Run(p, evaluate.Options{
		Methods: []evaluate.Method{evaluate.LearnedDynamics()},
		Learned: evaluate.Ingredients{Basis: basis, Spec: spec},
	}))(t)
	checkReliability(t, results[0].Calibration.Reliability)
	top := results[0].Metrics[0]
	t.Logf("HR@10 %.4f ± %.4f, NDCG@10 %.4f ± %.4f", top.HR, top.HRErr, top.NDCG, top.NDCGErr)
	if top.HR < 0.250 || top.NDCG < 0.140 {
		t.Errorf("HR@10 %.4f and NDCG@10 %.4f, want at least 0.250 and 0.140", top.HR, top.NDCG)
	}
}

// checkReliability: the tenths are sorted, and the reported variances of the scores of random items
// are as large as the squared errors, roughly: products of two errors scatter.
func checkReliability(t *testing.T, r *evaluate.Reliability) {
	t.Helper()
	for name, side := range map[string][]evaluate.Tenth{"random": r.Random, "target": r.Target} {
		check.MustSame(t, 10, len(side), "tenths of %s", name)
		for i, s := range side {
			if s.Scores < 100 || s.StdDev*s.StdDev > s.Variance*(1+1e-9) || !(s.ErrorErr > 0) ||
				i > 0 && (s.StdDev < side[i-1].StdDev || s.Scores > side[i-1].Scores+1) {
				t.Errorf("%s, tenth %d: %+v after %+v", name, i+1, s, side[max(i-1, 0)])
			}
		}
	}
	variance, squares, scatter := 0.0, 0.0, 0.0
	for _, s := range r.Random {
		variance, squares = variance+s.Variance, squares+s.Error
		scatter += s.ErrorErr * s.ErrorErr
	}
	t.Logf("squared errors of the scores of random items %.3g ± %.2g, variances %.3g", squares,
		math.Sqrt(scatter), variance)
	if squares < variance/4 || squares > 4*variance {
		t.Errorf("squared errors of the scores of random items %.3g, expected %.3g", squares,
			variance)
	}
}
