package model

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestScoreErrors compares with the definition, in float64 and from states folded anew.
func TestScoreErrors(t *testing.T) {
	const n, k = 30, 6
	rng := rand.New(rand.NewPCG(8, 1))
	m := newLearned(t, rng, n, k, func(s *Spec) { learnedBands(s, true) })
	for j := range k {
		dynamicsOf(m).SigmaTheta[j] = 0.1 + rng.Float32()
	}
	m.findVariance()
	h := randomHistory(rng, n, 7)
	items := []int32{3, 0, n - 1}
	calls := 0
	err := m.ScoreErrors(h, func(int) []int32 { return items }, func(at int, got []ScoreError) {
		if at != calls || len(got) != len(items) {
			t.Fatalf("call %d is of event %d with %d errors", calls, at, len(got))
		}
		calls++
		s := m.StateOf(h[:at])
		q, v := make([]float32, k), make([]float32, k)
		m.transition.queryTo(q, s, EstimatorBGS)
		m.VarianceTo(v, s, h[at].Time)
		for j, i := range items {
			row, g := m.decoder(i)
			var now, then, variance float64
			for l := range k {
				d := float64(g) * float64(row[l])
				u, f := m.encoder(h[at].Item)
				now += d * (float64(u[l])*float64(f) - float64(q[l]))
				u, f = m.encoder(h[at+1].Item)
				then += d * (float64(u[l])*float64(f) - float64(q[l]))
				variance += d * d * float64(v[l])
			}
			if math.Abs(got[j].Variance-variance) > 1e-5*variance ||
				math.Abs(got[j].Product-now*then) > 1e-4*(math.Abs(now*then)+1e-6) {
				t.Errorf("event %d, item %d: %+v, want variance %v and product %v",
					at, i, got[j], variance, now*then)
			}
		}
	})
	if err != nil || calls != len(h)-1 {
		t.Errorf("%d calls and error %v, want one for each of %d events but the last", calls, err,
			len(h))
	}
	plain := mustNew(t, testSpec(), randomBasis(rng, n, k), nil)
	if err := plain.ScoreErrors(h, nil, nil); err == nil {
		t.Error("no error for a model without variances")
	}
}
