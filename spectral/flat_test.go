package spectral

import (
	"math"
	"testing"
)

// Where many eigenvalues are nearly alike, the probe misjudges how many a filter lifts. Those that it does not lift would
// never converge, and others would be taken for them.
func TestSlowlyFallingSpectrum(t *testing.T) {
	const n, k = 4000, 700
	op := make([]float64, n)
	for i := range op {
		op[i] = 1 - 0.5*float64(i)/k
		if i > k {
			op[i] = 0.5 * math.Sqrt(float64(n-i)/float64(n-k))
		}
	}
	op[0] = 3
	b, err := solveKrylov(diagonal(op), Options{Graph: Graph{Kind: Covariance}, Rank: k, Tolerance: DefaultTolerance, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for j, kappa := range b.Kappa {
		if math.Abs(kappa-op[j]) > 1e-7 {
			t.Fatalf("eigenvalue %d is %v, want %v", j, kappa, op[j])
		}
	}
}
