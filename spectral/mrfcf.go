package spectral

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/gsimc/gsimc/internal/fault"
)

// MRFCF is the full-rank Markov random field baseline of the paper (the random walk filter over all
// n eigenvalues):
//
//	ŷ = s − M^{-1} s,   M = (a−1) I + D_v^{-1/2} Rᵀ R D_v^{-1/2}
//
// M^{-1} is applied by conjugate gradients, to rounding error. M has no eigenvalue below a−1 and
// few far above it, so some tens of products with R replace an n×n factorisation.
type MRFCF struct {
	op    *hypergraphOp[float64]
	shift float64 // a − 1
}

// NewMRFCF returns the filter for the training users r. The paper's constant is a = 2; a must be
// above 1.
func NewMRFCF(r *Incidence, a float64) (*MRFCF, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	if !(a > 1) || math.IsInf(a, 1) {
		return nil, fault.New("A", a, "a finite number above 1")
	}
	g := newHypergraph(1, r)
	for u := range g.eScale {
		g.eScale[u] = 1
	}
	return &MRFCF{op: newHypergraphOp[float64](g), shift: a - 1}, nil
}

// maxCGSteps bounds conjugate gradients; a well-conditioned M needs far fewer steps.
const maxCGSteps = 2000

// FilterTo sets dst = ŷ for a block s of b signals (n×b row-major). It returns an error if
// conjugate gradients do not reach a relative residual of 1e-10.
func (m *MRFCF) FilterTo(dst, s []float64, b int) error {
	size := m.op.Dim() * b
	if len(dst) != size || len(s) != size {
		panic(fmt.Sprintf("spectral: MRFCF block of %d and %d values, want %d×%d",
			len(dst), len(s), m.op.Dim(), b))
	}
	x := make([]float64, size) // M x = s
	r := append([]float64(nil), s...)
	p := append([]float64(nil), s...)
	mp := make([]float64, size)
	rho := columnDots(r, r, b)
	goal := make([]float64, b)
	for c := range goal {
		goal[c] = 1e-20 * rho[c]
	}
	for range maxCGSteps {
		if allBelow(rho, goal) {
			for i := range dst {
				dst[i] = s[i] - x[i]
			}
			return nil
		}
		m.op.ApplyTo(mp, p, b)
		floats.AddScaled(mp, m.shift, p)
		alpha := ratios(rho, columnDots(p, mp, b))
		addColumnsScaled(x, alpha, p, 1)
		addColumnsScaled(r, alpha, mp, -1)
		next := columnDots(r, r, b)
		beta := ratios(next, rho)
		for i := range m.op.Dim() {
			pi, ri := p[i*b:(i+1)*b], r[i*b:(i+1)*b]
			for c := range pi {
				pi[c] = ri[c] + beta[c]*pi[c]
			}
		}
		rho = next
	}
	return errors.New("spectral: the conjugate gradients of MRFCF did not converge")
}

// columnDots returns the dot product of each of the b columns of x and y.
func columnDots(x, y []float64, b int) []float64 {
	dots := make([]float64, b)
	for i := 0; i < len(x); i += b {
		for c := range dots {
			dots[c] += x[i+c] * y[i+c]
		}
	}
	return dots
}

// addColumnsScaled adds sign·alpha[c] times column c of y to column c of x.
func addColumnsScaled(x, alpha, y []float64, sign float64) {
	for i := 0; i < len(x); i += len(alpha) {
		for c, a := range alpha {
			x[i+c] += sign * a * y[i+c]
		}
	}
}

// ratios returns a/b by element, 0 where b is 0: that column has converged.
func ratios(a, b []float64) []float64 {
	q := make([]float64, len(a))
	for c := range q {
		if b[c] != 0 {
			q[c] = a[c] / b[c]
		}
	}
	return q
}

func allBelow(a, limit []float64) bool {
	for c := range a {
		if a[c] > limit[c] {
			return false
		}
	}
	return true
}
