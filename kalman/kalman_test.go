package kalman

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/internal/test/check"
)

func validFilter() *Filter {
	return &Filter{P0: []float32{1e-3, 1e-2}, SigmaEta: 1e-4, SigmaNu: 1e-4, Alpha: 1}
}

func TestValidate(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name   string
		change func(f *Filter)
		want   string // in the message; empty: valid
	}{
		{"paper", func(*Filter) {}, ""},
		{"all forgetting", func(f *Filter) { f.Alpha, f.HalfLife = 0.5, 86400 }, ""},
		{"bounds", func(f *Filter) {
			f.P0[0], f.SigmaEta, f.SigmaNu = MinVariance, MaxVariance, MinVariance
		}, ""},
		{"no P0", func(f *Filter) { f.P0 = nil }, "P0: want one"},
		{"zero P0", func(f *Filter) { f.P0[1] = 0 }, "P0[1]: 0"},
		{"negative P0", func(f *Filter) { f.P0[0] = -1 }, "P0[0]: -1"},
		{"NaN P0", func(f *Filter) { f.P0[1] = float32(nan) }, "P0[1]: NaN"},
		{"infinite P0", func(f *Filter) { f.P0[1] = float32(inf) }, "P0[1]: +Inf"},
		{"zero process noise", func(f *Filter) { f.SigmaEta = 0 }, "SigmaEta: 0"},
		{"NaN process noise", func(f *Filter) { f.SigmaEta = float32(nan) }, "SigmaEta: NaN"},
		{"zero measurement noise", func(f *Filter) { f.SigmaNu = 0 }, "SigmaNu: 0"},
		{"vast measurement noise", func(f *Filter) { f.SigmaNu = 1e13 }, "SigmaNu: 1e+13"},
		{"zero alpha", func(f *Filter) { f.Alpha = 0 }, "Alpha: 0"},
		{"growing alpha", func(f *Filter) { f.Alpha = math.Nextafter(1, 2) },
			"Alpha: 1.0000000000000002"},
		{"NaN alpha", func(f *Filter) { f.Alpha = nan }, "Alpha: NaN"},
		{"negative half-life", func(f *Filter) { f.HalfLife = -1 }, "HalfLife: -1"},
		{"NaN half-life", func(f *Filter) { f.HalfLife = nan }, "HalfLife: NaN"},
		{"infinite half-life", func(f *Filter) { f.HalfLife = inf }, "HalfLife: +Inf"},
	} {
		f := validFilter()
		c.change(f)
		check.Says(t, f.Validate(), c.want, "%s", c.name)
	}
}

func TestValidateReportsEveryField(t *testing.T) {
	err := (&Filter{HalfLife: -1}).Validate()
	for _, field := range []string{"P0", "SigmaEta", "SigmaNu", "Alpha", "HalfLife"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("%s is not named in: %v", field, err)
		}
	}
}

func TestNewState(t *testing.T) {
	f := validFilter()
	s := f.NewState()
	want := &State{X: []float32{0, 0}, Z: []float32{0, 0}, P: []float32{1e-3, 1e-2}}
	check.Same(t, want, s, "a new state")
	s.X, s.P[0] = append(s.X, 9), 7 // must not reach z, nor the filter
	if s.Z[0] != 0 || f.P0[0] != 1e-3 {
		t.Error("the parts of a state share memory")
	}
}

