package symmetric

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gsimc/gsimc/internal/test/check"
)

// The sizes lie around one and two blocks of the inversion, and strips of the matrix.
func TestNegInvert(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{
		0, 1, 2, 17, inverseBlock - 1, inverseBlock, inverseBlock + 1, 2*inverseBlock + 39,
		stripRows + 1, 2*stripRows + 17,
	} {
		m, dense := New(n), mat.NewDense(max(n, 1), max(n, 1), nil)
		for i := range n {
			row := m.Row(i)
			row[0] = float64(n)
			for j := 1; j < len(row); j++ {
				row[j] = rng.Float64() - 0.5
			}
			for j, v := range row {
				dense.Set(i, i+j, v)
				dense.Set(i+j, i, v)
			}
		}
		steps := 0
		check.Must(t, m.NegInvert(func(int, int) { steps++ }))
		check.Same(t, (n+inverseBlock-1)/inverseBlock, steps, "n = %d: steps", n)
		if n == 0 {
			continue
		}
		last := (n - 1) / stripRows
		check.Same(t, len(m.data), stripOffset(n, last)+len(m.strip(last*stripRows).Data),
			"n = %d: numbers of the strips", n)
		var want mat.Dense
		check.Must(t, want.Inverse(dense))
		for i := range n {
			for j, v := range m.Row(i) {
				if w := -want.At(i, i+j); math.Abs(v-w) > 1e-13 {
					t.Fatalf("n = %d: (%d, %d) is %v, want %v", n, i, i+j, v, w)
				}
			}
		}
	}
}

func TestNegInvertRefusesIndefinite(t *testing.T) {
	m := New(2)
	copy(m.Row(0), []float64{1, 2})
	m.Row(1)[0] = 1
	check.Says(t, m.NegInvert(nil), "not positive definite", "NegInvert")
}
