package evaluate_test

import (
	"testing"

	"github.com/gsimc/gsimc/train"

	"github.com/gsimc/gsimc/evaluate"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model"
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
	spec := model.DefaultSpec()
	spec.DegreeExponent, spec.DegreeRescale, spec.Window, spec.TrainUsers = 0.8, 0.6, 40,
		int64(p.Train.Len())
	spec.Dynamics = model.DynamicsSpec{
		Kind: model.DynamicsLearned, Bands: []kalman.Band{{Rho: 0}, {Rho: 0.5}, {Rho: 0.87}},
		Ridge: 1, Positions: 200, Deviation: true,
	}
	basis, err := spectral.Solve(train.Incidence(p), spectral.Options{
		Graph: spectral.Graph{Kind: spec.Graph, DegreeExponent: spec.DegreeExponent,
			Window: spec.Window}, Rank: 512, Seed: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	results, err := evaluate.Run(p, evaluate.Options{
		Methods: []evaluate.Method{evaluate.LearnedDynamics()},
		Learned: evaluate.Ingredients{Basis: basis, Spec: spec},
	})
	if err != nil {
		t.Fatal(err)
	}
	top := results[0].Metrics[0]
	t.Logf("HR@10 %.4f ± %.4f, NDCG@10 %.4f ± %.4f", top.HR, top.HRErr, top.NDCG, top.NDCGErr)
	if top.HR < 0.250 || top.NDCG < 0.140 {
		t.Errorf("HR@10 %.4f and NDCG@10 %.4f, want at least 0.250 and 0.140", top.HR, top.NDCG)
	}
}
