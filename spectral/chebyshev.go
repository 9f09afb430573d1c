package spectral

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"

	"github.com/gsimc/gsimc/internal/parallel"
)

// chebyshevOp is the operator p(K) with p(x) = T_d((x−e)/h) / T_d((κ_1−e)/h),
// T_d the Chebyshev polynomial of degree d, e and h the centre and half-width
// of the unwanted interval [lo, cut]. |p| is at most 1/T_d(…) there and rises
// steeply and monotonically above it, so that p(K) has the wanted eigenvectors
// of K and a far better separated spectrum: the Lanczos basis gets several
// times smaller, and with it the dense work, for about the same number of
// products with K (Y. Zhou, Y. Saad, "A Chebyshev-Davidson Algorithm for Large
// Symmetric Eigenproblems", SIAM J. Matrix Anal. Appl. 29, 2007).
type chebyshevOp struct {
	op         operator
	degree     int
	e, h       float64
	norm       float64 // 1/T_d((κ_1−e)/h)
	prev, curr []float64
}

const (
	// maxDynamicRange bounds p(κ_1)/p(cut): beyond it, rounding of the large
	// eigenvalues' part would drown the small ones'.
	maxDynamicRange = 1e8
	// maxDegree bounds d where κ_1 is close to the cut; higher degrees save no
	// more dense work.
	maxDegree = 10
)

// newChebyshev returns the filtered operator for the unwanted interval
// [lo, cut] of op, or nil if no degree above 1 fits.
func newChebyshev(op operator, lo, cut, kappaMax float64) *chebyshevOp {
	c := &chebyshevOp{op: op, e: (cut + lo) / 2, h: (cut - lo) / 2}
	x := (kappaMax - c.e) / c.h
	if !(c.h > 0) || !(x > 1) {
		return nil
	}
	growth := math.Acosh(x) // T_d(x) = cosh(d·acosh x)
	c.degree = min(maxDegree, int(math.Acosh(maxDynamicRange)/growth))
	if c.degree < 2 {
		return nil
	}
	c.norm = 1 / math.Cosh(float64(c.degree)*growth)
	return c
}

func (c *chebyshevOp) dim() int { return c.op.dim() }

// applyTo evaluates T_d by its recurrence, T_{j+1}(y) = 2 y T_j(y) − T_{j−1}(y).
func (c *chebyshevOp) applyTo(dst, x []float64, b int) {
	size := c.dim() * b
	if cap(c.prev) < size {
		c.prev, c.curr = make([]float64, size), make([]float64, size)
	}
	prev, curr := c.prev[:size], c.curr[:size]
	copy(prev, x)
	c.op.applyTo(curr, x, b)
	combine(curr, 1/c.h, prev, c.e, nil)
	for j := 1; j < c.degree; j++ {
		c.op.applyTo(dst, curr, b)
		combine(dst, 2/c.h, curr, c.e, prev)
		copy(prev, curr)
		copy(curr, dst)
	}
	for i, v := range curr {
		dst[i] = c.norm * v
	}
}

// combine sets y = alpha (y − e x) − z; a nil z counts as zero.
func combine(y []float64, alpha float64, x []float64, e float64, z []float64) {
	parallel.Strips(len(y), 1<<15, func(lo, hi int) {
		if z == nil {
			for i := lo; i < hi; i++ {
				y[i] = alpha * (y[i] - e*x[i])
			}
			return
		}
		for i := lo; i < hi; i++ {
			y[i] = alpha*(y[i]-e*x[i]) - z[i]
		}
	})
}

// probeSpectrum estimates, from a short Lanczos run that started with a random
// Gaussian block, the largest eigenvalue, a lower bound of the smallest, and
// the value that about count eigenvalues are above. Ritz value i stands for
// n/b · ‖S[0:b, i]ᵀ R_0‖² / n eigenvalues, where R_0 is the triangular factor
// of the start block (stochastic Lanczos quadrature; L. Lin, Y. Saad, C. Yang,
// "Approximating Spectral Densities of Large Matrices", SIAM Review 58, 2016).
func probeSpectrum(l *lanczos, start blas64.General, count float64) (lo, cut, top float64, err error) {
	theta, s, err := l.ritz()
	if err != nil {
		return 0, 0, 0, err
	}
	top = theta[0]
	lo = theta[l.p-1] - maxColumnNorm(l.tail)
	weights := newGeneral(l.b, l.p)
	transMul(weights, start, block(s, 0, l.b, 0, l.p))
	var above float64
	for i, norm := range columnNorms(weights) {
		above += norm * norm / float64(l.b)
		if above >= count {
			return lo, theta[i], top, nil
		}
	}
	return lo, theta[l.p-1], top, nil
}
