package dynamics

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/internal/num/parallel"
)

// Normal is the regression as normal equations: G·B = T for B = (W_1 … W_r, μ)ᵀ without a ridge,
// where with X the states before all targets, rows (x_1 … x_r, 1), and Y the encoder rows of the
// targets,
//
//	G = XᵀX, (rk+1)×(rk+1)        T = XᵀY, (rk+1)×k
type Normal struct {
	R, K int
	N    int       // the number of targets
	G, T []float64 // row-major
}

// projectWidth is how many columns of the Z_bc are held at a time.
const projectWidth = 256

// projectItems is how many items are added up in float32; their sums are added up in float64.
const projectItems = 2048

// Project computes the moments for encoder rows e, n×k. progress may be nil; it is called with
// the work done, as a part of total, which takes about equal times. By adjoints, O(r²(events·k +
// n·k²)) time and about r+1 kilobytes of memory for each item besides the result; by shift,
// O(r·events·k + r²·users·k² + r·n·k²) time and 4(r+1)k bytes for each item, where that takes
// less time and at most a gigabyte.
func (m *Moments) Project(e []float32, k int, progress func(done, total int)) *Normal {
	if k < 1 || len(e) != m.n*k {
		panic(fmt.Sprintf("dynamics: %d numbers are not the %d coordinates of %d items",
			len(e), k, m.n))
	}
	p := newProjection(m, e, k)
	if m.canShift() && shiftPays(m.n, k, m.r, len(m.users), len(m.item)) {
		newShift(p).run(progress)
	} else {
		p.byAdjoints(progress)
	}
	return p.complete()
}

// byAdjoints fills in G, but for the intercept, and T.
func (p *projection) byAdjoints(progress func(done, total int)) {
	m, k := p.m, p.k
	work := func(c int) int { return c + 2 } // of a step of band c: a pass forward, c+1 backward
	total, done := 0, 0
	for c := range m.r {
		total += work(c) * ((k + projectWidth - 1) / projectWidth)
	}
	for c := range m.r {
		wide := make([]gemm.Matrix[float32], c+2)
		for i := range wide {
			wide[i] = newMatrix(m.n, min(k, projectWidth))
		}
		p.strips = &sync.Pool{New: func() any { return newStrip(m, c) }}
		for lo := 0; lo < k; lo += projectWidth {
			p.band(c, lo, min(lo+projectWidth, k), wide)
			if done += work(c); progress != nil {
				progress(done, total)
			}
		}
	}
}

func newNormal(r, k, n int) *Normal {
	x := &Normal{R: r, K: k, N: n}
	x.G = make([]float64, x.rows()*x.rows())
	x.T = make([]float64, x.rows()*k)
	return x
}

// rows is the number of unknowns of one column of B.
func (x *Normal) rows() int { return x.R*x.K + 1 }

// positiveSlack is the share of the mean diagonal that is added to G before it must be positive
// definite. Sums of float32 products are positive to a few 1e-7.
const positiveSlack = 1e-5

// Check returns an error unless x can be sums that [Moments.Project] gives, for sums from
// elsewhere: numbers are finite, G is symmetric and not negative, and it counts the targets. The
// lengths must fit R and K. O((rk)³/3).
func (x *Normal) Check() error {
	rows := x.rows()
	if len(x.G) != rows*rows || len(x.T) != rows*x.K {
		panic(fmt.Sprintf("dynamics: %d and %d sums for %d bands of rank %d", len(x.G), len(x.T),
			x.R, x.K))
	}
	for at, v := range x.G {
		row, column := at/rows, at%rows
		if v-v != 0 {
			return fmt.Errorf("XᵀX has %v at row %d, column %d, want finite numbers",
				v, row, column)
		}
		if v != x.G[column*rows+row] {
			return fmt.Errorf("XᵀX is not symmetric: %v at row %d, column %d, and %v opposite",
				v, row, column, x.G[column*rows+row])
		}
	}
	for at, v := range x.T {
		if v-v != 0 {
			return fmt.Errorf("XᵀY has %v at row %d, column %d, want finite numbers",
				v, at/x.K, at%x.K)
		}
	}
	if last := x.G[rows*rows-1]; x.N < 1 || last != float64(x.N) {
		return fmt.Errorf("XᵀX counts %v positions, and there are %d", last, x.N)
	}
	a, slack := slices.Clone(x.G), positiveSlack*x.meanDiagonal()
	for i := range rows {
		a[i*rows+i] += slack
	}
	if _, ok := newCholesky(a, rows); !ok {
		return errors.New("XᵀX has a negative eigenvalue, which no sum of squares has")
	}
	return nil
}

