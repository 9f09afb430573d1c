package spectral

import (
	"fmt"
	"math"
	"strings"
)

// The graph filters of the paper's Table 1, and [PowerFilter] beyond it.
const (
	Tikhonov      = "tikhonov"       // R(λ) = γλ
	Diffusion     = "diffusion"      // R(λ) = exp(γλ/2)
	RandomWalk    = "random-walk"    // R(λ) = 1/(a−λ)
	InverseCosine = "inverse-cosine" // R(λ) = 1/cos(λπ/4)
	Cutoff        = "cutoff"         // R(λ) = 0 inside the band, ∞ outside (SGMC)
	PowerFilter   = "power"          // H(λ) = (1−λ)^p
)

// FilterNames lists the filters in the order of the paper's Table 1.
var FilterNames = []string{Tikhonov, Diffusion, RandomWalk, InverseCosine, Cutoff, PowerFilter}

// Filter is a graph filter H(λ) with 1/H(λ) = 1 + R(λ)/φ, where R is the
// penalty on the frequency λ (the paper's equation 5 and Table 1).
type Filter struct {
	Name  string  // one of FilterNames
	Phi   float64 // φ, the weight of the data against the penalty; > 0
	Gamma float64 // γ of tikhonov and diffusion; ≥ 0
	A     float64 // a of random-walk; ≥ 2, above every λ
	Power float64 // p of the power filter; > 0
}

// DefaultFilter returns the named filter with the paper's constants:
// φ = 10, γ = 1, a = 4; and p = 0.5 for the power filter.
func DefaultFilter(name string) Filter {
	return Filter{Name: name, Phi: 10, Gamma: 1, A: 4, Power: 0.5}
}

// Validate reports the first constant that is out of range, and an unknown name.
// Only the constants that the filter uses are looked at.
func (f Filter) Validate() error {
	check := func(name string, v, low float64, strict bool) error {
		if math.IsNaN(v) || math.IsInf(v, 0) || v < low || (strict && v == low) {
			rel := "at least"
			if strict {
				rel = "above"
			}
			return fmt.Errorf("filter %s: %s is %v, want a finite number %s %v", f.Name, name, v, rel, low)
		}
		return nil
	}
	switch f.Name {
	case Tikhonov, Diffusion:
		if err := check("gamma", f.Gamma, 0, false); err != nil {
			return err
		}
	case RandomWalk:
		if err := check("a", f.A, 2, false); err != nil {
			return err
		}
	case InverseCosine:
	case Cutoff:
		return nil
	case PowerFilter:
		return check("power", f.Power, 0, true)
	default:
		return fmt.Errorf("unknown filter %q, want one of %s", f.Name, strings.Join(FilterNames, ", "))
	}
	return check("phi", f.Phi, 0, true)
}

// ResponseTo stores H(λ_j) for every λ_j in dst and panics if the lengths
// differ. λ is a Laplacian eigenvalue in [0, 2]. A λ at or beyond the point
// where the penalty is infinite gets H = 0.
func (f Filter) ResponseTo(dst, lambda []float64) {
	if len(dst) != len(lambda) {
		panic(fmt.Sprintf("spectral: response of length %d for %d eigenvalues", len(dst), len(lambda)))
	}
	for j, l := range lambda {
		dst[j] = f.response(l)
	}
}

// response is H(λ) = 1/(1 + R(λ)/φ), or (1−λ)^p for the power filter.
func (f Filter) response(lambda float64) float64 {
	switch f.Name {
	case Cutoff:
		return 1
	case PowerFilter:
		return math.Pow(max(0, 1-lambda), f.Power)
	}
	r := f.penalty(lambda)
	if math.IsInf(r, 1) {
		return 0
	}
	return 1 / (1 + r/f.Phi)
}

// penalty is R(λ) of the paper's Table 1.
func (f Filter) penalty(lambda float64) float64 {
	switch f.Name {
	case Tikhonov:
		return f.Gamma * max(0, lambda) // rounding may leave λ_1 a little below 0
	case Diffusion:
		return math.Exp(f.Gamma * lambda / 2)
	case RandomWalk:
		if lambda >= f.A {
			return math.Inf(1)
		}
		return 1 / (f.A - lambda)
	case InverseCosine:
		c := math.Cos(lambda * math.Pi / 4)
		if c <= 0 {
			return math.Inf(1)
		}
		return 1 / c
	}
	panic("spectral: penalty of unknown filter " + f.Name)
}
