// Package lapack is what the rest needs of LAPACK, for matrices that are small enough for its
// speed: those of a block, of a Krylov space, of a covariance.
//
// Matrices are row-major. Of a symmetric one, and of a triangular one, only the upper triangle is
// read and written.
//
// The functions call gonum's routines by their concrete type. gonum.org/v1/gonum/mat calls them
// through an interface, and then the linker keeps every routine there is: 1 MB of the program.
package lapack

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"

	"github.com/gsimc/gsimc/internal/num/gemm"
)

var routines gonum.Implementation

// maxCondition is the condition number above which no digit of an inverse is right.
const maxCondition = 1e16

// Cholesky replaces a by U of a = UᵀU, and estimates the condition number of a. ok is false if a is
// not positive definite to rounding error; a is then spoilt. n³/3 operations.
func Cholesky(a gemm.Matrix[float64]) (condition float64, ok bool) {
	n := a.Rows
	work, places := make([]float64, 3*n), make([]int, n)
	norm := routines.Dlansy(lapack.MaxRowSum, blas.Upper, n, a.Data, a.Stride, work)
	if !routines.Dpotrf(blas.Upper, n, a.Data, a.Stride) {
		return 0, false
	}
	return 1 / routines.Dpocon(blas.Upper, n, a.Data, a.Stride, norm, work, places), true
}

// InvertTriangle replaces the triangular matrix u by u⁻¹. ok is false if its diagonal has a 0.
func InvertTriangle(u gemm.Matrix[float64]) (ok bool) {
	return routines.Dtrtri(blas.Upper, blas.NonUnit, u.Rows, u.Data, u.Stride)
}

// Invert replaces the positive definite matrix a by a⁻¹. ok is false if no digit of that is right.
func Invert(a gemm.Matrix[float64]) (ok bool) {
	condition, ok := Cholesky(a)
	return ok && routines.Dpotri(blas.Upper, a.Rows, a.Data, a.Stride) && condition <= maxCondition
}

// Eigen replaces the symmetric matrix a, all of it, by its eigenvectors, which are its columns, and
// returns the eigenvalues in ascending order. ok is false if they do not converge.
func Eigen(a gemm.Matrix[float64]) (values []float64, ok bool) {
	n, size := a.Rows, []float64{0}
	values = make([]float64, n)
	routines.Dsyev(lapack.EVCompute, blas.Upper, n, a.Data, a.Stride, values, size, -1)
	work := make([]float64, int(size[0]))
	ok = routines.Dsyev(lapack.EVCompute, blas.Upper, n, a.Data, a.Stride, values, work, len(work))
	return values, ok
}
