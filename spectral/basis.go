package spectral

import (
	"fmt"
	"time"
)

// Basis is the truncated eigenbasis of an item graph.
type Basis struct {
	N, K    int
	U       []float64 // n×k row-major; column j belongs to Kappa[j]; orthonormal but for Nyström's first form
	Kappa   []float64 // k eigenvalues of K, descending, before any division
	Lambda  []float64 // k eigenvalues of Ł, ascending: 1−κ, or 1−κ/κ_1 for a degree exponent other than 1
	Degrees []int64   // n: training users of each item, which is d_v unless the graph has windows
	Scale   []float64 // n: the diagonal of D_v^{-s/2}, or D^{-1/2} of the covariance graph, by which K is normalised
	Report  Report
}

// Report says how a basis was found and how good it is.
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

// String prints the report in one line.
func (r Report) String() string {
	return fmt.Sprintf("solver %s, max residual %.1e, orthogonality error %.1e, κ in [%.6g, %.6g], %d vectors multiplied, %d restarts",
		r.Solver, r.Residual, r.Orthogonality, r.KappaMin, r.KappaMax, r.Passes, r.Restarts)
}
