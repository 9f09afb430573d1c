package eigen

import (
	"math/rand/v2"

	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/spectral/internal/dense"
)

// lanczos finds the largest eigenvalues of K and their eigenvectors by block
// Lanczos with full reorthogonalisation and thick restart (K. Wu, H. Simon,
// "Thick-Restart Lanczos Method for Large Symmetric Eigenvalue Problems", SIAM
// J. Matrix Anal. Appl. 22, 2000). It works in blocks, whose products suit the
// hardware.
//
// The invariant between two steps, with p processed and b pending columns:
//
//	K V[:, :p] = V[:, :p] T + V[:, p:p+b] B,   V[:, :p+b] orthonormal
//
// where B (b×p) is zero but for its last b columns, tail. A Ritz pair (θ, V s)
// then has the residual ‖B s‖, known without another product with K.
//
// T is the type of the n×p and n×b matrices, on which nearly all time is spent.
// Everything small is of float64.
type lanczos[T gemm.Float] struct {
	op    Operator[T]
	rng   *rand.Rand
	n, b  int
	limit int // columns of V at most
	p     int // processed columns

	v     dense.Matrix[T]       // n×limit
	t     dense.Matrix[float64] // limit×limit, symmetric
	tail  dense.Matrix[float64] // b×b
	start dense.Matrix[float64] // b×b, R_0 of the start block's factors
	x, kx dense.Matrix[T]       // n×b: the block and its product
	w     dense.Matrix[float64] // n×b: the next block while it is made orthonormal

	theta []float64             // Ritz values of V[:, :p], descending; nil after a change of V
	s     dense.Matrix[float64] // p×p, eigenvectors of T that belong to them

	scale    float64 // largest column norm of K·V seen, a lower bound of κ_1: the measure of "zero"
	restarts int

	work   *workload // of the whole iteration; nil: not counted
	degree int       // products with K in a product with op, for work
}

// newLanczos starts the iteration from an n×b block. limit is the number of
// columns of V, at least 8 blocks: more columns mean fewer restarts and more
// memory. The seed draws the directions that replace dependent ones.
func newLanczos[T gemm.Float](
	op Operator[T], start dense.Matrix[float64], limit int, seed uint64,
) *lanczos[T] {
	n, b := op.Dim(), start.Cols
	l := &lanczos[T]{
		op: op, n: n, b: b, limit: limit, rng: rand.New(rand.NewPCG(seed, 0x6c616e637a6f73)),
		v: dense.New[T](n, limit), t: dense.New[float64](limit, limit),
		tail: dense.New[float64](b, b), x: dense.New[T](n, b), kx: dense.New[T](n, b), w: start,
	}
	l.scale = dense.MaxColumnNorm(l.w)
	l.start = l.orthonormalise(0)
	dense.Copy(dense.Columns(l.v, 0, b), l.w)
	l.scale = 0
	return l
}

// fillTo takes steps until V has at least p processed columns, or is full.
func (l *lanczos[T]) fillTo(p int) {
	for l.p < p && !l.full() {
		l.work.add(l.work.step(l.p, l.degree))
		l.step()
	}
}

// firstCheck is the number of columns at which the pairs are checked for the first time. They are
// checked again whenever the columns have grown by checkShare.
func firstCheck(k, b int) int { return k + k/6 + 2*b }

const checkShare = 0.05

// advance takes steps until the first k Ritz pairs are good enough or V is full. count returns the
// number of good pairs, and so does advance.
func (l *lanczos[T]) advance(k int, count func() (int, error)) (good int, err error) {
	next := max(firstCheck(k, l.b), l.p+l.b)
	for {
		l.fillTo(next)
		if good, err = count(); err != nil || good == k || l.full() {
			return good, err
		}
		l.work.expect(l.p, l.degree, k-good)
		next = l.p + max(l.b, int(checkShare*float64(l.p)))
	}
}

func (l *lanczos[T]) full() bool { return l.p+2*l.b > l.limit }

// solve iterates until the first k Ritz pairs are good enough by count, or maxRestarts is reached.
func (l *lanczos[T]) solve(k int, count func() (int, error), maxRestarts int) error {
	good, err := 0, error(nil)
	if l.p > 0 {
		good, err = count()
	}
	for err == nil && good < k && l.restarts < maxRestarts {
		if l.full() {
			if err := l.restart(l.keep(k, good)); err != nil {
				return err
			}
		}
		good, err = l.advance(k, count)
	}
	return err
}

