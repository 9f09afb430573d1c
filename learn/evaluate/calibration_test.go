package evaluate_test

import (
	"math"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/learn/train"

	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/spectral"
)

// TestCalibration checks that the variances of learned dynamics are what the innovations of users
// show whom training has not seen: the mean of ν²/(P̄ + Σ_ν) is within 10 % of 1, overall and over
// each eighth of the frequencies.
func TestCalibration(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: the reference data takes some seconds")
	}
	p, _ := loadReference(t, "movietweetings")
	spec := learnedSpec(p)
	basis := basisOf(t, p, spectral.Graph{Kind: spec.Graph, DegreeExponent: 0.8}, 200)
	m := check.Get(model.New(spec, basis, p.Items, train.LearnFrom(p)))(t)
	c := check.Get(m.Calibration(train.Histories(&p.Test)))(t)
	t.Logf("%d events: overall %.4f, by frequency %.4f", c.Events, c.Overall, c.Bands)
	if math.Abs(c.Overall-1) > 0.1 {
		t.Errorf("overall: ν²/(P̄ + Σ_ν) is %.3f in the mean, want 1 within 10 %%", c.Overall)
	}
	for b, x := range c.Bands {
		if math.Abs(x-1) > 0.1 {
			t.Errorf("frequencies %d/%d: ν²/(P̄ + Σ_ν) is %.3f in the mean, want 1 within 10 %%",
				b+1, len(c.Bands), x)
		}
	}
	// The error of the query itself, which is what answers report, is in products of two errors
	// with independent noise. They scatter widely, so only the whole is compared, and only roughly.
	evidence := check.Get(m.TasteEvidence(train.Histories(&p.Test)))(t)
	product, variance := 0.0, 0.0
	for _, e := range evidence {
		t.Logf("%d pairs of events after %.1f: products %.2e, variance %.2e", e.Pairs, e.Events,
			e.Product, e.Variance)
		product += float64(e.Pairs) * e.Product
		variance += float64(e.Pairs) * e.Variance
	}
	if r := product / variance; r < 0.6 || r > 1.6 {
		t.Errorf(
			"the squared error of queries is %.2f of what the model expects, want 1, or 0.6 to 1.6",
			r)
	}
}

// learnedSpec has learned dynamics with deviation for the training users of p.
func learnedSpec(p *dataset.Partition) model.Spec {
	spec := model.DefaultSpec()
	spec.DegreeExponent, spec.DegreeRescale, spec.TrainUsers = 0.8, 0.6, int64(p.Train.Len())
	spec.Dynamics = model.DynamicsSpec{
		Kind: model.DynamicsLearned, Bands: []kalman.Band{{Rho: 0}, {Rho: 0.5}, {Rho: 0.87}},
		Ridge: 1, Deviation: true,
	}
	return spec
}
