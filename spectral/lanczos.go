package spectral

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas64"
)

// lanczos finds the largest eigenvalues of K and their eigenvectors by block
// Lanczos with partial reorthogonalisation and thick restart (K. Wu, H. Simon,
// "Thick-Restart Lanczos Method for Large Symmetric Eigenvalue Problems", SIAM
// J. Matrix Anal. Appl. 22, 2000; in blocks, since products with blocks are
// what the hardware is good at).
//
// The invariant between two steps, with p processed and b pending columns:
//
//	K V[:, :p] = V[:, :p] T + V[:, p:p+b] B,   V[:, :p+b] orthonormal
//
// where B (b×p) is zero but for its last b columns, tail. A Ritz pair (θ, V s)
// then has the residual ‖B s‖, known without another product with K.
type lanczos struct {
	op    operator
	rng   *rand.Rand
	n, b  int
	limit int  // columns of V at most
	p     int  // processed columns
	first int  // the pending block couples with the columns from first on
	again bool // the next block is to be reorthogonalised as well

	v     blas64.General // n×limit
	t     blas64.General // limit×limit, symmetric
	tail  blas64.General // b×b
	start blas64.General // b×b, R_0 of the start block's factors
	x, w  blas64.General // n×b

	theta []float64      // Ritz values of V[:, :p], descending; nil: not computed since V changed
	s     blas64.General // p×p, eigenvectors of T that belong to them

	scale    float64 // largest column norm of K·V seen, a lower bound of κ_1: the measure of "zero"
	restarts int
	progress func(columns, limit int) // after every step, if not nil
}

// newLanczos starts the iteration from a random Gaussian block. limit is the
// number of columns that are kept, at least 8 blocks: more mean fewer restarts
// and more memory, 8·n·limit bytes.
func newLanczos(op operator, b, limit int, seed uint64) *lanczos {
	n := op.dim()
	l := &lanczos{
		op: op, n: n, b: b, limit: limit, rng: rand.New(rand.NewPCG(seed, 0x6773696d63)),
		v: newGeneral(n, limit), t: newGeneral(limit, limit), tail: newGeneral(b, b),
		x: newGeneral(n, b), w: newGeneral(n, b),
	}
	for i := range l.w.Data {
		l.w.Data[i] = l.rng.NormFloat64()
	}
	l.scale = maxColumnNorm(l.w)
	l.start = l.orthonormalise(0)
	copyGeneral(columns(l.v, 0, b), l.w)
	l.scale = 0
	return l
}

// fill takes steps until V is full.
func (l *lanczos) fill() {
	for l.p+2*l.b <= l.limit {
		l.step()
		if l.progress != nil {
			l.progress(min(l.p+2*l.b, l.limit), l.limit)
		}
	}
}

// solve iterates until the first k Ritz pairs have a residual of at most tol
// times their Ritz value, or maxRestarts is reached. It returns approximate
// eigenvectors (n×k), in descending order of their eigenvalues.
func (l *lanczos) solve(k int, tol float64, maxRestarts int) (u blas64.General, err error) {
	for {
		l.fill()
		theta, s, err := l.ritz()
		if err != nil {
			return u, err
		}
		converged := l.converged(theta, s, k, tol)
		if converged == k || l.restarts >= maxRestarts {
			u = newGeneral(l.n, k)
			mulAdd(u, 1, columns(l.v, 0, l.p), columns(s, 0, k))
			return u, nil
		}
		l.restart(theta, s, l.keep(k, converged))
		l.restarts++
	}
}

// ritz returns the Ritz values, descending, and the eigenvectors of T. It costs
// as much as many steps and is done once for each V.
func (l *lanczos) ritz() (theta []float64, s blas64.General, err error) {
	if l.theta == nil {
		l.theta, l.s, err = symmetricEigen(block(l.t, 0, l.p, 0, l.p))
	}
	return l.theta, l.s, err
}

// step multiplies the pending block by K, orthogonalises the product against
// all of V, and makes what is left the next pending block.
func (l *lanczos) step() {
	p, b := l.p, l.b
	l.theta = nil
	copyGeneral(l.x, columns(l.v, p, p+b))
	l.op.applyTo(l.w.Data, l.x.Data, b)
	l.scale = max(l.scale, maxColumnNorm(l.w))
	clearGeneral(block(l.t, 0, l.limit, p, p+b))
	// Exact arithmetic would need the columns from first on only. Twice,
	// because the first pass leaves rounding error relative to what it removed.
	for range 2 {
		l.project(l.first, p+b, block(l.t, l.first, p+b, p, p+b))
	}
	l.reorthogonalise(p)
	l.symmetrise(p)
	copyGeneral(l.tail, l.orthonormalise(p+b))
	copyGeneral(columns(l.v, p+b, p+2*b), l.w)
	l.first, l.p = p, p+b
}