// meanDiagonal is m, the mean of the diagonal of XᵀX without the intercept.
func (x *Normal) meanDiagonal() float64 {
	rows, trace := x.rows(), 0.0
	for i := range rows - 1 {
		trace += x.G[i*rows+i]
	}
	return trace / float64(rows-1)
}

func newMatrix(rows, cols int) gemm.Matrix[float32] {
	return gemm.Matrix[float32]{
		Rows: rows, Cols: cols, Stride: cols, Data: make([]float32, rows*cols),
	}
}

// mirror copies the upper triangle of the n×n matrix a to the lower one, by tiles that fit the
// caches.
func mirror(a []float64, n int) {
	const tile = 32
	for top := 0; top < n; top += tile {
		for left := top; left < n; left += tile {
			for i := top; i < min(top+tile, n); i++ {
				for j := max(left, i+1); j < min(left+tile, n); j++ {
					a[j*n+i] = a[i*n+j]
				}
			}
		}
	}
}

// projection is the state of [Moments.Project]; of G it makes the upper triangle.
type projection struct {
	m      *Moments
	e      []float32
	k      int
	normal *Normal
	tile   []float32  // of one product
	strips *sync.Pool // of *strip, for the band at hand
}

func newProjection(m *Moments, e []float32, k int) *projection {
	return &projection{m: m, e: e, k: k, normal: newNormal(m.r, k, m.positions),
		tile: make([]float32, k*projectWidth)}
}

// complete returns the sums with the intercept and both triangles.
func (p *projection) complete() *Normal {
	p.intercept()
	mirror(p.normal.G, p.normal.rows())
	return p.normal
}

// band computes columns lo to hi of band c in G, and rows lo to hi of band c in T. wide has room
// for V_c and the Z_bc.
func (p *projection) band(c, lo, hi int, wide []gemm.Matrix[float32]) {
	for i := range wide {
		wide[i].Cols = hi - lo
	}
	parallel.Strips(hi-lo, foldWidth, func(from, to int) {
		s := p.strips.Get().(*strip)
		defer p.strips.Put(s)
		s.run(p.e, p.k, lo+from, lo+to)
		storeTo(wide[0], s.targets, from, to)
		for b, z := range s.adjoint {
			storeTo(wide[b+1], z, from, to)
		}
	})
	rows := p.normal.rows()
	for b, z := range wide[1:] {
		height := p.k
		if b == c {
			height = hi // the rest is below the diagonal
		}
		p.addProduct(p.normal.G[b*p.k*rows+c*p.k+lo:], rows, p.encoder(height), z)
	}
	p.addProduct(p.normal.T[(c*p.k+lo)*p.k:], p.k, wide[0], p.encoder(p.k))
}

// encoder is the first columns of E.
func (p *projection) encoder(columns int) gemm.Matrix[float32] {
	return gemm.Matrix[float32]{Rows: p.m.n, Cols: columns, Stride: p.k, Data: p.e}
}

// addProduct adds aᵀb to the matrix at the start of dst.
func (p *projection) addProduct(dst []float64, stride int, a, b gemm.Matrix[float32]) {
	tile := gemm.Matrix[float32]{
		Rows: a.Cols, Cols: b.Cols, Stride: b.Cols, Data: p.tile[:a.Cols*b.Cols],
	}
	for first := 0; first < a.Rows; first += projectItems {
		end := min(first+projectItems, a.Rows)
		clear(tile.Data)
		gemm.MulAdd(tile, 1, gemm.Transposed, rowRange(a, first, end),
			gemm.Plain, rowRange(b, first, end))
		for i := range tile.Rows {
			to := dst[i*stride : i*stride+tile.Cols]
			for j, x := range tile.Data[i*tile.Stride : (i+1)*tile.Stride] {
				to[j] += float64(x)
			}
		}
	}
}

func rowRange(a gemm.Matrix[float32], first, end int) gemm.Matrix[float32] {
	a.Rows, a.Data = end-first, a.Data[first*a.Stride:]
	return a
}

