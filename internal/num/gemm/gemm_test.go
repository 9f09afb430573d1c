package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/test/soak"
)

// withKernels runs a test once for every kernel that this processor has.
func withKernels[T Float](t *testing.T, test func(t *testing.T)) {
	if _, single := any(T(0)).(float32); single {
		for _, k := range kernels32() {
			before := inUse32
			inUse32 = k
			t.Run(fmt.Sprintf("float32/%s", k.name), test)
			inUse32 = before
		}
		return
	}
	for _, k := range kernels64() {
		before := inUse64
		inUse64 = k
		t.Run(fmt.Sprintf("float64/%s", k.name), test)
		inUse64 = before
	}
}

// guard is the number of signalling NaNs before and after the elements of a matrix.
// An operation whose result is written there, even the addition of 0, makes them
// quiet.
const guard = 40

func signallingNaN[T Float]() (v T) {
	switch p := any(&v).(type) {
	case *float64:
		*p = math.Float64frombits(0x7FF0000000000001)
	case *float32:
		*p = math.Float32frombits(0x7F800001)
	}
	return v
}

func isSignallingNaN[T Float](v T) bool {
	switch p := any(&v).(type) {
	case *float64:
		return math.Float64bits(*p) == 0x7FF0000000000001
	case *float32:
		return math.Float32bits(*p) == 0x7F800001
	}
	return false
}

// guarded is a random matrix between NaNs: before, behind, and in the gaps of
// the stride.
func guarded[T Float](rng *rand.Rand, rows, cols, gap int) Matrix[T] {
	a := Matrix[T]{Rows: rows, Cols: cols, Stride: cols + gap}
	size := max(0, (rows-1)*a.Stride+cols)
	whole := make([]T, guard+size+guard)
	for i := range whole {
		whole[i] = signallingNaN[T]()
	}
	a.Data = whole[guard : guard+size] // checkGuards looks behind it
	for i := range rows {
		for j := range cols {
			a.Data[i*a.Stride+j] = T(rng.Float64() - 0.5)
		}
	}
	return a
}

// checkGuards fails if something was written outside of the elements of a.
func checkGuards[T Float](t *testing.T, name string, a Matrix[T]) {
	t.Helper()
	for at, v := range a.Data[:len(a.Data)+guard] {
		inside := at < len(a.Data) && at%a.Stride < a.Cols
		if !inside && !isSignallingNaN(v) {
			t.Fatalf("%s is %d×%d with stride %d: element %d outside of it was written",
				name, a.Rows, a.Cols, a.Stride, at)
		}
	}
}

func at[T Float](a Matrix[T], form Form, i, j int) float64 {
	if form == Transposed {
		i, j = j, i
	}
	return float64(a.Data[i*a.Stride+j])
}

// naive returns C + alpha·op(A)·op(B) in float64, and the sum of the magnitudes of
// its terms. Rounding errors are relative to the latter.
func naive[T Float](
	c Matrix[T], alpha T, fa Form, a Matrix[T], fb Form, b Matrix[T], k int,
) (sum, size []float64) {
	for i := range c.Rows {
		for j := range c.Cols {
			v := at(c, Plain, i, j)
			s, m := v, math.Abs(v)
			for l := range k {
				x := float64(alpha) * at(a, fa, i, l) * at(b, fb, l, j)
				s, m = s+x, m+math.Abs(x)
			}
			sum, size = append(sum, s), append(size, m)
		}
	}
	return sum, size
}

func epsilon[T Float]() float64 {
	if _, single := any(T(0)).(float32); single {
		return 0x1p-23
	}
	return 0x1p-52
}

type shape struct{ m, n, k int }

