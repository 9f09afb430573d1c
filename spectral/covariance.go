package spectral

import (
	"math"
	"slices"

	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/spectral/internal/dense"
	"github.com/gsimc/gsimc/spectral/internal/eigen"
)

// covarianceGraph is K = D^{-1/2} A D^{-1/2} of the covariance graph. A pair of items has a
// positive covariance only if some user has both, so A is sparse: row i holds the columns
// col[ptr[i]:ptr[i+1]], in rising order, with the number of common users. An entry takes eight
// bytes. A_ij is computed from the count when it is used, in integers: that costs nothing beside
// the memory traffic, and no rounding can make an edge between two independent items.
type covarianceGraph struct {
	ptr   []int64
	col   []int32
	count []int32
	d     []int64   // d_v
	m     int64     // users
	scale []float64 // D^{-1/2}; D = 1 for an isolated item
}

func newCovarianceGraph(r *Incidence) *covarianceGraph {
	n := r.NumItems
	g := &covarianceGraph{
		ptr: make([]int64, n+1), d: r.Degrees(), m: int64(r.NumUsers()), scale: make([]float64, n),
	}
	userPtr, user := r.transpose()
	rows := make([][2][]int32, n) // columns and counts of each row
	parallel.Rows(n, func(lo, hi int) {
		acc := make([]int32, n)
		var touched []int32
		for i := lo; i < hi; i++ {
			touched = touched[:0]
			for _, u := range user[userPtr[i]:userPtr[i+1]] {
				for _, j := range r.Item[r.Ptr[u]:r.Ptr[u+1]] {
					if acc[j] == 0 {
						touched = append(touched, j)
					}
					acc[j]++
				}
			}
			rows[i], g.scale[i] = g.takeRow(int32(i), touched, acc)
		}
	})
	for i := range n {
		g.ptr[i+1] = g.ptr[i] + int64(len(rows[i][0]))
	}
	g.col = make([]int32, g.ptr[n])
	g.count = make([]int32, g.ptr[n])
	for i := range n {
		copy(g.col[g.ptr[i]:], rows[i][0])
		copy(g.count[g.ptr[i]:], rows[i][1])
		rows[i] = [2][]int32{} // let it go as soon as it is copied
	}
	return g
}

// takeRow keeps the touched columns of row i with a positive covariance, clears acc, and returns
// the row and D_i^{-1/2}.
func (g *covarianceGraph) takeRow(i int32, touched, acc []int32) (row [2][]int32, scale float64) {
	slices.Sort(touched)
	kept := 0
	for _, j := range touched {
		if j != i && g.covariance(i, j, acc[j]) > 0 {
			kept++
		}
	}
	row = [2][]int32{make([]int32, 0, kept), make([]int32, 0, kept)}
	var sum float64
	for _, j := range touched {
		if a := g.covariance(i, j, acc[j]); j != i && a > 0 {
			row[0] = append(row[0], j)
			row[1] = append(row[1], acc[j])
			sum += a
		}
		acc[j] = 0
	}
	if sum == 0 {
		sum = 1
	}
	return row, 1 / math.Sqrt(sum)
}

// covariance is m² times the population covariance of items i and j with the given number of common
// users. The factor cancels in K.
func (g *covarianceGraph) covariance(i, j, common int32) float64 {
	return float64(int64(common)*g.m - g.d[i]*g.d[j])
}

func (g *covarianceGraph) Dim() int { return len(g.d) }

func (g *covarianceGraph) normalisation() []float64 { return g.scale }

func (g *covarianceGraph) single() eigen.Operator[float32] { return covarianceOp[float32]{g} }
func (g *covarianceGraph) double() eigen.Operator[float64] { return covarianceOp[float64]{g} }

// covarianceOp multiplies by the K of a covariance graph.
type covarianceOp[T gemm.Float] struct{ *covarianceGraph }

func (op covarianceOp[T]) Strip() int { return eigen.BlockSize }

func (op covarianceOp[T]) ApplyTo(dst, x []T, b int) {
	parallel.Rows(op.Dim(), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row := dst[i*b : (i+1)*b]
			clear(row)
			for e := op.ptr[i]; e < op.ptr[i+1]; e++ {
				j := op.col[e]
				a := op.covariance(int32(i), j, op.count[e]) * op.scale[j] * op.scale[i]
				dense.AddScaled(row, T(a), x[int(j)*b:(int(j)+1)*b])
			}
		}
	})
}
