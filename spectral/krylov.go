package spectral

import (
	"gonum.org/v1/gonum/blas/blas64"
)

// Block sizes of the Lanczos solver. Small blocks need fewer products with K,
// large ones run faster.
const (
	smallBlock = 16 // for ranks below 64
	largeBlock = 32
	probeSteps = 12 // block steps of the probe, which sees the density of the spectrum
)

func blockSize(k int) int {
	if k < 64 {
		return smallBlock
	}
	return largeBlock
}

// columnLimit is the number of Lanczos vectors kept for rank k.
func columnLimit(k int) int { return k + k/2 + 10*blockSize(k) }

// lanczosFits tells whether the Krylov space is well below the whole space; if
// not, the dense solver is at least as fast and always exact.
func lanczosFits(n, k int) bool { return 3*columnLimit(k) <= 2*n }

// largestKrylovRank is the largest rank that lanczosFits for n items.
func largestKrylovRank(n int) int {
	k := n
	for k > 1 && !lanczosFits(n, k) {
		k--
	}
	return k
}

// solveKrylov finds the k leading eigenpairs of K by block Lanczos on a
// Chebyshev filter of K, which a short probe of the spectrum determines.
func solveKrylov(op operator, opt Options) (*Basis, error) {
	k := opt.Rank
	counted := &countingOp{operator: op}
	l, err := startKrylov(counted, opt)
	if err != nil {
		return nil, err
	}
	out := &Basis{N: l.n, K: k}
	for tol := opt.Tolerance / 2; ; tol /= 10 {
		u, err := l.solve(k, tol, maxRestarts)
		if err != nil {
			return nil, err
		}
		if out.Kappa, err = rayleighRitz(counted, u); err != nil {
			return nil, err
		}
		out.U = u.Data
		// The stopping rule is stated for p(K); what counts is K.
		if out.residual(counted) <= opt.Tolerance || tol < 1e-12 || l.restarts >= maxRestarts {
			break
		}
	}
	out.Report = Report{Solver: "lanczos", Passes: counted.vectors, Restarts: l.restarts}
	return out, nil
}

// Margins of the filter above k, which keep the k-th pair off its foot. The
// first is what the probe's estimate is usually good for.
const (
	firstMargin  = 1.15
	marginGrowth = 1.25
	maxMargin    = 4
)

// startKrylov returns the iteration with its space filled for the first time.
// The probe only estimates how many eigenvalues a filter lifts; what fills the
// space tells. Where they are fewer than k the rest would never converge, since
// the filter makes all eigenvalues below its foot alike, and a filter with a
// lower foot is taken.
func startKrylov(op operator, opt Options) (*lanczos, error) {
	k, b := opt.Rank, blockSize(opt.Rank)
	for margin := firstMargin; ; margin *= marginGrowth {
		inner, err := filtered(op, margin*float64(k)+float64(b)/2, b, opt.Seed)
		if err != nil {
			return nil, err
		}
		l := newLanczos(inner, b, columnLimit(k), opt.Seed+1)
		l.progress = opt.Progress
		l.fill()
		c, isFilter := inner.(*chebyshevOp)
		if !isFilter || margin > maxMargin {
			return l, nil
		}
		theta, _, err := l.ritz()
		if err != nil {
			return nil, err
		}
		if theta[k-1] > liftedAbove*c.norm {
			return l, nil
		}
	}
}

// liftedAbove is how far above the ripple of a filter an eigenvalue counts as
// lifted: the ripple itself has the value 1.
const liftedAbove = 1.5

// filtered probes the spectrum of op and returns the Chebyshev filter that
// lifts about the leading count eigenvalues, or op itself if none would help.
func filtered(op operator, count float64, b int, seed uint64) (operator, error) {
	probe := newLanczos(op, b, (probeSteps+1)*b, seed)
	probe.fill()
	lo, cut, top, err := probeSpectrum(probe, probe.start, count)
	if err != nil {
		return nil, err
	}
	if cut < 1e-6*top { // fewer eigenvalues are not zero
		return op, nil
	}
	if c := newChebyshev(op, lo, cut, top); c != nil {
		return c, nil
	}
	return op, nil
}

// rayleighRitz replaces u by the eigenvectors of K within its span and returns
// their eigenvalues, descending.
func rayleighRitz(op operator, u blas64.General) ([]float64, error) {
	if err := orthonormalColumns(u); err != nil {
		return nil, err
	}
	ku, gram := newGeneral(u.Rows, u.Cols), newGeneral(u.Cols, u.Cols)
	multiplyTo(ku, op, u)
	transMul(gram, u, ku)
	kappa, s, err := symmetricEigen(gram)
	if err != nil {
		return nil, err
	}
	rotateColumns(u, u.Cols, s)
	return kappa, nil
}

// countingOp counts the vectors that are multiplied.
type countingOp struct {
	operator
	vectors int
}

func (c *countingOp) applyTo(dst, x []float64, b int) {
	c.vectors += b
	c.operator.applyTo(dst, x, b)
}
