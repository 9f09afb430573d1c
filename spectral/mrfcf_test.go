package spectral

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gsimc/gsimc/internal/test/check"
)

// MRFCF against its definition, ŷ = s − ((a−1)I + D^{-1/2} RᵀR D^{-1/2})^{-1} s.
func TestMRFCFAgainstOracle(t *testing.T) {
	rng := rand.New(rand.NewPCG(20, 21))
	const b = 3
	for range 20 {
		n := 1 + rng.IntN(30)
		r := randomIncidence(rng, 1+rng.IntN(40), n, 4)
		m := check.Get(NewMRFCF(r, 2))(t)
		dense := mat.NewDense(n, n, nil)
		for u := range r.NumUsers() {
			for _, i := range r.Item[r.Ptr[u]:r.Ptr[u+1]] {
				for _, j := range r.Item[r.Ptr[u]:r.Ptr[u+1]] {
					dense.Set(int(i), int(j), dense.At(int(i), int(j))+1)
				}
			}
		}
		deg := r.Degrees()
		for i := range n {
			for j := range n {
				if v := dense.At(i, j); v != 0 {
					dense.Set(i, j, v/math.Sqrt(float64(deg[i]*deg[j])))
				}
			}
			dense.Set(i, i, dense.At(i, i)+1)
		}
		s := make([]float64, n*b)
		for i := range s {
			s[i] = float64(rng.IntN(2))
		}
		var inv mat.Dense
		check.Must(t, inv.Solve(dense, mat.NewDense(n, b, s)))
		got := make([]float64, n*b)
		check.Must(t, m.FilterTo(got, s, b))
		for i := range got {
			if want := s[i] - inv.RawMatrix().Data[i]; math.Abs(got[i]-want) > 1e-9 {
				t.Fatalf("ŷ[%d] = %v, want %v", i, got[i], want)
			}
		}
	}
}

func TestMRFCFRefuses(t *testing.T) {
	r := &Incidence{NumItems: 1, Ptr: []int64{0, 1}, Item: []int32{0}}
	for _, a := range []float64{1, math.NaN(), math.Inf(1)} {
		if _, err := NewMRFCF(r, a); err == nil {
			t.Errorf("a = %v was accepted", a)
		}
	}
}