// shapes returns shapes around every bound of the algorithm: tiles, panels, blocks,
// and the limits at which it changes its method.
func shapes() []shape {
	const rows = blockBytes / 8 / kc // of A's block in float64
	var list []shape
	small := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16, 17, 23, 24, 25, 31, 32, 33}
	for _, m := range small {
		for _, n := range small {
			list = append(list, shape{m, n, (m*7+n*3)%5 + 1})
		}
	}
	for _, k := range []int{0, 1, 2, 3, 255, 256, 257, 511, 512, 513} {
		list = append(list, shape{13, 33, k}, shape{25, directColumns + 1, k})
	}
	for _, n := range []int{
		directColumns - 1, directColumns, directColumns + 1, nc - 1, nc, nc + 1, nc + 33,
	} {
		list = append(list, shape{14, n, 9}, shape{3, n, 257})
	}
	for _, m := range []int{rows - 1, rows, rows + 1, 2*rows + 7, 8*rows + 5} {
		list = append(list, shape{m, 17, 11}, shape{m, directColumns + 5, 3})
	}
	// More steps than are packed at once.
	list = append(list, shape{1, nc, panelBytes/4/nc + 1}, shape{7, directColumns, 600})
	return append(list, shape{63, 64, 32}, shape{64, 64, 32},
		shape{64, 64, 33}, shape{150, 130, 300})
}

func TestMulAddAgainstOracle(t *testing.T) {
	withKernels[float64](t, testMulAdd[float64])
	withKernels[float32](t, testMulAdd[float32])
}

func testMulAdd[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for s, shape := range shapes() {
		for f := range 4 {
			if s%3 != f%3 && shape.m*shape.n*shape.k > 1<<16 || soak.Brief() && s%4 != f {
				continue // the large ones in turns
			}
			fa, fb := Form(f&1 == 1), Form(f&2 == 2)
			a := operandOf[T](rng, fa, shape.m, shape.k, f%3)
			b := operandOf[T](rng, fb, shape.k, shape.n, (f+1)%3)
			c := guarded[T](rng, shape.m, shape.n, (f+2)%3)
			alpha := []T{1, -1, 0.75, 0}[(s+f)%4]
			want, size := naive(c, alpha, fa, a, fb, b, shape.k)
			MulAdd(c, alpha, fa, a, fb, b)
			name := fmt.Sprintf("%+v, forms %v %v, alpha %v", shape, fa, fb, alpha)
			compare(t, name, c, want, size, shape.k, false)
			checkGuards(t, name+": A", a)
			checkGuards(t, name+": B", b)
			checkGuards(t, name+": C", c)
		}
	}
}

func operandOf[T Float](rng *rand.Rand, form Form, rows, cols, gap int) Matrix[T] {
	if form == Transposed {
		rows, cols = cols, rows
	}
	return guarded[T](rng, rows, cols, gap)
}

func compare[T Float](
	t *testing.T, name string, c Matrix[T], want, size []float64, k int, upper bool,
) {
	t.Helper()
	for i := range c.Rows {
		for j := range c.Cols {
			if upper && j < i {
				continue
			}
			got, e := at(c, Plain, i, j), i*c.Cols+j
			if limit := float64(k+3) * epsilon[T]() * size[e]; !(math.Abs(got-want[e]) <= limit) {
				t.Fatalf("%s: element (%d, %d) is %v, want %v within %g",
					name, i, j, got, want[e], limit)
			}
		}
	}
}

func TestSyrkT(t *testing.T) {
	withKernels[float64](t, testSyrkT[float64])
	withKernels[float32](t, testSyrkT[float32])
}

func testSyrkT[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{
		0, 1, 5, 12, 13, 16, 17, 31, 32, 33, 65, directColumns, directColumns + 1, 243, 722,
	} {
		a := guarded[T](rng, 29, n, 3)
		c := guarded[T](rng, n, n, 2)
		mirror(c)
		full := clone(c)
		SyrkT(c, -1, a)
		MulAdd(full, -1, Transposed, a, Plain, a)
		checkGuards(t, "C", c)
		for i := range n {
			for j := range n {
				if got, want := at(c, Plain, i, j), at(full, Plain, i, j); got != want {
					t.Fatalf("n = %d: element (%d, %d) is %v, by MulAdd %v", n, i, j, got, want)
				}
			}
		}
	}
}

func TestMulAddUpper(t *testing.T) {
	withKernels[float64](t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(5, 6))
		for _, n := range []int{1, 12, 50, 333} {
			a, b := guarded[float64](rng, n, 70, 0), guarded[float64](rng, 70, n, 1)
			c := guarded[float64](rng, n, n, 1)
			want, size := naive(c, 2, Plain, a, Plain, b, 70)
			MulAddUpper(c, 2, Plain, a, Plain, b)
			compare(t, fmt.Sprint(n), c, want, size, 70, true)
			checkGuards(t, "C", c)
		}
	})
}

