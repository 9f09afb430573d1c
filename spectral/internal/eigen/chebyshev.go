package eigen

import (
	"math"

	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/spectral/internal/dense"
)

// chebyshev is the polynomial p(x) = T_d((x−e)/h) / T_d((κ_1−e)/h), T_d the Chebyshev polynomial of
// degree d, e and h the centre and half-width of the unwanted interval [lo, cut]. There |p| is at
// most 1/T_d(…); above, p rises steeply and monotonically. So p(K) has the wanted eigenvectors of K
// and a far better separated spectrum. The Lanczos basis gets several times smaller, and with it
// the dense work, for about the same number of products with K (Y. Zhou, Y. Saad, "A
// Chebyshev-Davidson Algorithm for Large Symmetric Eigenproblems", SIAM J. Matrix Anal. Appl. 29,
// 2007).
type chebyshev struct {
	degree int
	e, h   float64
	norm   float64 // 1/T_d((κ_1−e)/h)
}

// newChebyshev returns the polynomial for the unwanted interval [lo, cut] of an operator whose
// largest eigenvalue is top, with p(top)/p(cut) ≤ growth and a degree of at most limit; or one of
// degree 1 if no higher one fits.
func newChebyshev(lo, cut, top, growth float64, limit int) chebyshev {
	c := chebyshev{degree: 1, e: (cut + lo) / 2, h: (cut - lo) / 2}
	x := (top - c.e) / c.h
	if !(c.h > 0) || !(x > 1) {
		return c
	}
	rate := math.Acosh(x) // T_d(x) = cosh(d·acosh x)
	c.degree = max(1, min(limit, int(math.Acosh(growth)/rate)))
	c.norm = 1 / math.Cosh(float64(c.degree)*rate)
	return c
}

// lift is p(κ) of a κ that is not below the unwanted interval, in units of the ripple.
func (c chebyshev) lift(kappa float64) float64 {
	return math.Cosh(float64(c.degree) * math.Acosh(max(1, (kappa-c.e)/c.h)))
}

// origin is the κ above the unwanted interval with p(κ) = θ, and the top of the interval for a θ
// that is not above the ripple.
func (c chebyshev) origin(theta float64) float64 {
	return c.e + c.h*math.Cosh(math.Acosh(max(1, theta/c.norm))/float64(c.degree))
}

// bound is the largest residual ‖p(K) u − θ u‖ of a unit vector u from which follows ‖K u − κ u‖ ≤
// tol, with p(κ) = θ.
//
// With u = Σ c_i u_i the two squares are Σ c_i² (p(κ_i) − θ)² and Σ c_i² (κ_i − κ)². p is convex
// and rises above the interval, and below it does not exceed the ripple c.norm, so (κ − κ_i)/(θ −
// p(κ_i)) is largest at the lower end lo.
func (c chebyshev) bound(theta, tol float64) float64 {
	kappa := c.origin(theta)
	return tol * (theta - c.norm) / (kappa - (c.e - c.h))
}

// chebyshevOp is the operator p(K).
type chebyshevOp[T gemm.Float] struct {
	Operator[T] // K
	chebyshev
	prev, curr []T
}

// ApplyTo evaluates T_d by its recurrence, T_{j+1}(y) = 2 y T_j(y) − T_{j−1}(y).
func (c *chebyshevOp[T]) ApplyTo(dst, x []T, b int) {
	size := c.Dim() * b
	if cap(c.prev) < size {
		c.prev, c.curr = make([]T, size), make([]T, size)
	}
	prev, curr := c.prev[:size], c.curr[:size]
	copy(prev, x)
	c.Operator.ApplyTo(curr, x, b)
	combine(curr, T(1/c.h), prev, T(c.e), nil)
	for j := 1; j < c.degree; j++ {
		c.Operator.ApplyTo(dst, curr, b)
		combine(dst, T(2/c.h), curr, T(c.e), prev)
		copy(prev, curr)
		copy(curr, dst)
	}
	parallel.Strips(size, combineStrip, func(lo, hi int) {
		dense.ScaleTo(dst[lo:hi], T(c.norm), curr[lo:hi])
	})
}

// combineStrip is the number of elements that one processor combines at a time.
const combineStrip = 1 << 15

// combine sets y = alpha (y − e x) − z; a nil z counts as zero.
func combine[T gemm.Float](y []T, alpha T, x []T, e T, z []T) {
	parallel.Strips(len(y), combineStrip, func(lo, hi int) {
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
