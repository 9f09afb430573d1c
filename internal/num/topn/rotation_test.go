package topn

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/num/vec"
	"github.com/gsimc/gsimc/internal/test/check"
)

// TestRotation: a rotation is the matrix that its comments say, and keeps products.
func TestRotation(t *testing.T) {
	for _, k := range []int{1, 2, 3, 4, 7, 8, 16, 32, 100, 256} {
		rng := rand.New(rand.NewPCG(uint64(k), 1))
		r, v, x := newRotation(k), make([]float64, k), make([]float64, k)
		for j := range k {
			v[j], x[j] = rng.NormFloat64(), rng.NormFloat64()
		}
		rv, rx := slices.Clone(v), slices.Clone(x)
		r.apply(rv)
		r.apply(rx)
		want := slowRotation(r, v)
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
func slowRotation(r rotation, v []float64) []float64 {
	for _, t := range r {
		w := slices.Clone(v)
		for i := range t.signs {
			w[t.first+i] = 0
			for j, sign := range t.signs {
				element := sign / math.Sqrt(float64(len(t.signs)))
				if bits.OnesCount(uint(i&j))%2 == 1 {
					element = -element
				}
				w[t.first+i] += element * v[t.first+j]
			}
		}
		v = w
	}
	return v
}

// TestRowsAreRotated: rows of few large numbers are rotated, and then their int8 numbers miss less
// of them. Rows whose numbers are alike stay as they are.
func TestRowsAreRotated(t *testing.T) {
	if !vec.QuantisedScans() {
		t.Skip("no kernel for int8 rows in use")
	}
	const n = 600
	rng := rand.New(rand.NewPCG(3, 4))
	for _, k := range []int{256, 257, 300, 500} {
		for much, want := range map[float32]bool{0: false, 4: false, 8: true, 100: true} {
			rows := gaussian(rng, n, k)
			for i := range n {
				rows[i*k+i%k] += much // times what the others are
			}
			x := New(rows, slices.Repeat([]float32{1}, n), k, 0)
			check.Same(t, want, x.rotation != nil, "k = %d, %g times: rotated", k, much)
			if x.relative > 0.018 {
				t.Errorf("k = %d, %g times: a row misses %g of its length", k, much, x.relative)
			}
		}
	}
}

func BenchmarkRotation(b *testing.B) {
	for _, k := range []int{256, 1000} {
		b.Run(fmt.Sprint("k=", k), func(b *testing.B) {
			r, v := newRotation(k), make([]float64, k)
			v[0] = 1
			for b.Loop() {
				r.apply(v)
			}
		})
	}
}
