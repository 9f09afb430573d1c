package vec

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestScanSquares: the bits are those of Dot of the rounded squares with p, and nothing is read or
// written outside.
func TestScanSquares(t *testing.T) { eachKernel(t, testScanSquares) }

func testScanSquares(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for _, k := range lengths {
		for _, n := range []int{0, 1, 2, 5, 33} {
			rows, p, dst := guard(randomVector(rng, n*k)), guard(randomVector(rng, k)),
				guard(make([]float32, n))
			ScanSquaresTo(dst.in, rows.in, p.in)
			squares := make([]float32, k)
			for i, got := range dst.in {
				for j, x := range rows.in[i*k : (i+1)*k] {
					squares[j] = x * x
				}
				want := dotOracle(squares, p.in)
				if math.Float32bits(got) != math.Float32bits(want) {
					t.Fatalf("n=%d k=%d: row %d is %x, want %x", n, k, i, got, want)
				}
			}
			dst.check(t)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic for a matrix of the wrong shape")
		}
	}()
	ScanSquaresTo(make([]float32, 2), make([]float32, 7), make([]float32, 4))
}
