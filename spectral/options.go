package spectral

import (
	"errors"
	"fmt"
	"math"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/spectral/internal/eigen"
)

// Solver names of [Options].
const (
	SolverAuto    = "auto"    // SolverExact
	SolverExact   = "exact"   // dense for small n, block Lanczos otherwise
	SolverNystrom = "nystrom" // from sampled columns
)

// DefaultTolerance is the residual that the exact solvers reach by default. An eigenvalue's error
// is of the order of the square of its residual.
const DefaultTolerance = 1e-5

// FinestTolerance is the finest useful tolerance: rounding of float64 leaves residuals that are not
// far below.
const FinestTolerance = eigen.FinestTolerance

// Options of [Solve]. Every field but Rank and Graph has a usable zero value.
type Options struct {
	Graph  Graph
	Rank   int    // k, at least 1 and at most the number of items
	Solver string // "" means SolverAuto

	// Tolerance bounds max_j ‖K u_j − κ_j u_j‖₂ / κ_1 of the exact solvers, in (0, 1). 0 means
	// DefaultTolerance.
	Tolerance float64

	Nystrom NystromOptions
	Seed    uint64 // of the start block and of Nyström's samples

	// Progress, if set, is called by the exact solvers with a done that rises from 0 to at most
	// total. The share done/total is an estimate.
	Progress func(done, total int)

	meter *eigen.Meter // reports to Progress

	// forming and product are the times of forming K and of multiplying it with one vector, in
	// seconds as of package cost. The meter needs them.
	forming, product float64
}

// validate returns the first fault of the options and of r.
func (o *Options) validate(r *Incidence) error {
	if err := r.Validate(); err != nil {
		return err
	}
	if err := o.Graph.Validate(); err != nil {
		return err
	}
	if err := CheckRank(o.Rank, r.NumItems); err != nil {
		return err
	}
	if math.IsNaN(o.Tolerance) || o.Tolerance < 0 || o.Tolerance >= 1 {
		return fault.New("Tolerance", o.Tolerance, "a number above 0 and below 1")
	}
	switch o.Solver {
	case "", SolverAuto, SolverExact:
		return nil
	case SolverNystrom:
		return o.Nystrom.validate(o.Rank, r.NumItems)
	}
	return fault.New("Solver", o.Solver,
		fmt.Sprintf("%s, %s or %s", SolverAuto, SolverExact, SolverNystrom))
}

// CheckRank returns the fault of a rank that no graph with that number of items has.
func CheckRank(rank, items int) error {
	if rank < 1 {
		return fault.New("Rank", rank, "at least 1")
	}
	if rank > items {
		return &fault.Fault{
			Field: "Rank", Got: rank,
			Problem: fmt.Sprintf("is above the number of items %d", items),
			Want:    fmt.Sprintf("at most %d", items),
		}
	}
	return nil
}

// ErrNotConverged is the cause of Solve's fault if the residual of the basis misses the tolerance.
var ErrNotConverged = errors.New("the eigenbasis has not converged")

// notConverged is the fault of a basis that misses the tolerance.
func notConverged(residual, tolerance float64) error {
	return &fault.Fault{
		Field: "Tolerance",
		Err: fmt.Errorf(
			"%w, its largest residual %.2e is above %.2e; a graph in many pieces converges badly",
			ErrNotConverged, residual, tolerance),
		Advice: []fault.Change{
			{Verb: "set", Field: "MinUserEvents", To: "5"},
			{Verb: "set", Field: "MinItemEvents", To: "5"},
			{Verb: "raise", Field: "Tolerance"},
			{Verb: "lower", Field: "Rank"},
			{Verb: "set", Field: "Solver", To: SolverNystrom},
		},
	}
}
