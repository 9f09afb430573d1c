package data

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/evaluate"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model/local"
	"github.com/gsimc/gsimc/spectral"
)

// Vars are the names and defaults that the tags of the learning commands refer to.
func Vars() kong.Vars {
	learned := train.Recommended()
	return kong.Vars{
		"graphs": strings.Join(spectral.GraphKinds, ", "),

		"paper_rank":     fmt.Sprint(train.PaperRank),
		"learned_s":      fmt.Sprint(learned.DegreeExponent),
		"learned_t":      fmt.Sprint(learned.DegreeRescale),
		"learned_window": fmt.Sprint(learned.Window),
		"learned_bands":  kalman.FormatBands(learned.Dynamics.Bands),
		"learned_ridge":  fmt.Sprint(learned.Dynamics.Ridge),

		"local_neighbours": fmt.Sprint(learned.Local.Neighbours),
		"local_most":       fmt.Sprint(local.MaxNeighbours),

		"rare_events":       fmt.Sprint(dataset.RareEvents),
		"ease_quick_items":  fmt.Sprint(evaluate.EASEQuickItems),
		"min_hidden_users":  fmt.Sprint(evaluate.MinHiddenUsers),
		"learned_positions": fmt.Sprint(learned.Dynamics.Positions),
		"filters":           strings.Join(spectral.FilterNames, ", "),
		"solvers": strings.Join([]string{spectral.SolverAuto, spectral.SolverExact,
			spectral.SolverNystrom}, ", "),
		"forms": strings.Join([]string{spectral.NystromOrthonormal,
			spectral.NystromPaper}, ", "),
	}
}
