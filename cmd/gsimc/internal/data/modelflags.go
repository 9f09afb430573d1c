package data

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/local"
	"github.com/gsimc/gsimc/spectral"
)

// GraphFlags choose the item graph and how its spectrum is computed.
type GraphFlags struct {
	Graph          string   `group:"Item graph:" default:"hypergraph" enum:"${graphs}" help:"Item graph: ${graphs}."`
	DegreeExponent *float64 `group:"Item graph:" help:"Degree exponent s of the hypergraph, 0 to 2. Default: ${learned_s} with learned dynamics, 1 without, as in the paper."`
	Window         *int     `group:"Item graph:" help:"Length of the windows, in events, that every history is cut into: 2 to 10000. Windows overlap by half, and the items of a window are linked. 0: all items of a user are linked. Default: ${learned_window} with learned dynamics, 0 without, as in the paper."`

	Rank        *int    `group:"Spectrum:" help:"Eigenvectors to keep, k; at most the number of items. Default with learned dynamics: a quarter of the items, but 256 to 1024; without: ${paper_rank}; or all of a small catalogue. Learned dynamics then choose the largest rank that is not worse for the validation users, from 128 up to that."`
	Quick       bool    `group:"Spectrum:" help:"Keep the default rank, ridge and bands, instead of choosing them on the validation users."`
	Solver      string  `group:"Spectrum:" default:"auto" enum:"${solvers}" help:"Eigensolver: ${solvers}. auto is exact; nystrom samples items, for very large catalogues."`
	Tolerance   float64 `group:"Spectrum:" default:"1e-5" help:"Largest accepted error of an eigenvector (its residual over the largest eigenvalue), for exact solvers."`
	Landmarks   int     `group:"Spectrum:" default:"0" help:"Items that nystrom samples. 0: the larger of 2000 and twice the rank."`
	NystromForm string  `group:"Spectrum:" default:"orthonormal" enum:"${forms}" help:"Form of nystrom: ${forms}."`
	Seed        uint64  `group:"Spectrum:" default:"1" help:"Seed of everything that is drawn: splits, samples, start vectors."`
}

// Check checks the flags.
func (f *GraphFlags) Check() error {
	return errors.Join(
		cli.Optional("--degree-exponent", f.DegreeExponent, 0, 2),
		windowInRange(cli.Given(f.Window, 0)),
		cli.InRange("--rank", float64(cli.Given(f.Rank, 1)), 1, math.MaxFloat64),
		cli.InRange("--landmarks", float64(f.Landmarks), 0, math.MaxFloat64),
		cli.InRange("--tolerance", f.Tolerance, spectral.FinestTolerance, math.MaxFloat64),
		cli.Below("--tolerance", f.Tolerance, 1),
	)
}

// Config is the training of a model with the given constants. The rank, the ridge and the bands are
// chosen unless they are given.
func (f *ModelFlags) Config(g *GraphFlags, spec model.Spec) train.Config {
	cfg := g.config(spec)
	cfg.ChooseRank, cfg.ChooseRidge = g.Rank == nil && !g.Quick, f.Ridge == nil && !g.Quick
	cfg.ChooseBands = f.Bands == "" && !g.Quick
	return cfg
}

// config is the training of a model with the given constants, without a choice.
func (f *GraphFlags) config(spec model.Spec) train.Config {
	return train.Config{
		Spec: spec, Rank: cli.Given(f.Rank, 0), Solver: f.Solver, Tolerance: f.Tolerance,
		Seed: f.Seed, Nystrom: spectral.NystromOptions{Form: f.NystromForm, Landmarks: f.Landmarks},
		Clock: time.Now,
	}
}

// filterFlags are the constants of the graph filters.
type filterFlags struct {
	Phi   float64 `group:"Filter:" default:"10" help:"Weight of the data against the penalty; above 0."`
	Gamma float64 `group:"Filter:" default:"1" help:"Slope of tikhonov and diffusion; 0 or more."`
	A     float64 `group:"Filter:" name:"a" default:"4" help:"Constant a of random-walk; 2 or more."`
	Power float64 `group:"Filter:" default:"0.5" help:"Exponent of the power filter; above 0."`

	DegreeRescale *float64 `group:"Filter:" help:"Exponent t of the degree rescaling, -2 to 2. Default: ${learned_t} with learned dynamics, 0 without, as in the paper."`
}

// filter returns the named filter with these constants.
func (f *filterFlags) filter(name string) spectral.Filter {
	return spectral.Filter{Name: name, Phi: f.Phi, Gamma: f.Gamma, A: f.A, Power: f.Power}
}

func (f *filterFlags) check() error {
	return errors.Join(
		cli.Above("--phi", f.Phi, 0), cli.InRange("--gamma", f.Gamma, 0, math.MaxFloat64),
		cli.InRange("--a", f.A, 2, math.MaxFloat64),
		cli.Above("--power", f.Power, 0), cli.Optional("--degree-rescale", f.DegreeRescale, -2, 2),
	)
}

