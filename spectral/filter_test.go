package spectral

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// Table 1 of the paper, by hand at λ = 0, 1/2 and 1 with φ = 10, γ = 1, a = 4.
func TestFilterTable1(t *testing.T) {
	lambda := []float64{0, 0.5, 1}
	want := map[string][]float64{
		Tikhonov:      {1, 1 / 1.05, 1 / 1.1},
		Diffusion:     {1 / 1.1, 1 / (1 + math.Exp(0.25)/10), 1 / (1 + math.Exp(0.5)/10)},
		RandomWalk:    {1 / (1 + 1.0/40), 1 / (1 + 1.0/35), 1 / (1 + 1.0/30)},
		InverseCosine: {1 / 1.1, 1 / (1 + 1/(10*math.Cos(math.Pi/8))), 1 / (1 + math.Sqrt2/10)},
		Cutoff:        {1, 1, 1},
		PowerFilter:   {1, math.Sqrt(0.5), 0},
	}
	for _, name := range FilterNames {
		f := DefaultFilter(name)
		if err := f.Validate(); err != nil {
			t.Error(err)
		}
		got := make([]float64, 3)
		f.ResponseTo(got, lambda)
		for j := range lambda {
			if math.Abs(got[j]-want[name][j]) > 1e-15 {
				t.Errorf("%s: H(%v) = %v, want %v", name, lambda[j], got[j], want[name][j])
			}
		}
	}
}

// Every filter passes low frequencies at least as well as high ones, and keeps
// the response in [0, 1], over the whole range of a normalised Laplacian.
func TestFiltersAreLowPass(t *testing.T) {
	lambda := make([]float64, 201)
	for j := range lambda {
		lambda[j] = float64(j) / 100
	}
	for _, name := range FilterNames {
		h := make([]float64, len(lambda))
		DefaultFilter(name).ResponseTo(h, lambda)
		for j := range h {
			if !(h[j] >= 0 && h[j] <= 1) || (j > 0 && h[j] > h[j-1]) {
				t.Errorf("%s: H(%v) = %v after %v", name, lambda[j], h[j], h[max(0, j-1)])
			}
		}
	}
}

func TestFilterValidate(t *testing.T) {
	tests := []struct {
		edit func(*Filter)
		name string
		want string
	}{
		{func(f *Filter) { f.Phi = 0 }, Tikhonov, "Phi: 0, want a finite number above 0"},
		{func(f *Filter) { f.Phi = math.Inf(1) }, InverseCosine, "Phi: +Inf"},
		{func(f *Filter) { f.Gamma = -1 }, Diffusion,
			"Gamma: -1, want a finite number of at least 0"},
		{func(f *Filter) { f.A = 1.9 }, RandomWalk, "A: 1.9, want a finite number of at least 2"},
		{func(f *Filter) { f.Power = math.NaN() }, PowerFilter, "Power: NaN"},
		{func(f *Filter) { f.Name = "boxcar" }, Cutoff, `Filter: "boxcar", want one of tikhonov`},
	}
	for _, tt := range tests {
		f := DefaultFilter(tt.name)
		tt.edit(&f)
		check.Says(t, f.Validate(), tt.want, "%+v", f)
	}
}

// The table has what its users print, and every default is valid at the edge of its range or
// within.
func TestFiltersTable(t *testing.T) {
	for i, kind := range Filters {
		if kind.Formula == "" || kind.Doc == "" || kind.response == nil {
			t.Errorf("%s: %+v is not complete", kind.Name, kind)
		}
		if FilterNames[i] != kind.Name || FilterByName(kind.Name) != &Filters[i] {
			t.Errorf("%s is not found by its name", kind.Name)
		}
		for _, p := range kind.Parameters {
			f := DefaultFilter(kind.Name)
			*p.at(&f) = p.Least
			if err := f.Validate(); (err != nil) != p.Open {
				t.Errorf("%s: %s at its least value: %v", kind.Name, p.Field, err)
			}
			if !reflect.ValueOf(f).FieldByName(p.Field).IsValid() || *p.at(&f) != p.Least {
				t.Errorf("%s: no field %s", kind.Name, p.Field)
			}
		}
	}
	if FilterByName("boxcar") != nil {
		t.Error("a filter that does not exist is found")
	}
}

func TestFilterString(t *testing.T) {
	want := map[string]string{
		Tikhonov:      "tikhonov, phi = 10, gamma = 1",
		Diffusion:     "diffusion, phi = 10, gamma = 1",
		RandomWalk:    "random-walk, phi = 10, a = 4",
		InverseCosine: "inverse-cosine, phi = 10",
		Cutoff:        "cutoff",
		PowerFilter:   "power, p = 0.5",
	}
	for _, name := range FilterNames {
		check.Same(t, want[name], DefaultFilter(name).String(), "%s", name)
	}
}

func ExampleFilter_ResponseTo() {
	h := make([]float64, 3)
	DefaultFilter(Tikhonov).ResponseTo(h, []float64{0, 0.5, 1})
	fmt.Printf("%.4f\n", h)
	// Output: [1.0000 0.9524 0.9091]
}