func clone[T Float](a Matrix[T]) Matrix[T] {
	a.Data = slices.Clone(a.Data)
	return a
}

// TestBitsDependOnTheKernelOnly: neither the number of processors nor the place of an
// element in C changes a bit.
func TestBitsDependOnTheKernelOnly(t *testing.T) {
	withKernels[float64](t, testBits[float64])
	withKernels[float32](t, testBits[float32])
}

func testBits[T Float](t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	rng := rand.New(rand.NewPCG(7, 8))
	for _, s := range []shape{{61, 70, 600}, {500, 32, 300}, {33, 200, 257}, {300, 140, 90}} {
		a, b := guarded[T](rng, s.m, s.k, 0), guarded[T](rng, s.k, s.n, 0)
		start := guarded[T](rng, s.m, s.n, 0)
		runtime.GOMAXPROCS(1)
		one := clone(start)
		MulAdd(one, 0.3, Plain, a, Plain, b)
		for _, procs := range []int{2, 3, 7} {
			runtime.GOMAXPROCS(procs)
			many := clone(start)
			MulAdd(many, 0.3, Plain, a, Plain, b)
			if !slices.Equal(one.Data, many.Data) {
				t.Errorf("%+v: %d processors give other bits than one", s, procs)
			}
		}
		// The last row and column alone, which are then the first.
		last := clone(Matrix[T]{Rows: 1, Cols: 1, Stride: 1, Data: start.Data[len(start.Data)-1:]})
		MulAdd(last, 0.3, Plain, Matrix[T]{
			Rows: 1, Cols: s.k, Stride: s.k, Data: a.Data[(s.m-1)*s.k:],
		},
			Plain, Matrix[T]{Rows: s.k, Cols: 1, Stride: s.n, Data: b.Data[s.n-1:]})
		if got, want := last.Data[0], one.Data[len(one.Data)-1]; got != want {
			t.Errorf("%+v: the last element alone is %v, within the whole %v", s, got, want)
		}
	}
}

// What does not fit is a bug of the caller.
func TestWrongShapesPanic(t *testing.T) {
	m := func(rows, cols int) Matrix[float64] {
		return Matrix[float64]{
			Rows: rows, Cols: cols, Stride: max(1, cols), Data: make([]float64, rows*cols),
		}
	}
	short := m(3, 4)
	short.Data = short.Data[:11]
	narrow := m(3, 4)
	narrow.Stride = 3
	sets := func(rows []int32, ends ...int64) func() {
		return func() { NewSets(rows, ends, 2) }
	}
	rows := make([]FoldRow, 2)
	fold := func(kept []FoldRow, steps ...FoldStep) func() {
		return func() { Fold(kept, rows, rows, steps) }
	}
	for name, do := range map[string]func(){
		"row 2 of 2":      sets([]int32{0, 2}, 0, 2),
		"row -1":          sets([]int32{0, -1}, 0, 2),
		"ends behind":     sets([]int32{0, 1}, 0, 3),
		"begins before":   sets([]int32{0, 1}, -1, 2),
		"ends fall":       sets([]int32{0, 1}, 0, 2, 1),
		"fold from":       fold(nil, FoldStep{From: 2}),
		"fold to":         fold(nil, FoldStep{To: 2}),
		"fold to -1":      fold(nil, FoldStep{To: -1}),
		"fold keeps less": fold(rows[:1], FoldStep{}, FoldStep{}),
		"inner":           func() { MulAdd(m(2, 2), 1, Plain, m(2, 3), Plain, m(4, 2)) },
		"rows":            func() { MulAdd(m(3, 2), 1, Plain, m(2, 3), Plain, m(3, 2)) },
		"columns":         func() { MulAdd(m(2, 2), 1, Plain, m(2, 3), Transposed, m(3, 3)) },
		"data":            func() { MulAdd(m(3, 3), 1, Plain, short, Transposed, m(3, 4)) },
		"stride":          func() { MulAdd(m(3, 3), 1, Plain, narrow, Transposed, m(3, 4)) },
		"triangle":        func() { MulAddUpper(m(3, 4), 1, Plain, m(3, 2), Plain, m(2, 4)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			do()
		}()
	}
}