// kalmanFlags are the constants of the online state.
type kalmanFlags struct {
	Alpha    float64       `group:"Online state:" default:"1" help:"Share of its weight that an event keeps at each later event: above 0, at most 1. 1: no forgetting."`
	HalfLife time.Duration `group:"Online state:" default:"0s" help:"Time after which an event counts half, such as 720h. 0s: no forgetting by time."`
	SigmaEta float64       `group:"Online state:" default:"1e-4" help:"Variance of the process noise, 1e-12 to 1e12."`
	SigmaNu  float64       `group:"Online state:" default:"1e-4" help:"Variance of the measurement noise, 1e-12 to 1e12."`
}

func (f *kalmanFlags) check() error {
	errs := []error{
		cli.Above("--alpha", f.Alpha, 0), cli.InRange("--alpha", f.Alpha, 0, 1),
		cli.InRange("--sigma-eta", f.SigmaEta, kalman.MinVariance, kalman.MaxVariance),
		cli.InRange("--sigma-nu", f.SigmaNu, kalman.MinVariance, kalman.MaxVariance),
	}
	if f.HalfLife < 0 || (f.HalfLife > 0 && f.HalfLife < time.Second) {
		errs = append(errs, cli.Flagf("--half-life", "%s, want 0s or at least 1s", f.HalfLife))
	}
	return errors.Join(errs...)
}

// dynamicsFlags are the constants of learned dynamics.
type dynamicsFlags struct {
	Bands       string   `group:"Learned dynamics:" help:"Memories of the past, such as 0,0.87@720h: the share of each that an event leaves, 0 to 1, and after @ its half-life if it also fades by time. Default: ${learned_bands}, without the last one if it does not help the validation users; all with --quick."`
	Ridge       *float64 `group:"Learned dynamics:" help:"Penalty of the regression that learns the dynamics, in units of the mean variance of its features; above 0. A larger one fits the data less closely. Default: chosen on the validation users, from ${learned_ridge} on; ${learned_ridge} with --quick."`
	Positions   int64    `group:"Learned dynamics:" default:"${learned_positions}" help:"Last positions of each training user that are learned from; 0: all."`
	Neighbours  int      `group:"Learned dynamics:" name:"local-neighbours" default:"${local_neighbours}" help:"Items that the local term keeps next to each item, up to ${local_most}: items that a few users took one soon after the other. Its other constants are chosen on the validation users. 0: no local term."`
	NoDeviation bool     `group:"Learned dynamics:" help:"Do not track how each user deviates from the average. Scores then have no uncertainty."`
}

func (f *dynamicsFlags) check() error {
	_, err := f.bands()
	if err != nil {
		err = cli.Flag("--bands", err)
	}
	return errors.Join(err, cli.Above("--ridge", cli.Given(f.Ridge, 1), 0),
		cli.InRange("--local-neighbours", float64(f.Neighbours), 0, local.MaxNeighbours),
		cli.InRange("--positions", float64(f.Positions), 0, math.MaxFloat64))
}

func (f *dynamicsFlags) bands() ([]kalman.Band, error) {
	if f.Bands == "" {
		return train.Recommended().Dynamics.Bands, nil
	}
	return kalman.ParseBands(f.Bands)
}

// spec is checked before.
func (f *dynamicsFlags) spec() model.DynamicsSpec {
	bands, err := f.bands()
	if err != nil {
		panic(err)
	}
	return model.DynamicsSpec{
		Kind: model.DynamicsLearned, Bands: bands, Positions: f.Positions,
		Deviation: !f.NoDeviation,
		Ridge:     cli.Given(f.Ridge, train.Recommended().Dynamics.Ridge),
	}
}

// ModelFlags are the constants of a model besides its graph.
type ModelFlags struct {
	filterFlags
	kalmanFlags
	Covariance string `group:"Online state:" default:"diagonal" enum:"diagonal,full" help:"Covariance of the tastes of new users: diagonal, or full (the file then holds a second matrix)."`
	dynamicsFlags
}

// Check checks the flags.
func (f *ModelFlags) Check() error {
	return errors.Join(f.filterFlags.check(), f.kalmanFlags.check(), f.dynamicsFlags.check())
}

// Spec is that of a model with dynamics of this kind and the named filter. TrainUsers and
// Provenance are left to the caller.
func (f *ModelFlags) Spec(g *GraphFlags, dynamics, filter string) model.Spec {
	preset := train.Preset(dynamics)
	s := model.Spec{
		Graph:          g.Graph,
		DegreeExponent: cli.Given(g.DegreeExponent, preset.DegreeExponent),
		Window:         cli.Given(g.Window, preset.Window),
		DegreeRescale:  cli.Given(f.DegreeRescale, preset.DegreeRescale),
		Filter:         f.filter(filter),
		Alpha:          f.Alpha,
		HalfLife:       f.HalfLife.Seconds(),
		SigmaEta:       f.SigmaEta,
		SigmaNu:        f.SigmaNu,
		Covariance:     f.Covariance,
		Dynamics:       model.DynamicsSpec{Kind: model.DynamicsNone},
	}
	if dynamics == model.DynamicsLearned {
		s.Dynamics = f.dynamicsFlags.spec()
		if f.Neighbours > 0 {
			s.Local = preset.Local
			s.Local.Neighbours = f.Neighbours
		}
	}
	return s
}

func windowInRange(w int) error {
	if w == 0 || w >= 2 && w <= spectral.MaxWindow {
		return nil
	}
	want := fmt.Sprintf("2 to %d, or 0 for whole histories", spectral.MaxWindow)
	return fault.New("--window", w, want)
}
