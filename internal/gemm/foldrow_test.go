package gemm

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestFoldRow(t *testing.T) {
	for _, kern := range folders() {
		t.Run(kern.name, func(t *testing.T) {
			before := foldInUse
			defer func() { foldInUse = before }()
			foldInUse = kern
			rng := rand.New(rand.NewPCG(15, 16))
			for _, inPlace := range []bool{false, true} {
				for range 50 {
					testFoldRow(t, rng, inPlace)
				}
			}
		})
	}
}

func testFoldRow(t *testing.T, rng *rand.Rand, inPlace bool) {
	t.Helper()
	x, e := guarded[float64](rng, 1, FoldWidth, 0), guarded[float64](rng, 1, FoldWidth, 0)
	next, sum := guarded[float64](rng, 1, FoldWidth, 0), guarded[float64](rng, 1, FoldWidth, 0)
	if inPlace {
		next = x
	}
	a, b, c := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
	var wantNext, wantSum [FoldWidth]float64
	for j := range wantNext {
		wantNext[j] = a*x.Data[j] + b*e.Data[j]
		wantSum[j] = sum.Data[j] + c*wantNext[j]
	}
	row := func(m Matrix[float64]) *[FoldWidth]float64 { return (*[FoldWidth]float64)(m.Data) }
	FoldRow(row(next), row(x), row(e), row(sum), a, b, c)
	for _, m := range []Matrix[float64]{next, x, e, sum} {
		checkGuards(t, "fold", m)
	}
	for j := range wantNext {
		if math.Abs(next.Data[j]-wantNext[j]) > 1e-14 || math.Abs(sum.Data[j]-wantSum[j]) > 1e-14 {
			t.Fatalf("element %d: next %v, sum %v, want %v and %v", j, next.Data[j], sum.Data[j], wantNext[j], wantSum[j])
		}
	}
}

func BenchmarkFoldRow(b *testing.B) {
	var next, x, e, sum [FoldWidth]float64
	for b.Loop() {
		FoldRow(&next, &x, &e, &sum, 0.5, 0.5, 0.5)
	}
}