// TestTime: which events age the state, and what its time is afterwards. Alpha is 1 and the
// half-life 10 s.
func TestTime(t *testing.T) {
	for _, c := range []struct {
		name        string
		times       []int64
		wantTime    int64
		wantWeights []float64 // of each event in z, after the last
	}{
		{"first event has no age", []int64{1e9}, 1e9, []float64{1}},
		{"first event before the epoch", []int64{-50}, -50, []float64{1}},
		{"one half-life", []int64{0, 10}, 10, []float64{0.5, 1}},
		{"same second", []int64{7, 7}, 7, []float64{1, 1}},
		{"late event", []int64{100, 90}, 100, []float64{1, 1}},
		{"late event does not age the next", []int64{100, 90, 110}, 110, []float64{0.5, 0.5, 1}},
		{"whole range of times", []int64{math.MinInt64, math.MaxInt64},
			math.MaxInt64, []float64{0, 1}},
		{"across the epoch", []int64{-5, 5}, 5, []float64{0.5, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := len(c.times)
			f := &Filter{
				P0: make([]float32, k), SigmaEta: 1e-4, SigmaNu: 1e-4, Alpha: 1, HalfLife: 10,
			}
			s := f.NewState()
			for i, at := range c.times {
				e := make([]float32, k)
				e[i] = 1 // event i stands alone in coordinate i
				f.Update(s, e, e, 1, at)
			}
			if s.Time != c.wantTime || s.Events != uint64(k) {
				t.Errorf("time %d and %d events, want %d and %d", s.Time, s.Events, c.wantTime, k)
			}
			near(t, "z", gemm.ToFloat64(s.Z), c.wantWeights, 1e-7)
		})
	}
}

// stepOracle is Update for one coordinate with every operation done in float64 and rounded to
// float32. For one operation at a time that is float32 arithmetic to the bit: 53 ≥ 2·24 + 2, so
// rounding twice is rounding once.
func stepOracle(f *Filter, x, z, p, e, fe, w, a float32) (float32, float32, float32) {
	mul := func(a, b float32) float32 { return float32(float64(a) * float64(b)) }
	add := func(a, b float32) float32 { return float32(float64(a) + float64(b)) }
	mean := add(mul(a, x), mul(w, fe))
	z = add(mul(a, z), mul(w, e))
	variance := add(mul(mul(a, a), p), f.SigmaEta)
	gain := float32(float64(variance) / float64(add(variance, f.SigmaNu)))
	rest := add(1, -gain)
	x = add(mean, mul(gain, add(z, -mean)))
	p = add(mul(mul(rest, rest), variance), mul(mul(gain, gain), f.SigmaNu))
	return x, z, p
}

// TestUpdateBits compares both updates, over random filters and events, with stepOracle, bit by
// bit.
func TestUpdateBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for range 200 {
		f := randomFilter(rng, 1+rng.IntN(9))
		k := len(f.P0)
		full, diag, want := f.NewState(), f.NewState(), f.NewState()
		h := randomRow(rng, k)
		for range 50 {
			e, fe := randomRow(rng, k), make([]float32, k)
			for j := range fe {
				fe[j] = float32(h[j] * e[j])
			}
			w, at := float32(rng.NormFloat64()), int64(rng.IntN(1e6))
			a := f.DecayAt(want, at)
			for j := range k {
				want.X[j], want.Z[j],
					want.P[j] = stepOracle(f, want.X[j], want.Z[j], want.P[j], e[j], fe[j], w, a)
			}
			want.advance(at)
			f.Update(full, e, fe, w, at)
			f.UpdateDiagonal(diag, e, h, w, at)
			if hexOf(full) != hexOf(want) || hexOf(diag) != hexOf(want) {
				t.Fatalf("filter %+v\nUpdate         %s\nUpdateDiagonal %s\nwant           %s",
					f, hexOf(full), hexOf(diag), hexOf(want))
			}
		}
	}
}

// randomFilter draws from the whole valid range, its ends included.
func randomFilter(rng *rand.Rand, k int) *Filter {
	variance := func() float32 {
		switch rng.IntN(6) {
		case 0:
			return MinVariance
		case 1:
			return MaxVariance
		}
		return float32(math.Pow(10, rng.Float64()*23.9-11.95))
	}
	f := &Filter{P0: make([]float32, k), SigmaEta: variance(), SigmaNu: variance(), Alpha: 1}
	for j := range f.P0 {
		f.P0[j] = variance()
	}
	switch rng.IntN(4) {
	case 0:
		f.Alpha = 1 - rng.Float64()
	case 1:
		f.Alpha = math.SmallestNonzeroFloat64
	case 2:
		f.HalfLife = math.Pow(10, rng.Float64()*20.9-5.95)
	}
	return f
}

