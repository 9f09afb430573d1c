package kalman

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// randomDynamics draws r bands of rank k, with a deviation if noisy.
func randomDynamics(rng *rand.Rand, r, k int, noisy bool) *Dynamics {
	d := &Dynamics{Mean: randomVector(rng, k)}
	for b := range r {
		band := Band{Rho: rng.Float64()}
		if b%2 == 1 {
			band.HalfLife = 100 + 1000*rng.Float64()
		}
		d.Bands = append(d.Bands, band)
	}
	if noisy {
		d.P0, d.SigmaEta, d.SigmaNu = make([]float32, k), make([]float32, k), make([]float32, k)
		for j := range k {
			d.P0[j], d.SigmaEta[j], d.SigmaNu[j] =
				0.01+rng.Float32(), 0.01*rng.Float32()+1e-6, 0.1+rng.Float32()
		}
		d.Drift = 0.01
	}
	return d
}

func randomVector(rng *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	return v
}

// event is what Update takes.
type event struct {
	rows, u []float32
	g, w    float32
	t       int64
}

func randomEvents(rng *rand.Rand, r, k, n int) []event {
	events := make([]event, n)
	t := int64(1_700_000_000)
	for i := range events {
		t += rng.Int64N(2000) - 200 // some come late
		events[i] = event{
			randomVector(rng, r*k), randomVector(rng, k), 0.5 + rng.Float32(),
			0.25 + 2*rng.Float32(), t,
		}
		if rng.IntN(6) == 0 { // says nothing of what the user wants next
			events[i].w *= -float32(rng.IntN(2))
		}
	}
	return events
}

// The memory of one user serves another, if the shapes are equal.
func TestRenew(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	const r, k = 3, 5
	paper := &Filter{P0: randomVector(rng, k), SigmaEta: .1, SigmaNu: .1, Alpha: 1}
	plain, noisy := randomDynamics(rng, r, k, false), randomDynamics(rng, r, k, true)
	kinds := map[string]interface {
		NewState() *State
		Renew(*State) bool
	}{
		"the paper's filter": paper, "dynamics": plain, "dynamics with deviation": noisy,
		"dynamics of another rank": randomDynamics(rng, r, k+1, true),
		"dynamics of other bands":  randomDynamics(rng, r+1, k, true),
	}
	used := func(of string) *State {
		s := kinds[of].NewState()
		s.Recent = make([]Recent, 0, 2)
		for _, vector := range [][]float32{s.X, s.Z, s.B, s.P} {
			copy(vector, randomVector(rng, len(vector)))
		}
		s.Events, s.Time = 7, 8
		s.Remember(Recent{Item: 9})
		return s
	}
	for to, kind := range kinds {
		for from := range kinds {
			s := used(from)
			want, place := s.Clone(), &s.X[0]
			if from == to {
				want = kind.NewState()
				want.Recent = []Recent{}
			}
			check.Same(t, from == to, kind.Renew(s), "%s becomes %s", from, to)
			check.Same(t, want, s, "%s for %s", from, to)
			check.Same(t, place, &s.X[0], "the place of the vectors")
		}
	}
}

// The equations of Dynamics, written down in float64 coordinate by coordinate.
func TestDynamicsAgainstItsEquations(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for _, noisy := range []bool{false, true} {
		const r, k = 3, 5
		d := randomDynamics(rng, r, k, noisy)
		s := d.NewState()
		y, b, p := make([]float64, r*k), make([]float64, k), make([]float64, k)
		for j, v := range d.P0 {
			p[j] = float64(v)
		}
		var newest int64
		for i, e := range randomEvents(rng, r, k, 60) {
			dt := float64(max(e.t-newest, 0))
			if i == 0 {
				dt = 0
			}
			for j := range k {
				if !noisy || e.w <= 0 {
					continue
				}
				q := float64(d.Mean[j])
				for band := range r {
					q += y[band*k+j]
				}
				predicted := p[j]
				if i > 0 {
					predicted += float64(d.SigmaEta[j]) * (1 + d.Drift*dt)
				}
				nu := float64(d.SigmaNu[j]) / float64(e.w)
				gain := predicted / (predicted + nu)
				b[j] += gain * (float64(e.g)*float64(e.u[j]) - q - b[j])
				p[j] = (1-gain)*(1-gain)*predicted + gain*gain*nu
			}
			for band, constants := range d.Bands {
				a := constants.Rho
				if constants.HalfLife > 0 {
					a *= math.Exp2(-dt / constants.HalfLife)
				}
				for j := range k {
					y[band*k+j] = a*y[band*k+j] + float64(e.w)*float64(e.rows[band*k+j])
				}
			}
			newest = max(newest, e.t)
			d.Update(s, e.rows, e.u, e.g, e.w, e.t)
			compareVectors(t, fmt.Sprintf("event %d: bands", i), s.X, y)
			if noisy {
				compareVectors(t, fmt.Sprintf("event %d: b", i), s.B, b)
				compareVectors(t, fmt.Sprintf("event %d: P", i), s.P, p)
			}
		}
		q, want := make([]float32, k), make([]float64, k)
		d.QueryTo(q, s)
		for j := range k {
			want[j] = float64(d.Mean[j]) + b[j] + y[j] + y[k+j] + y[2*k+j]
		}
		compareVectors(t, "q", q, want)
	}
}

