package model

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

func TestDescribe(t *testing.T) {
	const n, k = 40, 5
	for _, kind := range explained {
		t.Run(kind.name, func(t *testing.T) {
			m := newLearned(t, rand.New(rand.NewPCG(1, 2)), n, k, kind.edit)
			d := m.Describe()
			if d.Version != m.Version() || d.Items != n || d.Rank != k ||
				d.Users != m.NumTrainUsers() ||
				d.TellsUncertainty != m.TellsUncertainty() {
				t.Errorf("%+v", d)
			}
			var interactions int64
			for i := range n {
				interactions += m.Degree(int32(i))
			}
			check.Same(t, interactions, d.Interactions, "interactions")
			if !slices.Equal(d.Kappa, m.Kappa()) || !slices.Equal(d.Lambda, m.Lambda()) {
				t.Error("other eigenvalues than those of the model")
			}
			learned := m.spec.Dynamics.learned()
			check.Same(t, learned, d.Response == nil, "no response")
			check.Same(t, m.HasVariance(), d.Deviation != nil, "a deviation")
			if p := m.NewState().P; p == nil {
				if got, want := d.Prior, (Range{}); got != want {
					t.Errorf("prior without variances: %v, want %v", got, want)
				}
			} else {
				want := Range{float64(slices.Min(p)), float64(slices.Max(p))}
				check.Same(t, want, d.Prior, "prior")
			}
			if d.Deviation != nil {
				v := dynamicsOf(m)
				if want := newRange(v.SigmaTheta); d.Deviation.Taste != want ||
					d.Deviation.TasteFloor != v.ThetaFloor ||
					d.Deviation.Drift != v.Drift ||
					d.Deviation.ProcessNoise != newRange(v.SigmaEta) ||
					d.Deviation.MeasurementNoise != newRange(v.SigmaNu) {
					t.Errorf("%+v, want the constants of %+v", d.Deviation, v)
				}
			}
		})
	}
}

// TestCovarianceWithDynamics: with learned dynamics the covariance of the paper's filter has no
// effect, on the file neither.
func TestCovarianceWithDynamics(t *testing.T) {
	m := newLearned(t, rand.New(rand.NewPCG(3, 4)), 40, 5, func(s *Spec) {
		learnedBands(s, true)
		s.Covariance = CovarianceFull
	})
	if _, err := decode(forged(m, func(map[string]string, tensors) {})); err != nil {
		t.Error(err)
	}
}