func randomRow(rng *rand.Rand, k int) []float32 {
	e := make([]float32, k)
	for j := range e {
		e[j] = rng.Float32()*2 - 1
	}
	return e
}

// TestVariancesStayPositive folds millions of coordinate steps over extreme but valid filters.
func TestVariancesStayPositive(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	const k, filters, events = 16, 60, 3000 // 2.9 million
	for range filters {
		f := randomFilter(rng, k)
		if err := f.Validate(); err != nil {
			t.Fatalf("%+v: %v", f, err)
		}
		s := f.NewState()
		e := randomRow(rng, k)
		at := int64(0)
		for i := range events {
			at += int64(rng.ExpFloat64() * 1e4)
			f.UpdateDiagonal(s, e, e, float32(rng.NormFloat64()), at)
			for j, p := range s.P {
				if !(p > 0 && p <= 2*MaxVariance) {
					t.Fatalf("P[%d] = %v after %d events with %+v", j, p, i+1, f)
				}
			}
		}
	}
}

// TestLongReplayStaysFinite folds 10,000 events of the largest weight into the same direction.
func TestLongReplayStaysFinite(t *testing.T) {
	for _, w := range []float32{1000, -1000} {
		f := &Filter{
			P0: []float32{MaxVariance, MinVariance, 1e-3}, SigmaEta: MinVariance,
			SigmaNu: MaxVariance, Alpha: 1,
		}
		s := f.NewState()
		e := []float32{1, 1, -1}
		for i := range 10_000 {
			f.Update(s, e, e, w, int64(i))
		}
		for j := range e {
			for _, v := range []float32{s.X[j], s.Z[j], s.P[j]} {
				if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
					t.Errorf("w=%v: coordinate %d is x̂=%v z=%v P=%v", w, j, s.X[j], s.Z[j], s.P[j])
				}
			}
			want := float64(w) * float64(e[j]) * 10_000
			if math.Abs(float64(s.Z[j])-want) > 1e-3*math.Abs(want) {
				t.Errorf("z[%d] = %v, want about %v", j, s.Z[j], want)
			}
		}
	}
}

func TestShapesPanic(t *testing.T) {
	f := validFilter()
	good, short, long := make([]float32, 2), make([]float32, 1), make([]float32, 3)
	for name, update := range map[string]func(s *State){
		"e short":       func(s *State) { f.Update(s, short, good, 1, 0) },
		"fe long":       func(s *State) { f.Update(s, good, long, 1, 0) },
		"h short":       func(s *State) { f.UpdateDiagonal(s, good, short, 1, 0) },
		"x̂ of another": func(s *State) { s.X = long; f.Update(s, good, good, 1, 0) },
		"P of another":  func(s *State) { s.P = long; f.Update(s, good, good, 1, 0) },
	} {
		check.Panics(t, "kalman: rank 2", name, func() { update(f.NewState()) })
	}
}

func ExampleFilter_UpdateDiagonal() {
	f := &Filter{P0: []float32{1e-2, 1e-4}, SigmaEta: 1e-4, SigmaNu: 1e-4, Alpha: 1}
	if err := f.Validate(); err != nil {
		fmt.Println(err)
		return
	}
	s := f.NewState()
	item := []float32{0.6, -0.2}    // Uᵀ1_i
	response := []float32{0.9, 0.8} // H(λ)
	f.UpdateDiagonal(s, item, response, 1, 1_700_000_000)
	fmt.Printf("x̂ = %.4f  z = %.4f  P = %.6f\n", s.X, s.Z, s.P)
	// Output: x̂ = [0.5994 -0.1867]  z = [0.6000 -0.2000]  P = [0.000099 0.000067]
}
