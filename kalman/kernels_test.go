package kalman

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// guarded returns n random numbers of wide range with NaN before and behind them, in the whole and
// without the guards.
func guarded(rng *rand.Rand, n int, positive bool) (whole, inside []float32) {
	const guard = 16
	whole = make([]float32, n+2*guard)
	for i := range whole {
		whole[i] = float32(math.NaN())
	}
	inside = whole[guard : guard+n : guard+n]
	for i := range inside {
		inside[i] = float32(math.Ldexp(rng.Float64()-0.5, rng.IntN(30)-20))
		if positive {
			inside[i] = float32(math.Abs(float64(inside[i]))) + MinVariance
		}
	}
	return whole, inside
}

// sameBits compares two slices bit by bit.
func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool {
		return math.Float32bits(x) == math.Float32bits(y)
	})
}

// TestKernelsAgree compares every kernel of this processor with the generic one, around the lengths
// at which they change their way, and looks at the guards around what they write.
func TestKernelsAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, k := range kernels()[1:] {
		for n := range 70 {
			for bands := 1; bands <= 4; bands++ {
				if !testKernel(&k, rng, n, bands) {
					t.Fatalf("%s differs from generic at k=%d, r=%d", k.name, n, bands)
				}
			}
		}
	}
}

func testKernel(k *kernel, rng *rand.Rand, n, bands int) bool {
	// for either kernel: whole and inside
	vector := func(length int, positive bool) [2][2][]float32 {
		whole, inside := guarded(rng, length, positive)
		copied := slices.Clone(whole)
		return [2][2][]float32{{whole, inside}, {copied, copied[16 : 16+length : 16+length]}}
	}
	x, z, p := vector(n*bands, false), vector(n, false), vector(n, true)
	_, e := guarded(rng, n, false)
	_, h := guarded(rng, n*bands, false)
	_, mean := guarded(rng, n, false)
	_, eta := guarded(rng, n, true)
	_, nu := guarded(rng, n, true)
	a, w, g, growth :=
		rng.Float32(), float32(math.Ldexp(rng.Float64(), rng.IntN(140)-130)),
		rng.Float32(), 10*rng.Float32()
	for i, k := range []*kernel{k, &generic} {
		x, z, p := x[i][1], z[i][1], p[i][1]
		k.updateFilter(x[:n], z, p, e, h[:n], a, float32(a*a), w, 1e-4, 1e-4)
		k.updateDeviation(z, p, mean, eta, nu, e, x, growth, g, w)
		k.updateBand(x, h, a, w)
	}
	for _, v := range [][2][2][]float32{x, z, p} {
		if !sameBits(v[0][0], v[1][0]) {
			return false
		}
	}
	return true
}
