package eigen

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/spectral/internal/dense"
)

// The eigenproblem of a dense symmetric matrix A, of the size of the Lanczos
// space: A = Q T Qᵀ with T tridiagonal, by Householder reflections; T = Z Θ Zᵀ
// by the implicit QL iteration; then the eigenvectors are S = Q Z. These are
// the steps of LAPACK's DSYEV (E. Anderson et al., "LAPACK Users' Guide", 3rd
// ed., 1999, section 2.4.4), arranged so that nearly all of the work is in
// products and in long runs of rotations, on all processors.

var errNoEigen = errors.New(
	"the projected eigenproblem did not converge: the data holds values that are not finite")

// Symmetric returns all eigenvalues of a in descending order and the
// eigenvectors as columns of s. Only the upper triangle of a is read.
func Symmetric(a dense.Matrix[float64]) (values []float64, s dense.Matrix[float64], err error) {
	n := a.Rows
	full, scale := dense.New[float64](n, n), 0.0
	for i := range n {
		for j, v := range dense.Row(a, i)[i:] {
			scale = max(scale, math.Abs(v)) // NaN if any is
			full.Data[i*n+i+j], full.Data[(i+j)*n+i] = v, v
		}
	}
	if math.IsNaN(scale) || math.IsInf(scale, 0) {
		return nil, s, errNoEigen
	}
	if scale > 0 { // squares can then neither overflow nor vanish when they matter
		floats.Scale(1/scale, full.Data)
	}
	t, panels := tridiagonalise(full)
	strips, ok := t.diagonalise()
	if !ok {
		return nil, s, errNoEigen
	}
	order := make([]int, n)
	for j := range order {
		order[j] = j
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(t.d[j], t.d[i]) })
	values = make([]float64, n)
	for j, at := range order {
		values[j] = t.d[at] * scale
	}
	s = full // no longer needed for itself
	gatherEigenvectors(s, strips, order)
	for _, p := range slices.Backward(panels) {
		p.reflect(s)
	}
	return values, s, nil
}

// gatherEigenvectors sets column j of s to row order[j] of the strips.
func gatherEigenvectors(s dense.Matrix[float64], strips [][]float64, order []int) {
	parallel.Strips(s.Rows, gemm.StripWidth, func(lo, hi int) {
		strip := strips[lo/gemm.StripWidth]
		for j, at := range order {
			for c, v := range strip[at*gemm.StripWidth:][:hi-lo] {
				s.Data[(lo+c)*s.Stride+j] = v
			}
		}
	})
}

// reflectorPanel is the number of reflections that are applied together.
const reflectorPanel = 32

// A panel is the product of Householder reflections H_0 H_1 … = I − V T Vᵀ, T
// upper triangular, on the rows from first on (R. Schreiber, C. Van Loan, "A
// Storage-Efficient WY Representation for Products of Householder
// Transformations", SIAM J. Sci. Stat. Comput. 10, 1989).
type panel struct {
	first int
	v, t  dense.Matrix[float64]
}

// newPanel makes T from V and the factors τ of H = I − τ v vᵀ.
func newPanel(first int, v dense.Matrix[float64], tau []float64) panel {
	gram, t := dense.Gram(v), dense.New[float64](v.Cols, v.Cols)
	for c, tau := range tau {
		for i := range c { // T[:c, c] = −τ T[:c, :c] (V[:, :c]ᵀ v_c)
			for l := i; l < c; l++ {
				t.Data[i*t.Stride+c] -= tau * t.Data[i*t.Stride+l] * gram.Data[l*gram.Stride+c]
			}
		}
		t.Data[c*t.Stride+c] = tau
	}
	return panel{first: first, v: v, t: t}
}

// reflect replaces s by (I − V T Vᵀ) s.
func (p panel) reflect(s dense.Matrix[float64]) {
	s = dense.Block(s, p.first, s.Rows, 0, s.Cols)
	vs, tvs := dense.New[float64](p.v.Cols, s.Cols), dense.New[float64](p.v.Cols, s.Cols)
	dense.TransMul(vs, p.v, s)
	dense.MulAdd(tvs, 1, p.t, vs)
	dense.MulAdd(s, -1, p.v, tvs)
}

