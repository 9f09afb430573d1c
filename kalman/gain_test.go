package kalman

import (
	"math"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// TestGainTo: Update moves the deviation by exactly the gain times the innovation.
func TestGainTo(t *testing.T) {
	d := &Dynamics{Bands: []Band{{Rho: 0.5, HalfLife: 100}}, Mean: []float32{0.25, -1},
		P0: []float32{1, 2}, SigmaEta: []float32{0.1, 0.2}, SigmaNu: []float32{3, 4}, Drift: 0.01}
	s, gain, decay, q := d.NewState(), make([]float32, 2), make([]float32, 1), make([]float32, 2)
	u, rows := []float32{1, 0.5}, []float32{0.5, 2}
	for e, w := range []float32{1, 2, -1, 0.5} {
		at := int64(50 * e * e)
		d.GainTo(gain, s, w, at)
		d.DecayTo(decay, s, at)
		d.QueryTo(q, s)
		before := s.Clone()
		d.Update(s, rows, u, 1, w, at)
		for j := range q {
			if want := before.B[j] + float32(gain[j]*(u[j]-q[j])); s.B[j] != want {
				t.Errorf("event %d: b[%d] = %v, want %v", e, j, s.B[j], want)
			}
			if want := float32(decay[0]*before.X[j]) + float32(w*rows[j]); s.X[j] != want {
				t.Errorf("event %d: y[%d] = %v, want %v", e, j, s.X[j], want)
			}
		}
	}
}

// A weight so small that Σ_ν/w has no place in a float32 measures nothing, and spoils nothing.
func TestWeightsOfNextToNothing(t *testing.T) {
	d := &Dynamics{
		Bands: []Band{{Rho: 0.5}}, Mean: []float32{0.25}, P0: []float32{1},
		SigmaEta: []float32{0.1}, SigmaNu: []float32{3},
	}
	for _, w := range []float32{1e-38, 1e-42, math.SmallestNonzeroFloat32} {
		s, k := d.NewState(), make([]float32, 1)
		d.GainTo(k, s, w, 0)
		d.Update(s, []float32{2}, []float32{1}, 1, w, 0)
		if s.P[0] != 1 || math.Abs(float64(s.B[0])) > 1e-30 || !(k[0] >= 0 && k[0] < 1e-30) {
			t.Errorf("weight %v: b = %v with variance %v and gain %v, want 0, 1, 0", w, s.B, s.P, k)
		}
	}
}

func TestUncertaintyTo(t *testing.T) {
	d := &Dynamics{Bands: []Band{{}}, Mean: []float32{0}, P0: []float32{1},
		SigmaEta: []float32{0.5}, SigmaNu: []float32{4}, Drift: 0.1,
		SigmaTheta: []float32{2}, ThetaFloor: 0.25}
	got := make([]float32, 1)
	for _, tt := range []struct {
		events uint64
		age    int64
		want   float64
	}{
		{0, 0, 2},
		{0, 1000, 2}, // no newest event to count from
		{1, 0, 2 * (0.25 + 0.75/1.5)},
		{6, 0, 2 * (0.25 + 0.75/4)},
		{6, -5, 2 * (0.25 + 0.75/4)},
		{6, 20, 2*(0.25+0.75/4) + 0.5*0.1*20},
		{1 << 40, 0, 0.5},
	} {
		s := d.NewState()
		s.Events, s.Time = tt.events, 100
		d.UncertaintyTo(got, s, 100+tt.age)
		if math.Abs(float64(got[0])-tt.want) > 1e-6 {
			t.Errorf("V after %d events, %d seconds later, is %v, want %v",
				tt.events, tt.age, got[0], tt.want)
		}
	}
	for want, edit := range map[string]func(*Dynamics){
		"SigmaTheta: has 2": func(d *Dynamics) { d.SigmaTheta = []float32{1, 1} },
		"SigmaTheta[0]":     func(d *Dynamics) { d.SigmaTheta = []float32{-1} },
		"ThetaFloor":        func(d *Dynamics) { d.ThetaFloor = math.NaN() },
	} {
		bad := *d
		edit(&bad)
		check.Says(t, bad.Validate(), want, "Validate")
	}
}
