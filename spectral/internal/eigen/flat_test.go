package eigen

import (
	"math"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
)

// Where many eigenvalues are nearly alike, the probe misjudges how many a filter lifts. Those that
// it does not lift would never converge, and others would be taken for them.
func TestSlowlyFallingSpectrum(t *testing.T) {
	soak.Slow(t)
	const n, k = 4000, 700
	op := make([]float64, n)
	for i := range op {
		op[i] = 1 - 0.5*float64(i)/k
		if i > k {
			op[i] = 0.5 * math.Sqrt(float64(n-i)/float64(n-k))
		}
	}
	op[0] = 3
	b := check.Get(Krylov(diagonal(op, k, -1)))(t)
	for j, kappa := range b.Kappa {
		if math.Abs(kappa-op[j]) > 1e-7 {
			t.Fatalf("eigenvalue %d is %v, want %v", j, kappa, op[j])
		}
	}
}

// A filter lifts the first eigenvalues far above those at the edge, and with them the rounding of
// float32. With these numbers, of a graph of 20,000 items, degree 4 left residuals of 1.4e-5, which
// nothing in float32 could mend.
func TestDegreeBearsRounding(t *testing.T) {
	const kappa1, kappa2, cut = 1, 0.21, 0.035
	for _, test := range []struct {
		tolerance float64
		degree    int
	}{{1e-5, 3}, {1e-4, 4}} {
		growth := growthLimit[float32](test.tolerance * kappa1 / cut)
		c := newChebyshev(0, cut, kappa2, growth, degreeLimit[float32]())
		check.Same(t, test.degree, c.degree, "tolerance %v: degree", test.tolerance)
	}
}

// In a flat spectrum the bound of a residual is many times the residual. Until the bound sufficed,
// 4,552 products were made here, and twice the time of large graphs went there.
func TestResidualIsMeasuredInFlatSpectrum(t *testing.T) {
	const n, k, enough = 3000, 200, 3600
	op := make([]float64, n)
	for i := range op {
		op[i] = 0.01 * (1 - 0.2*math.Pow(float64(i)/n, 2./3))
	}
	op[0] = 1
	p := diagonal(op, k, 0)
	p.Tolerance = 1e-4
	b := check.Get(Krylov(p))(t)
	if b.Report.Residual > p.Tolerance || b.Report.Vectors > enough {
		t.Errorf("residual %v after %d products, want at most %v after %d", b.Report.Residual,
			b.Report.Vectors, p.Tolerance, enough)
	}
}