// tridiagonalise returns T = Qᵀ A Q and the panels whose product is Q. a is
// overwritten. Each panel collects V and W until the rest of A is updated at
// once, A −= V Wᵀ + W Vᵀ (J. Dongarra, D. Sorensen, S. Hammarling, "Block
// Reduction of Matrices to Condensed Forms", J. Comput. Appl. Math. 27, 1989).
func tridiagonalise(a dense.Matrix[float64]) (t tridiagonal, panels []panel) {
	n := a.Rows
	t = tridiagonal{d: make([]float64, n), e: make([]float64, max(0, n-1))}
	for first := 0; first < n-1; first += reflectorPanel {
		count := min(reflectorPanel, n-1-first)
		r := reduction{a: a, first: first, vw: dense.New[float64](n-1-first, 2*count), count: count}
		tau := make([]float64, count)
		for c := range count {
			i := first + c
			t.d[i], t.e[i], tau[c] = r.reduceColumn(c)
		}
		rest := first + count
		x := dense.Block(r.vw, count-1, r.vw.Rows, 0, 2*count) // rows rest … n−1
		y := dense.New[float64](x.Rows, x.Cols)
		dense.Copy(dense.Columns(y, 0, count), dense.Columns(x, count, 2*count))
		dense.Copy(dense.Columns(y, count, 2*count), dense.Columns(x, 0, count))
		gemm.MulAdd(dense.Block(a, rest, n, rest, n), -1, gemm.Plain, x, gemm.Transposed, y)
		v := dense.New[float64](r.vw.Rows, count)
		dense.Copy(v, dense.Columns(r.vw, 0, count))
		panels = append(panels, newPanel(first+1, v, tau))
	}
	if n > 0 {
		t.d[n-1] = a.Data[len(a.Data)-1]
	}
	return t, panels
}

// reduction is the state within one panel of tridiagonalise. Row r of vw
// belongs to row first+1+r of A; V is its left half, W its right half.
type reduction struct {
	a, vw        dense.Matrix[float64]
	first, count int
}

// reduceColumn finds the reflection that clears column i = first+c of A below
// the subdiagonal, adds it to V and W, and returns the column's entries of T.
func (r *reduction) reduceColumn(c int) (diagonal, subdiagonal, tau float64) {
	i := r.first + c
	x := slices.Clone(dense.Row(r.a, i)[i:]) // column i by symmetry
	done := 2 * r.count
	if c > 0 {
		// x −= V w_i + W v_i for the reflections so far: rows i … n−1 of [V W] times
		// row i of [W V].
		mix := make([]float64, done)
		own := dense.Row(r.vw, c-1)
		copy(mix, own[r.count:])
		copy(mix[r.count:], own[:r.count])
		blas64.Gemv(blas.NoTrans, -1, blas64.General(dense.Block(r.vw, c-1, r.vw.Rows, 0, done)),
			vector(mix), 1, vector(x))
	}
	diagonal = x[0]
	v := x[1:]
	subdiagonal, tau = householder(v)
	w := make([]float64, len(v))
	parallel.Rows(len(v), func(lo, hi int) {
		for k := lo; k < hi; k++ {
			w[k] = floats.Dot(dense.Row(r.a, i+1+k)[i+1:], v)
		}
	})
	if c > 0 { // A has not been updated within the panel
		below := dense.Block(r.vw, c, r.vw.Rows, 0, done)
		coef, mix := make([]float64, done), make([]float64, done)
		blas64.Gemv(blas.Trans, 1, blas64.General(below), vector(v), 0, vector(coef))
		copy(mix, coef[r.count:])
		copy(mix[r.count:], coef[:r.count])
		blas64.Gemv(blas.NoTrans, -1, blas64.General(below), vector(mix), 1, vector(w))
	}
	floats.Scale(tau, w)
	floats.AddScaled(w, -tau/2*floats.Dot(w, v), v)
	for k := range v {
		at := dense.Row(r.vw, c+k)
		at[c], at[r.count+c] = v[k], w[k]
	}
	return diagonal, subdiagonal, tau
}

// householder replaces x by v with v[0] = 1 such that (I − τ v vᵀ) x = (β, 0, …).
func householder(x []float64) (beta, tau float64) {
	rest := floats.Norm(x[1:], 2)
	alpha := x[0]
	x[0] = 1
	if rest == 0 {
		return alpha, 0
	}
	beta = -math.Copysign(math.Hypot(alpha, rest), alpha)
	floats.Scale(1/(alpha-beta), x[1:])
	return beta, (beta - alpha) / beta
}

func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }
