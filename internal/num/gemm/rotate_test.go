package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func TestRotateRows(t *testing.T) {
	for _, kern := range rotateKernels() {
		t.Run(kern.name, func(t *testing.T) {
			before := rotateInUse
			defer func() { rotateInUse = before }()
			rotateInUse = kern
			rng := rand.New(rand.NewPCG(11, 12))
			for _, count := range []int{0, 1, 2, 3, 50} {
				testRotate(t, rng, count)
			}
		})
	}
}

func testRotate(t *testing.T, rng *rand.Rand, count int) {
	x := guarded[float64](rng, count+1, StripWidth, 0)
	want := clone(x)
	c, s := make([]float64, count), make([]float64, count)
	for i := range c {
		s[i], c[i] = math.Sincos(rng.Float64() * 7)
	}
	for i := count - 1; i >= 0; i-- {
		for j := range StripWidth {
			g, f := at(want, Plain, i, j), at(want, Plain, i+1, j)
			want.Data[i*StripWidth+j], want.Data[(i+1)*StripWidth+j] = c[i]*g-s[i]*f, s[i]*g+c[i]*f
		}
	}
	RotateRows(x.Data, c, s)
	checkGuards(t, fmt.Sprint(count), x)
	for i, v := range x.Data {
		if !(math.Abs(v-want.Data[i]) <= 1e-14) {
			t.Fatalf("%d rotations: element %d is %v, want %v", count, i, v, want.Data[i])
		}
	}
}
