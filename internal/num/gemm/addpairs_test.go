package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func TestAddPairs(t *testing.T) {
	for _, kern := range pairsKernels() {
		t.Run(kern.name, func(t *testing.T) {
			before := pairsInUse
			defer func() { pairsInUse = before }()
			pairsInUse = kern
			for _, width := range []int{
				1, StripWidth - 1, StripWidth, StripWidth + 1, 2 * StripWidth,
			} {
				testAddPairs[float64](t, width, 1e-14)
				testAddPairs[float32](t, width, 1e-5)
			}
		})
	}
}

// testAddPairs uses sets of 0, 1, 2 … rows, so that every remainder of an unrolled loop occurs. It
// begins with the third set.
func testAddPairs[T Float](t *testing.T, width int, tol float64) {
	const n, count, first = 23, 20, 3
	rng := rand.New(rand.NewPCG(17, 18))
	dst, x := guarded[T](rng, n, width, 0), guarded[T](rng, n, width, 0)
	var rows []int32
	ends, weights := []int64{0}, make([]T, count-first)
	for s := range count {
		for _, i := range rng.Perm(n)[:s] {
			rows = append(rows, int32(i))
		}
		ends = append(ends, int64(len(rows)))
	}
	want := make([]float64, n*width)
	for i, v := range dst.Data[:n*width] {
		want[i] = float64(v)
	}
	for s := range weights {
		weights[s] = T(rng.NormFloat64())
		set := rows[ends[first+s]:ends[first+s+1]]
		for j := range width {
			var sum float64
			for _, i := range set {
				sum += float64(x.Data[int(i)*width+j])
			}
			for _, i := range set {
				want[int(i)*width+j] += float64(weights[s]) * sum
			}
		}
	}
	AddPairs(dst.Data[:n*width], x.Data[:n*width], width, NewSets(rows, ends, n), first, weights)
	checkGuards(t, fmt.Sprint(width), dst)
	for i, v := range dst.Data[:n*width] {
		if !(math.Abs(float64(v)-want[i]) <= tol*(10+math.Abs(want[i]))) {
			t.Fatalf("width %d: element %d is %v, want %v", width, i, v, want[i])
		}
	}
}
