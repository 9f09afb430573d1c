package data

import (
	"fmt"
	"strconv"
	"time"

	"github.com/gsimc/gsimc/spectral"
)

// SolverRows describes a basis for a summary; wanted is the rank that was asked for.
func SolverRows(basis *spectral.Basis, wanted int) [][]string {
	r := basis.Report
	rank := strconv.Itoa(basis.K)
	if basis.K < wanted {
		rank += fmt.Sprintf(" (of %d wanted: the other eigenvalues are 0)", wanted)
	}
	return [][]string{
		{"rank", rank},
		{"solver", fmt.Sprintf("%s, %d vectors multiplied, %s", r.Solver, r.Passes,
			r.Elapsed.Round(time.Millisecond))},
		{"max residual", fmt.Sprintf("%.1e", r.Residual)},
		{"orthogonality", fmt.Sprintf("%.1e", r.Orthogonality)},
		{"eigenvalues of K", fmt.Sprintf("%.6g to %.6g", r.KappaMax, r.KappaMin)},
	}
}
