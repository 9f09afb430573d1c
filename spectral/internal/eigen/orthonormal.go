package eigen

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/gsimc/gsimc/internal/num/lapack"
	"github.com/gsimc/gsimc/spectral/internal/dense"
)

// maxGramCondition bounds the condition number of WᵀW up to which Cholesky QR,
// done twice, gives orthonormal columns to working precision.
const maxGramCondition = 1e10

// nearlyOrthonormal is the condition number up to which one round is enough.
const nearlyOrthonormal = 4

// orthonormalise replaces W by Q of W = Q R and returns R (b×b, upper
// triangular). Columns of W that depend on the others, or vanish beside the
// scale of K, are replaced by random directions orthogonal to V[:, :p]. They get a
// zero on the diagonal of R: the Krylov space is exhausted in that direction, and
// the search continues elsewhere.
func (l *lanczos[T]) orthonormalise(p int) dense.Matrix[float64] {
	if dense.MinColumnNorm(l.w) > 1e-10*l.scale {
		if r, ok := choleskyQR2(l.w); ok {
			return r
		}
	}
	return l.gramSchmidt(p)
}

// gramSchmidt is orthonormalise by columns: slower, but safe for columns that
// are tiny or dependent. p+b must be well below n, so that random directions
// outside of V exist.
func (l *lanczos[T]) gramSchmidt(p int) dense.Matrix[float64] {
	q := dense.New[float64](l.b, l.n) // Wᵀ: one vector a row
	for i := range l.n {
		for c := range l.b {
			q.Data[c*l.n+i] = l.w.Data[i*l.b+c]
		}
	}
	r := dense.New[float64](l.b, l.b)
	for c := range l.b {
		if l.orthogonaliseRow(q, c, p, r.Data[c:]) {
			continue
		}
		r.Data[c*l.b+c] = 0
		for { // a random direction lies in the span with probability 0
			for i := range dense.Row(q, c) {
				dense.Row(q, c)[i] = l.rng.NormFloat64() * l.scale
			}
			if l.orthogonaliseRow(q, c, p, make([]float64, l.b*l.b)) {
				break
			}
		}
	}
	for i := range l.n {
		for c := range l.b {
			l.w.Data[i*l.b+c] = q.Data[c*l.n+i]
		}
	}
	return r
}

// orthogonaliseRow makes row c of q a unit vector orthogonal to the rows before
// it and to V[:, :p], and adds the coefficients to column 0 of r, whose rows
// are b apart. It returns false if nothing but rounding error is left.
func (l *lanczos[T]) orthogonaliseRow(q dense.Matrix[float64], c, p int, r []float64) bool {
	x := dense.Row(q, c)
	length := 1.0 // of the original vector's part that is left
	for range 2 { // normalised in between, so that the second pass works at full precision
		l.projectVector(x, p)
		for j := range c {
			d := floats.Dot(dense.Row(q, j), x)
			floats.AddScaled(x, -d, dense.Row(q, j))
			r[j*l.b] += length * d
		}
		norm := floats.Norm(x, 2)
		length *= norm
		if !(length > 1e-14*l.scale) {
			return false
		}
		floats.Scale(1/norm, x)
	}
	r[c*l.b] = length
	return true
}

// projectVector subtracts from x its projection on V[:, :p].
func (l *lanczos[T]) projectVector(x []float64, p int) {
	if p == 0 {
		return
	}
	coef := make([]float64, p)
	for i, at := range x {
		for j, v := range dense.Row(l.v, i)[:p] {
			coef[j] += at * float64(v)
		}
	}
	for i := range x {
		var sum float64
		for j, v := range dense.Row(l.v, i)[:p] {
			sum += coef[j] * float64(v)
		}
		x[i] -= sum
	}
}

// choleskyQR2 factors w = Q R by two rounds of Cholesky QR, or one where the columns are nearly
// orthonormal, and stores Q in w. If w is too ill-conditioned it returns ok = false and leaves w as
// it was.
func choleskyQR2(w dense.Matrix[float64]) (r dense.Matrix[float64], ok bool) {
	r1, condition, ok := choleskyQR(w)
	if !ok || condition < nearlyOrthonormal {
		return r1, ok
	}
	r2, _, ok := choleskyQR(w)
	if !ok { // cannot be: w is orthonormal up to 1e-6 by now
		return r, false
	}
	r = dense.New[float64](w.Cols, w.Cols)
	dense.MulAdd(r, 1, r2, r1)
	return r, true
}

// choleskyQR is one round of Cholesky QR. condition is the condition number of WᵀW.
func choleskyQR(w dense.Matrix[float64]) (r dense.Matrix[float64], condition float64, ok bool) {
	r = dense.Gram(w)
	condition, ok = lapack.Cholesky(r)
	if !ok || !(condition < maxGramCondition) {
		return r, 0, false
	}
	for i := range r.Rows {
		clear(dense.Row(r, i)[:i])
	}
	inverse := r
	inverse.Data = slices.Clone(r.Data)
	if !lapack.InvertTriangle(inverse) {
		return r, 0, false
	}
	// A product with R⁻¹ is many times faster than solving with R. R is well conditioned,
	// so the second round restores the accuracy.
	dense.RotateColumns(w, w.Cols, inverse)
	return r, condition, true
}

// Orthonormalise replaces q by an orthonormal basis of its column space.
// Dependent columns become directions of rounding noise.
func Orthonormalise(q dense.Matrix[float64]) error {
	if _, ok := choleskyQR2(q); ok {
		return nil
	}
	for range 2 { // by the singular vectors of the Gram matrix, which always exist
		values, s, err := Symmetric(dense.Gram(q))
		if err != nil {
			return err
		}
		dense.ScaleColumns(s, func(j int) float64 {
			return 1 / math.Sqrt(max(values[j], 1e-15*values[0]))
		})
		dense.RotateColumns(q, q.Cols, s)
	}
	return nil
}
