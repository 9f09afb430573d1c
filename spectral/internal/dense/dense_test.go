package dense

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// random returns a matrix of normal numbers whose stride is larger than its number of columns.
func random(rng *rand.Rand, rows, cols int) Matrix[float64] {
	whole := New[float64](rows, cols+3)
	for i := range whole.Data {
		whole.Data[i] = rng.NormFloat64()
	}
	return Columns(whole, 1, cols+1)
}

// equal tells whether two matrices have the same shape and elements, up to tol.
func equal(a, b Matrix[float64], tol float64) bool {
	if a.Rows != b.Rows || a.Cols != b.Cols {
		return false
	}
	for i := range a.Rows {
		for j, x := range Row(a, i) {
			if !(math.Abs(x-Row(b, i)[j]) <= tol) {
				return false
			}
		}
	}
	return true
}

// product returns a·b by its definition.
func product(a, b Matrix[float64]) Matrix[float64] {
	c := New[float64](a.Rows, b.Cols)
	for i := range c.Rows {
		for j := range c.Cols {
			for l := range a.Cols {
				Row(c, i)[j] += Row(a, i)[l] * Row(b, l)[j]
			}
		}
	}
	return c
}

func transpose(a Matrix[float64]) Matrix[float64] {
	t := New[float64](a.Cols, a.Rows)
	for i := range a.Rows {
		for j, x := range Row(a, i) {
			Row(t, j)[i] = x
		}
	}
	return t
}

func TestViews(t *testing.T) {
	a := New[float64](3, 4)
	for i := range a.Data {
		a.Data[i] = float64(i)
	}
	for _, c := range []struct {
		name string
		got  []float64
		want []float64
	}{
		{"row", Row(a, 1), []float64{4, 5, 6, 7}},
		{"row of a block", Row(Block(a, 1, 3, 1, 3), 1), []float64{9, 10}},
		{"row of columns", Row(Columns(a, 2, 4), 0), []float64{2, 3}},
		{"row without columns", Row(Columns(a, 2, 2), 1), nil},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
	if b := Block(a, 3, 3, 0, 4); b.Rows != 0 || b.Cols != 4 || b.Data != nil {
		t.Errorf("an empty block is %+v", b)
	}
	Row(Block(a, 1, 3, 1, 3), 0)[0] = -1
	if a.Data[5] != -1 {
		t.Error("a block is not a view of its matrix")
	}
}

func TestCopyRoundsAndClearKeepsTheRest(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	src := random(rng, 5, 3)
	single := New[float32](5, 3)
	Copy(single, src)
	for i := range src.Rows {
		for j, x := range Row(src, i) {
			check.Same(t, float32(x), Row(single, i)[j], "element (%d, %d)", i, j)
		}
	}
	whole := New[float64](4, 4)
	for i := range whole.Data {
		whole.Data[i] = 1
	}
	Clear(Block(whole, 1, 3, 1, 3))
	check.Same(t, 12.0, sumOf(whole.Data), "the sum after clearing 4 of 16 ones")
	Add(whole, single64(whole))
	check.Same(t, 24.0, sumOf(whole.Data), "the sum after adding the matrix to itself")
}

func sumOf(v []float64) (sum float64) {
	for _, x := range v {
		sum += x
	}
	return sum
}

// single64 returns a rounded to float32.
func single64(a Matrix[float64]) Matrix[float32] {
	out := New[float32](a.Rows, a.Cols)
	Copy(out, a)
	return out
}

func TestProducts(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	a, b := random(rng, 7, 5), random(rng, 5, 4)
	c := New[float64](7, 4)
	MulAdd(c, 2, a, b)
	MulAdd(c, -1, a, b)
	if !equal(c, product(a, b), 1e-13) {
		t.Error("2ab − ab is not ab")
	}
	tall := random(rng, 7, 3)
	d := random(rng, 5, 3) // overwritten
	TransMul(d, a, tall)
	if !equal(d, product(transpose(a), tall), 1e-13) {
		t.Error("TransMul is not aᵀb")
	}
	if !equal(Gram(a), product(transpose(a), a), 1e-13) {
		t.Error("Gram is not aᵀa")
	}
	if !equal(product(a, Identity(5)), a, 0) {
		t.Error("a times the identity is not a")
	}
}

// TestRotateColumns covers several strips of rows, and leaves the other columns alone.
func TestRotateColumns(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	const rows, p, q = 2*rotateStrip + 5, 4, 3
	a, s := random(rng, rows, p+1), random(rng, p, q)
	want := product(Columns(a, 0, p), s)
	last := product(Columns(a, q, p+1), Identity(p+1-q))
	RotateColumns(a, p, s)
	if !equal(Columns(a, 0, q), want, 1e-13) {
		t.Error("the first columns are not a·s")
	}
	if !equal(Columns(a, q, p+1), last, 0) {
		t.Error("columns beyond those of s have changed")
	}
}

// TestColumnSums: norms and dot products are those of the definition, with the same bits on any
// number of processors.
func TestColumnSums(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	rng := rand.New(rand.NewPCG(4, 1))
	const rows = 2*sumStrip + 7
	a, b := random(rng, rows, 3), random(rng, rows, 3)
	ScaleColumns(a, func(j int) float64 { return float64(j + 1) })
	var first []float64
	for _, procs := range []int{1, 4} {
		runtime.GOMAXPROCS(procs)
		dots := DotColumns(a, b)
		if first == nil {
			first = dots
		}
		if !slices.Equal(dots, first) {
			t.Errorf("%d processors give %v, one gives %v", procs, dots, first)
		}
	}
	norms := ColumnNorms(a)
	for j := range 3 {
		var dot, square float64
		for i := range rows {
			dot += Row(a, i)[j] * Row(b, i)[j]
			square += Row(a, i)[j] * Row(a, i)[j]
		}
		if math.Abs(first[j]-dot) > 1e-9 || math.Abs(norms[j]-math.Sqrt(square)) > 1e-9 {
			t.Errorf("column %d: dot product %v, norm %v, want %v and %v",
				j, first[j], norms[j], dot, math.Sqrt(square))
		}
	}
	if MaxColumnNorm(a) != slices.Max(norms) || MinColumnNorm(a) != slices.Min(norms) {
		t.Error("the largest and smallest norms are not those of ColumnNorms")
	}
}

func TestVectors(t *testing.T) {
	x, y := []float32{1, 2, 3}, []float32{10, 20, 30}
	AddScaled(y, 2, x)
	if !slices.Equal(y, []float32{12, 24, 36}) {
		t.Errorf("AddScaled gives %v", y)
	}
	ScaleTo(y, 0.5, y)
	if !slices.Equal(y, []float32{6, 12, 18}) {
		t.Errorf("ScaleTo in place gives %v", y)
	}
	narrow := make([]float32, 2)
	Convert(narrow, []float64{math.Pi, 1})
	if !slices.Equal(narrow, []float32{float32(math.Pi), 1}) {
		t.Errorf("Convert gives %v", narrow)
	}
}

func TestShapesMustFit(t *testing.T) {
	a, b := New[float64](2, 3), New[float64](2, 3)
	for name, call := range map[string]func(){
		"MulAdd":    func() { MulAdd(New[float64](2, 3), 1, a, b) },
		"AddScaled": func() { AddScaled(make([]float64, 3), 1, make([]float64, 2)) },
	} {
		check.Panics(t, "", name, call)
	}
}