func compareVectors(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	for j := range want {
		if math.Abs(float64(got[j])-want[j]) > 1e-4*(1+math.Abs(want[j])) {
			t.Fatalf("%s: coordinate %d is %v, want %v", what, j, got[j], want[j])
		}
	}
}

// What is not known of a user shrinks with every event, and grows with the time since the last.
func TestVarianceShrinksWithEvidenceAndGrowsWithTime(t *testing.T) {
	const r, k = 2, 8
	rng := rand.New(rand.NewPCG(3, 3))
	d := randomDynamics(rng, r, k, true)
	for j := range k { // at rest P is between Σ_η and P_0
		d.P0[j], d.SigmaEta[j] = 1, 1e-4
	}
	s := d.NewState()
	before, now, later := make([]float32, k), make([]float32, k), make([]float32, k)
	d.VarianceTo(before, s, 0)
	for i := range int64(20) {
		d.Update(s, randomVector(rng, r*k), randomVector(rng, k), 1, 1, i)
		d.VarianceTo(now, s, i)
		d.VarianceTo(later, s, i+1000)
		for j := range k {
			if !(now[j] < before[j]) || !(later[j] > now[j]) {
				t.Fatalf("event %d, coordinate %d: variance %v before, %v after, %v later",
					i, j, before[j], now[j], later[j])
			}
		}
		copy(before, now)
	}
}

// TestGoldenDynamics holds the states to the bits that every supported processor and compiler
// setting must give.
func TestGoldenDynamics(t *testing.T) {
	const r, k = 2, 3
	rng := lcg(2)
	d := &Dynamics{
		Bands: []Band{{Rho: 0.5}, {Rho: 0.875, HalfLife: 86400}},
		Mean:  make([]float32, k), Drift: 0x1p-10,
	}
	for j := range k {
		d.Mean[j] = rng.next() / 8
		d.P0 = append(d.P0, (1.125+rng.next())*0x1p-8)
		d.SigmaEta = append(d.SigmaEta, (1.125+rng.next())*0x1p-14)
		d.SigmaNu = append(d.SigmaNu, (1.125+rng.next())*0x1p-4)
	}
	s := d.NewState()
	rows, u := make([]float32, r*k), make([]float32, k)
	var got strings.Builder
	for i := range int64(40) {
		for j := range rows {
			rows[j] = rng.next() / 4
		}
		for j := range u {
			u[j] = rng.next() / 4
		}
		d.Update(s, rows, u, 1+rng.next()/4, 1+rng.next()/2, 1_700_000_000+i*12345)
		if i == 0 || i == 39 {
			fmt.Fprintf(&got, "%d events, time %d\n  bands %x\n  b     %x\n  P     %x\n",
				s.Events, s.Time, s.X, s.B, s.P)
		}
	}
	compareGolden(t, "dynamics.txt", got.String())
}

func TestValidateDynamics(t *testing.T) {
	nan := float32(math.NaN())
	for _, tt := range []struct {
		edit func(*Dynamics)
		want string
	}{
		{func(d *Dynamics) { d.Bands = nil }, "Bands: there are 0"},
		{func(d *Dynamics) { d.Bands = make([]Band, MaxBands+1) }, "Bands: there are 17"},
		{func(d *Dynamics) { d.Bands[1].Rho = 1.5 }, "Bands[1]: Rho: 1.5"},
		{func(d *Dynamics) { d.Bands[0].HalfLife = -1 }, "Bands[0]: HalfLife: -1"},
		{func(d *Dynamics) { d.Mean[2] = nan }, "Mean[2]: NaN"},
		{func(d *Dynamics) { d.P0[0] = 0 }, "P0[0]: 0"},
		{func(d *Dynamics) { d.SigmaNu = d.SigmaNu[:1] }, "SigmaNu: has 1 variances, want 4"},
		{func(d *Dynamics) { d.SigmaEta = nil }, "SigmaEta: has 0 variances, want 4"},
		{func(d *Dynamics) { d.Drift = math.Inf(1) }, "Drift: +Inf"},
	} {
		d := randomDynamics(rand.New(rand.NewPCG(3, 6)), 2, 4, true)
		check.Must(t, d.Validate())
		tt.edit(d)
		check.Says(t, d.Validate(), tt.want, "Validate")
	}
}