// vectors returns the Ritz vectors of the columns of s with the given indices.
func (l *lanczos[T]) vectors(s dense.Matrix[float64], numbers []int) dense.Matrix[T] {
	turn := dense.New[T](l.p, len(numbers))
	for i := range l.p {
		for c, j := range numbers {
			turn.Data[i*turn.Stride+c] = T(s.Data[i*s.Stride+j])
		}
	}
	u := dense.New[T](l.n, len(numbers))
	dense.MulAdd(u, 1, dense.Columns(l.v, 0, l.p), turn)
	return u
}

// ritz returns the Ritz values, descending, and the eigenvectors of T. It costs as
// much as many steps, so the result is kept until V changes.
func (l *lanczos[T]) ritz() (theta []float64, s dense.Matrix[float64], err error) {
	if l.theta == nil {
		l.work.add(l.work.eigen(l.p))
		l.theta, l.s, err = Symmetric(dense.Block(l.t, 0, l.p, 0, l.p))
	}
	return l.theta, l.s, err
}

// step multiplies the pending block by K, orthogonalises the product against
// all of V, and makes the rest the next pending block.
func (l *lanczos[T]) step() {
	p, b := l.p, l.b
	l.theta = nil
	dense.Copy(l.x, dense.Columns(l.v, p, p+b))
	l.op.ApplyTo(l.kx.Data, l.x.Data, b)
	l.scale = max(l.scale, dense.MaxColumnNorm(l.kx))
	dense.Clear(dense.Block(l.t, 0, l.limit, p, p+b))
	// Twice: the rounding error of the first pass is relative to the removed part.
	for range 2 {
		l.project(p+b, dense.Block(l.t, 0, p+b, p, p+b))
	}
	l.symmetrise(p)
	dense.Copy(l.w, l.kx)
	dense.Copy(l.tail, l.orthonormalise(p+b))
	dense.Copy(dense.Columns(l.v, p+b, p+2*b), l.w)
	l.p = p + b
}

// project adds H = V[:, :p]ᵀ KX to h and subtracts V[:, :p] H from KX.
func (l *lanczos[T]) project(p int, h dense.Matrix[float64]) {
	v := dense.Columns(l.v, 0, p)
	coef := dense.New[T](p, l.b)
	dense.TransMul(coef, v, l.kx)
	dense.MulAdd(l.kx, -1, v, coef)
	dense.Add(h, coef)
}

// symmetrise mirrors the new block column p:p+b of T, whose diagonal block is
// symmetric only up to rounding.
func (l *lanczos[T]) symmetrise(p int) {
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

// residuals returns ‖B s‖ of the Ritz pairs whose eigenvectors of T are the columns of s.
func (l *lanczos[T]) residuals(s dense.Matrix[float64]) []float64 {
	res := dense.New[float64](l.b, s.Cols)
	dense.MulAdd(res, 1, l.tail, dense.Block(s, l.p-l.b, l.p, 0, s.Cols))
	return dense.ColumnNorms(res)
}

// keep returns the number of Ritz vectors that survive a restart: the wanted ones,
// and some more, which speed up the convergence at the edge. Room for several steps
// remains.
func (l *lanczos[T]) keep(k, good int) int {
	spare := l.limit - 2*l.b - k
	return min(k+max(0, spare)*2/5+good/8, l.limit-4*l.b)
}

// restart replaces V by the leading q Ritz vectors and the pending block.
func (l *lanczos[T]) restart(q int) error {
	theta, s, err := l.ritz()
	if err != nil {
		return err
	}
	dense.RotateColumns(l.v, l.p, dense.Columns(s, 0, q))
	pending := dense.Columns(l.v, q, q+l.b)
	dense.Copy(l.x, dense.Columns(l.v, l.p, l.p+l.b)) // the two may overlap
	dense.Copy(pending, l.x)
	dense.Clear(l.t)
	for j := range q {
		l.t.Data[j*l.t.Stride+j] = theta[j]
	}
	l.p, l.theta = q, nil
	l.restarts++
	return nil
}
