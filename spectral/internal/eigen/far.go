package eigen

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/gsimc/gsimc/spectral/internal/dense"
)

// halvings of an interval leave nothing of it: the last of the wanted values may be 1e-8 of the
// first one.
const halvings = 64

// far is the excess of the k-th Ritz pair alone, which converges last or nearly so. It is 0 where
// only all pairs tell more. The space grows until the excess is at most 1: nearly always, all pairs
// are good then, and they are computed once. Where the bound of the residual does not suffice, the
// residual is measured: in a flat spectrum it is a twentieth of the bound.
func (f *filteredIteration[T]) far(k int, tol float64) (excess float64) {
	if f.l.theta != nil || f.l.restarts > 0 || f.l.full() {
		return 0
	}
	theta, s := f.l.pair(k)
	excess = f.excess(theta, f.l.residuals(s)[0], tol)
	if 1 < excess && f.measurable(excess) {
		excess = min(excess, f.measure(f.l.vectors(s, []int{0}))/(safety*tol))
	}
	return excess
}

// pair returns the k-th Ritz value and the eigenvector of T that belongs to it, in a hundredth of
// the time of all Ritz pairs. Without restarts T is a band matrix up to rounding. Its LDLᵀ factors
// count the eigenvalues above a number, and give the eigenvector by inverse iteration.
func (l *lanczos[T]) pair(k int) (theta float64, s dense.Matrix[float64]) {
	t := dense.Block(l.t, 0, l.p, 0, l.p)
	high := 0.0
	for i := range l.p {
		high = max(high, floats.Norm(dense.Row(t, i), 1)) // no eigenvalue is above all of these
	}
	theta = -high
	var band *bandFactor
	for range halvings {
		middle := theta/2 + high/2
		if band = newBandFactor(t, l.b, middle); band.positive >= k {
			theta = middle
		} else {
			high = middle
		}
	}
	s = dense.New[float64](l.p, 1)
	s.Data = slices.Repeat([]float64{1}, l.p)
	for range 3 {
		band.solve(s.Data)
		floats.Scale(1/floats.Norm(s.Data, 2), s.Data)
	}
	return theta, s
}

// bandFactor is T − σI = L D Lᵀ for a symmetric T of half-bandwidth b.
type bandFactor struct {
	n, b     int
	rows     []float64 // n×(b+1): row i has the entries i … i+b of row i of D Lᵀ
	positive int       // eigenvalues of T above σ
}

func newBandFactor(t dense.Matrix[float64], b int, sigma float64) *bandFactor {
	f := &bandFactor{n: t.Rows, b: b, rows: make([]float64, t.Rows*(b+1))}
	for i := range f.n {
		copy(f.row(i), dense.Row(t, i)[i:min(i+b+1, f.n)])
		f.row(i)[0] -= sigma
	}
	for i := range f.n {
		row := f.row(i)
		if row[0] == 0 {
			row[0] = math.SmallestNonzeroFloat32
		}
		if row[0] > 0 {
			f.positive++
		}
		for m := 1; m < min(b+1, f.n-i); m++ {
			below, factor := f.row(i+m), row[m]/row[0]
			for j, x := range row[m:] {
				below[j] -= float64(factor * x)
			}
		}
	}
	return f
}

func (f *bandFactor) row(i int) []float64 { return f.rows[i*(f.b+1) : (i+1)*(f.b+1)] }

// solve replaces x by the solution of L D Lᵀ y = x.
func (f *bandFactor) solve(x []float64) {
	for i := range f.n {
		row := f.row(i)
		for m := 1; m < min(f.b+1, f.n-i); m++ {
			x[i+m] -= float64(row[m] / row[0] * x[i])
		}
	}
	for i := f.n - 1; i >= 0; i-- {
		row := f.row(i)
		for m := 1; m < min(f.b+1, f.n-i); m++ {
			x[i] -= float64(row[m] * x[i+m])
		}
		x[i] /= row[0]
	}
}