// intercept fills the last column of G and the last row of T.
func (p *projection) intercept() {
	x := p.normal
	rows := x.rows()
	for b := range x.R {
		for j, v := range p.sumRows(p.m.mass[b*p.m.n : (b+1)*p.m.n]) {
			x.G[(b*x.K+j)*rows+rows-1] = v
		}
	}
	x.G[rows*rows-1] = float64(x.N)
	copy(x.T[(rows-1)*x.K:], p.sumRows(p.m.count))
}

// sumRows is Eᵀf.
func (p *projection) sumRows(f []float64) []float64 {
	sum := make([]float64, p.k)
	for i, factor := range f {
		if factor == 0 {
			continue
		}
		for j, x := range p.e[i*p.k : (i+1)*p.k] {
			sum[j] += factor * float64(x)
		}
	}
	return sum
}

// Prefix is what Project gives for the first r bands and the first k columns of the encoder rows: a
// selection of rows and columns.
func (x *Normal) Prefix(r, k int) *Normal {
	if r < 1 || r > x.R || k < 1 || k > x.K {
		panic(fmt.Sprintf("dynamics: prefix of %d of %d bands and %d of %d coordinates",
			r, x.R, k, x.K))
	}
	p := newNormal(r, k, x.N)
	last := x.rows() - 1
	for row := range p.rows() {
		from := last
		if row < r*k {
			from = row/k*x.K + row%k
		}
		g, source := p.G[row*p.rows():(row+1)*p.rows()], x.G[from*(last+1):(from+1)*(last+1)]
		for b := range r {
			copy(g[b*k:(b+1)*k], source[b*x.K:])
		}
		g[r*k] = source[last]
		copy(p.T[row*k:(row+1)*k], x.T[from*x.K:])
	}
	return p
}

// Solve returns the regression with the given ridge λ ≥ 0, in units of m, the mean of the diagonal
// of XᵀX without the intercept: (G + λmI) B = T, the intercept free. It fails if that is not
// positive definite, as it may be for a λ near 0. O((rk)³/3 + 2(rk)²k).
func (x *Normal) Solve(ridge float64) (*Readout, error) {
	if err := checkRidge(ridge); err != nil {
		return nil, err
	}
	b, ok := solve[float64](x, ridge, 1)
	if !ok {
		return nil, &fault.Fault{
			Field: "Ridge", Got: ridge,
			Problem: fmt.Sprintf("leaves the normal equations of %d unknowns and %d positions "+
				"not positive definite to rounding error", x.rows(), x.N),
			Advice: []fault.Change{{Verb: "raise", Field: "Ridge"}},
		}
	}
	return newReadout(x.R, x.K, b), nil
}

// Approximate is [Normal.Solve] to a few digits in half of the time, in float32: enough to compare
// ridges. Where the equations are not positive definite in float32 or leave its range, it is Solve.
func (x *Normal) Approximate(ridge float64) (*Readout, error) {
	if err := checkRidge(ridge); err != nil {
		return nil, err
	}
	b, ok := solve[float32](x, ridge, 1/x.meanDiagonal())
	if !ok || slices.ContainsFunc(b, func(v float32) bool { return v-v != 0 }) {
		return x.Solve(ridge)
	}
	return newReadout(x.R, x.K, gemm.ToFloat64(b)), nil
}

func checkRidge(ridge float64) error {
	if !(ridge >= 0) || ridge-ridge != 0 {
		return fault.New("Ridge", ridge, "a finite number of at least 0")
	}
	return nil
}

// solve returns B of (G + λmI) B = T, with the numbers of both sides times scale. ok is false if
// that is not positive definite to rounding error.
func solve[T gemm.Float](x *Normal, ridge, scale float64) (b []T, ok bool) {
	rows, added := x.rows(), ridge*x.meanDiagonal()
	a := make([]T, len(x.G)) // the upper triangle
	for i := range rows {
		for j := i; j < rows; j++ {
			a[i*rows+j] = T(x.G[i*rows+j] * scale)
		}
		if i < rows-1 {
			a[i*rows+i] = T((x.G[i*rows+i] + added) * scale)
		}
	}
	factor, ok := newCholesky(a, rows)
	if !ok {
		return nil, false
	}
	b = make([]T, len(x.T))
	for at, v := range x.T {
		b[at] = T(v * scale)
	}
	factor.solve(b, x.K)
	return b, true
}
