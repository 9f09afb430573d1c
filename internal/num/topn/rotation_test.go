package topn

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/num/vec"
)

// TestRotation: a rotation is the matrix that its comments say, and keeps products.
func TestRotation(t *testing.T) {
	for _, k := range []int{1, 2, 3, 4, 7, 8, 16, 32, 100, 256} {
		rng := rand.New(rand.NewPCG(uint64(k), 1))
		r := rotation{make([]float64, k)}
		v, x := make([]float64, k), make([]float64, k)
		for j := range k {
			r.signs[j] = float64(2*rng.IntN(2) - 1)
			v[j], x[j] = rng.NormFloat64(), rng.NormFloat64()
		}
		rv, rx := slices.Clone(v), slices.Clone(x)
		r.apply(rv)
		r.apply(rx)
		want := slowRotation(r.signs, v)
		var product, rotated float64
		for j := range k {
			if math.Abs(rv[j]-want[j]) > 1e-13 {
				t.Fatalf("k = %d: Q v is %g in column %d, want %g", k, rv[j], j, want[j])
			}
			product += v[j] * x[j]
			rotated += rv[j] * rx[j]
		}
		if math.Abs(product-rotated) > 1e-12 {
			t.Errorf("k = %d: (Q v)·(Q x) = %g, want %g", k, rotated, product)
		}
	}
}

// slowRotation is Q v, element by element.
func slowRotation(signs, v []float64) []float64 {
	w := make([]float64, len(v))
	for first := 0; first < len(v); {
		n := 1
		for first+2*n <= len(v) {
			n *= 2
		}
		for i := range n {
			for j := range n {
				element := 1 / math.Sqrt(float64(n))
				if bits.OnesCount(uint(i&j))%2 == 1 {
					element = -element
				}
				w[first+i] += element * signs[first+j] * v[first+j]
			}
		}
		first += n
	}
	return w
}

// TestRowsAreRotated: rows of few large numbers are rotated, and then their int8 numbers miss less
// of them. Rows whose numbers are alike stay as they are.
func TestRowsAreRotated(t *testing.T) {
	if !vec.QuantisedScans() {
		t.Skip("no kernel for int8 rows in use")
	}
	const n, k = 300, 256
	rng := rand.New(rand.NewPCG(3, 4))
	// outstanding makes rows of a number that is so much larger than the others.
	outstanding := func(much float32) []float32 {
		rows := gaussian(rng, n, k)
		for i := range n {
			rows[i*k+i%k] = much
		}
		return rows
	}
	for much, want := range map[float32]bool{0: false, 4: false, 6: true, 100: true} {
		x := New(outstanding(much), slices.Repeat([]float32{1}, n), k, 0)
		if got := x.rotation.signs != nil; got != want {
			t.Errorf("%g times: rotated = %v, want %v", much, got, want)
		}
		if x.relative > 0.015 {
			t.Errorf("%g times: a row misses %g of its length", much, x.relative)
		}
	}
}

func BenchmarkRotation(b *testing.B) {
	for _, k := range []int{256, 1000} {
		b.Run(fmt.Sprint("k=", k), func(b *testing.B) {
			r, v := rotation{slices.Repeat([]float64{-1}, k)}, make([]float64, k)
			v[0] = 1
			for b.Loop() {
				r.apply(v)
			}
		})
	}
}
