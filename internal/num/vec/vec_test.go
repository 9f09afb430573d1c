package vec

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// lengths surround the width of the kernel's loop.
var lengths = []int{
	0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 23, 24, 25, 31, 32, 33, 47, 48, 49, 63, 64, 65, 200, 257,
}

// dotOracle is the order of summation that Dot documents, one operation at a time.
func dotOracle(a, b []float32) float32 {
	var s [32]float32
	for i := range a {
		p := a[i] * b[i]
		// Through the bits: cannot be fused.
		s[i%32] = s[i%32] + math.Float32frombits(math.Float32bits(p))
	}
	for _, half := range []int{16, 8, 4, 2, 1} {
		for i := range half {
			s[i] = s[i] + s[i+half]
		}
	}
	return s[0]
}

// eachKernel runs a test with every kernel that this processor has.
func eachKernel(t *testing.T, test func(t *testing.T)) {
	before := inUse
	defer func() { inUse = before }()
	for _, k := range kernels() {
		inUse = k
		t.Run(k.name, test)
	}
}

func randomVector(rng *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(rng.NormFloat64() * math.Pow(10, float64(rng.IntN(7)-3)))
	}
	return v
}

func TestDotOrder(t *testing.T) { eachKernel(t, testDotOrder) }

func testDotOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, k := range lengths {
		for range 50 {
			a, b := guard(randomVector(rng, k)).in, guard(randomVector(rng, k)).in
			got, want := Dot(a, b), dotOracle(a, b)
			if math.Float32bits(got) != math.Float32bits(want) {
				t.Fatalf("k=%d: Dot = %x, documented order gives %x", k, got, want)
			}
		}
	}
}

// TestDotExact bounds the error against exact arithmetic by the number of roundings that
// DotRoundings promises.
func TestDotExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for _, k := range lengths {
		a, b := randomVector(rng, k), randomVector(rng, k)
		sum, size := new(big.Float).SetPrec(500), 0.0
		for i := range a {
			p := new(big.Float).SetPrec(500).Mul(big.NewFloat(float64(a[i])),
				big.NewFloat(float64(b[i])))
			sum.Add(sum, p)
			size += math.Abs(float64(a[i]) * float64(b[i]))
		}
		want, _ := sum.Float64()
		diff := math.Abs(float64(Dot(a, b)) - want)
		if diff > float64(DotRoundings(k))*0x1.00001p-24*size {
			t.Errorf("k=%d: Dot differs from exact arithmetic by %g, Σ|a_i b_i| = %g", k, diff,
				size)
		}
	}
}

// TestScanBits also stands the operands between NaNs: one read outside them would show in a sum,
// one write in a guard.
func TestScanBits(t *testing.T) { eachKernel(t, testScanBits) }

func testScanBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for _, k := range lengths {
		for _, n := range []int{0, 1, 2, 3, 4, 5, 9, 33} {
			rows, q, dst := guard(randomVector(rng, n*k)), guard(randomVector(rng, k)),
				guard(make([]float32, n))
			ScanTo(dst.in, rows.in, q.in)
			for i, got := range dst.in {
				want := dotOracle(rows.in[i*k:(i+1)*k], q.in)
				if math.Float32bits(got) != math.Float32bits(want) {
					t.Fatalf("n=%d k=%d: row %d is %x, want %x", n, k, i, got, want)
				}
			}
			dst.check(t)
			checkRows(t, rng, n, k, rows, q)
		}
	}
}

// checkRows holds ScanRowsTo against Dot.
func checkRows(t *testing.T, rng *rand.Rand, n, k int, rows, q guarded) {
	t.Helper()
	if n == 0 {
		return
	}
	numbers := make([]int32, rng.IntN(2*n+1))
	for j := range numbers {
		numbers[j] = int32(rng.IntN(n))
	}
	dst := guard(make([]float32, len(numbers)))
	ScanRowsTo(dst.in, rows.in, numbers, q.in)
	for j, i := range numbers {
		got, want := dst.in[j], Dot(rows.in[int(i)*k:(int(i)+1)*k], q.in)
		if math.Float32bits(got) != math.Float32bits(want) {
			t.Fatalf("n=%d k=%d: row %d is %x, want %x", n, k, i, got, want)
		}
	}
	dst.check(t)
}

const guardLen = 16

type guarded struct{ all, in []float32 }

func guard(v []float32) guarded {
	g := guarded{all: make([]float32, len(v)+2*guardLen)}
	for i := range g.all {
		g.all[i] = float32(math.NaN())
	}
	g.in = g.all[guardLen : guardLen+len(v)]
	copy(g.in, v)
	return g
}

func (g guarded) check(t *testing.T) {
	t.Helper()
	for i, x := range g.all {
		if inside := i >= guardLen && i < guardLen+len(g.in); !inside && x == x {
			t.Fatalf("wrote outside of dst, at %d", i-guardLen)
		}
	}
}

func TestShapesPanic(t *testing.T) {
	var q Digits
	q.Set(make([]int16, 8))
	var c Candidates
	enough := Bounds{Scale: make([]float32, BlockRows), Error: make([]float32, BlockRows)}
	for name, f := range map[string]func(){
		"digits":      func() { q.Set(make([]int16, 4)) },
		"short block": func() { enough.CollectTo(&c, make([]byte, 8*128-1), &q, 0, 0, nil) },
		"next block": func() {
			enough.CollectTo(&c, make([]byte, 8*128), &q, 0, 0, make([]byte, 8*128-1))
		},
		"long block": func() { enough.CollectTo(&c, make([]byte, 8*128+1), &q, 0, 0, nil) },
		"five bits":  func() { enough.CollectFiveBitsTo(&c, make([]byte, 8*128), &q, 0, 0, nil) },
		"short scale": func() {
			short := &Bounds{Scale: make([]float32, 127), Error: make([]float32, 128)}
			short.CollectTo(&c, make([]byte, 8*128), &q, 0, 0, nil)
		},
		"Dot": func() { Dot(make([]float32, 3), make([]float32, 4)) },
		"ScanTo short": func() {
			ScanTo(make([]float32, 2), make([]float32, 7), make([]float32, 4))
		},
		"ScanTo long": func() {
			ScanTo(make([]float32, 2), make([]float32, 9), make([]float32, 4))
		},
		"ScanRowsTo": func() {
			ScanRowsTo(make([]float32, 1), make([]float32, 8), []int32{2}, make([]float32, 4))
		},
		"ScanRowsTo -": func() {
			ScanRowsTo(make([]float32, 1), make([]float32, 8), []int32{-1}, make([]float32, 4))
		},
		"ScanRowsTo n": func() {
			ScanRowsTo(make([]float32, 2), make([]float32, 8), []int32{0}, make([]float32, 4))
		},
	} {
		check.Panics(t, "", name, f)
	}
}

func ExampleScanTo() {
	rows := []float32{ // 3×2
		1, 2,
		3, 4,
		5, 6,
	}
	dst := make([]float32, 3)
	ScanTo(dst, rows, []float32{10, 1})
	fmt.Println(dst)
	// Output: [12 34 56]
}
