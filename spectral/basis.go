package spectral

import (
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/floats"

	"github.com/gsimc/gsimc/spectral/internal/dense"
	"github.com/gsimc/gsimc/spectral/internal/eigen"
)

// Basis is the truncated eigenbasis of an item graph.
type Basis struct {
	N, K int

	// U holds the eigenvectors, n×k row-major: column j belongs to Kappa[j]. The columns are
	// orthonormal, except for NystromPaper.
	U []float64

	// Kappa holds the k eigenvalues of K, descending and undivided. Lambda holds those of Ł,
	// ascending: 1−κ, or 1−κ/κ_1 for a degree exponent other than 1.
	Kappa, Lambda []float64

	Degrees []int64   // n: training users of each item, which is d_v unless the graph has windows
	Scale   []float64 // n: the diagonal of D_v^{-s/2}, or of D^{-1/2} for the covariance graph
	Report  Report
}

// Report describes the search for a basis and the quality of the result.
type Report struct {
	Solver        string        // dense, lanczos, components, nystrom-paper or nystrom-orthonormal
	Residual      float64       // max_j ‖K u_j − κ_j u_j‖₂ / κ_1, measured on the finished basis
	Orthogonality float64       // max |UᵀU − I|, measured on the finished basis
	KappaMax      float64       // κ_1
	KappaMin      float64       // κ_k
	Passes        int           // passes over R, counted in vectors multiplied by K
	Restarts      int           // thick restarts of the Lanczos solver
	Elapsed       time.Duration // filled in by the caller: this package has no clock
}

// String returns the report as one line.
func (r Report) String() string {
	return fmt.Sprintf("solver %s, max residual %.1e, orthogonality error %.1e, "+
		"eigenvalues %.6g to %.6g, %d vectors multiplied, %d restarts",
		r.Solver, r.Residual, r.Orthogonality, r.KappaMax, r.KappaMin, r.Passes, r.Restarts)
}

// newBasis returns the basis of the pairs; finish completes it.
func newBasis(p *eigen.Pairs, solver string) *Basis {
	return &Basis{N: p.U.Rows, K: p.U.Cols, U: p.U.Data, Kappa: p.Kappa, Report: Report{
		Solver: solver, Residual: p.Report.Residual, Passes: p.Report.Vectors,
		Restarts: p.Report.Restarts,
	}}
}

func (b *Basis) matrix() dense.Matrix[float64] {
	return dense.Matrix[float64]{Rows: b.N, Cols: b.K, Stride: b.K, Data: b.U}
}

// truncate keeps the first k columns.
func (b *Basis) truncate(k int) {
	if k == b.K {
		return
	}
	u := dense.New[float64](b.N, k)
	dense.Copy(u, dense.Columns(b.matrix(), 0, k))
	b.K, b.U, b.Kappa = k, u.Data, b.Kappa[:k]
}

// Prefix returns the basis of the first k eigenvectors, k at most b.K. The errors in its report are
// bounds: those of all eigenvectors of b. It shares memory with b.
func (b *Basis) Prefix(k int) *Basis {
	p := *b
	if k == b.K {
		return &p
	}
	p.truncate(k)
	p.Lambda, p.Report.KappaMin = b.Lambda[:k], b.Kappa[k-1]
	return &p
}

// fixSigns makes the entry of largest magnitude of each column positive. Of several entries that
// are equal up to rounding the first one counts.
func (b *Basis) fixSigns() {
	best := make([]float64, b.K)
	for i := range b.N {
		for j, x := range b.U[i*b.K : (i+1)*b.K] {
			if math.Abs(x) > math.Abs(best[j])*(1+1e-6) {
				best[j] = x
			}
		}
	}
	for i := range b.N {
		for j := range b.K {
			if best[j] < 0 {
				b.U[i*b.K+j] = -b.U[i*b.K+j]
			}
		}
	}
}

// residual is max_j ‖K u_j − κ_j u_j‖₂ / (κ_1 ‖u_j‖₂), by k products with K.
func (b *Basis) residual(op eigen.Operator[float64]) float64 {
	b.Report.Passes += b.K
	return eigen.Residual(op, b.matrix(), b.Kappa)
}

// orthogonality is max |UᵀU − I|.
func (b *Basis) orthogonality() float64 {
	gram := dense.Gram(b.matrix())
	for j := range b.K {
		gram.Data[j*b.K+j]--
	}
	return max(floats.Max(gram.Data), -floats.Min(gram.Data))
}

// numericalZero is the ratio to the first eigenvalue below which an eigenvalue counts as zero.
const numericalZero = 1e-9

// numericalRank returns the number of leading eigenvalues above numericalZero, at least 1.
func numericalRank(kappa []float64) int {
	k := len(kappa)
	for k > 1 && kappa[k-1] <= numericalZero*kappa[0] {
		k--
	}
	return k
}