// maxLoss is how far the pending block may lose its orthogonality to V before
// it is orthogonalised again. Up to the square root of the machine precision
// (1.5e-8), T stays the projection of K to working precision (H. Simon, "The
// Lanczos Algorithm With Partial Reorthogonalization", Math. Comp. 42, 1984).
const maxLoss = 1e-9

// reorthogonalise removes from W what rounding has let grow along the columns
// of V that the recurrence does not touch. Simon estimates the loss; here it
// is measured, on one random vector of the block's span, at 1/(2b) of the cost
// of removing it. The next block inherits the loss, so it is treated as well.
func (l *lanczos) reorthogonalise(p int) {
	if l.first == 0 {
		return // all of V was touched
	}
	if l.loss(l.first) <= maxLoss && !l.again {
		return
	}
	l.again = !l.again
	l.project(0, l.first, block(l.t, 0, l.first, p, p+l.b))
}

// loss returns the largest cosine between a random vector in the span of W and
// a column of V[:, :p].
func (l *lanczos) loss(p int) float64 {
	mix := blas64.Vector{N: l.b, Inc: 1, Data: make([]float64, l.b)}
	for c := range mix.Data {
		mix.Data[c] = l.rng.NormFloat64()
	}
	x := blas64.Vector{N: l.n, Inc: 1, Data: make([]float64, l.n)}
	blas64.Gemv(plain, 1, l.w, mix, 0, x)
	dots := blas64.Vector{N: p, Inc: 1, Data: make([]float64, p)}
	blas64.Gemv(transposed, 1, columns(l.v, 0, p), x, 0, dots)
	norm := blas64.Nrm2(x)
	if norm == 0 {
		return 0
	}
	return math.Abs(dots.Data[blas64.Iamax(dots)]) / norm
}

// project adds H = V[:, lo:hi]ᵀ W to h and subtracts V[:, lo:hi] H from W.
func (l *lanczos) project(lo, hi int, h blas64.General) {
	v := columns(l.v, lo, hi)
	coef := newGeneral(hi-lo, l.b)
	transMul(coef, v, l.w)
	mulAdd(l.w, -1, v, coef)
	addGeneral(h, coef)
}

// symmetrise mirrors the new block column p:p+b of T, whose diagonal block is
// symmetric only up to rounding.
func (l *lanczos) symmetrise(p int) {
	t, ld := l.t.Data, l.t.Stride
	for j := p; j < p+l.b; j++ {
		for i := range j {
			mean := t[i*ld+j]
			if i >= p {
				mean = (t[i*ld+j] + t[j*ld+i]) / 2
			}
			t[i*ld+j], t[j*ld+i] = mean, mean
		}
	}
}

// converged counts the leading Ritz pairs, up to k, whose residual ‖B s‖ is at
// most tol·θ. A θ that is zero beside the first is only known up to rounding.
func (l *lanczos) converged(theta []float64, s blas64.General, k int, tol float64) int {
	res := newGeneral(l.b, k)
	mulAdd(res, 1, l.tail, block(s, l.p-l.b, l.p, 0, k))
	for j, norm := range columnNorms(res) {
		if !(norm <= tol*max(theta[j], numericalZero*theta[0])) {
			return j
		}
	}
	return k
}

// keep returns how many Ritz vectors survive a restart: the wanted ones and
// some beyond them, which speed up those at the edge, while leaving room for
// several steps.
func (l *lanczos) keep(k, converged int) int {
	spare := l.limit - 2*l.b - k
	return min(k+max(0, spare)*2/5+converged/8, l.limit-4*l.b)
}

// restart replaces V by the leading q Ritz vectors and the pending block.
func (l *lanczos) restart(theta []float64, s blas64.General, q int) {
	l.theta = nil
	rotateColumns(l.v, l.p, columns(s, 0, q))
	pending := columns(l.v, q, q+l.b)
	copyGeneral(l.x, columns(l.v, l.p, l.p+l.b)) // the two may overlap
	copyGeneral(pending, l.x)
	clearGeneral(l.t)
	for j := range q {
		l.t.Data[j*l.t.Stride+j] = theta[j]
	}
	l.p, l.first, l.again = q, 0, false
}
