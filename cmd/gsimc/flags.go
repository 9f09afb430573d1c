package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/gsimc/gsimc/train"

	"github.com/gsimc/gsimc/dataset"
	"github.com/gsimc/gsimc/internal/progress"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/spectral"
)

// dataFlags say where the events are and how to read them.
type dataFlags struct {
	Data []string `group:"Events:" sep:"none" placeholder:"FILE" help:"Events: CSV, TSV, JSON Lines or Parquet, plain, gzip or zstd; recognised by content. May be given several times."`
	storeFlags

	UserColumn   string `group:"Events:" default:"user_id" help:"Column of the user ids."`
	ItemColumn   string `group:"Events:" default:"item_id" help:"Column of the item ids."`
	TimeColumn   string `group:"Events:" default:"timestamp" help:"Column of the times: seconds since 1970 or RFC 3339. Without this column rows count in file order."`
	WeightColumn string `group:"Events:" placeholder:"NAME" help:"Column of the event weights, above 0. Default: every event weighs 1."`

	MinUserEvents int   `group:"Events:" default:"0" help:"Leave out users with fewer items, again and again until none is left. 0: keep all."`
	MinItemEvents int   `group:"Events:" default:"0" help:"Leave out items with fewer users, likewise."`
	MaxBadRows    int64 `group:"Events:" default:"0" help:"Bad rows to skip and count before giving up."`
}

func (f *dataFlags) options() dataset.Options {
	return dataset.Options{
		UserColumn: f.UserColumn, ItemColumn: f.ItemColumn, TimeColumn: f.TimeColumn, WeightColumn: f.WeightColumn,
		MinUserEvents: f.MinUserEvents, MinItemEvents: f.MinItemEvents, MaxBadRows: f.MaxBadRows,
	}
}

func (f *dataFlags) check() error {
	var err error
	switch {
	case len(f.Data) == 0 && f.FromStore == "":
		err = errors.New("missing flags: --data=FILE or --from-store=DIR")
	case len(f.Data) > 0 && f.FromStore != "":
		err = errors.New("--from-store: leave out --data, or this")
	case f.FromStore != "" && f.WeightColumn != "":
		err = errors.New("--weight-column: a store has none, see --event-weight")
	}
	return errors.Join(err, inDataFlags(f.options().Validate()), f.storeFlags.check())
}

// read reads the events with progress.
func (f *dataFlags) read(p progress.Progress) (*dataset.Interactions, *dataset.Report, error) {
	opt := f.options()
	if f.FromStore != "" {
		return f.readStore(p, opt)
	}
	opt.Progress = func(read, total, _ int64) { p.Update(read, total) }
	opt.Sorting = func() { p.Begin("sorting events", progress.Steps) }
	p.Begin("reading events", progress.Bytes)
	defer p.End()
	events, report, err := dataset.Read(f.Data, opt)
	if err != nil {
		return nil, nil, dataError(err)
	}
	return events, report, checkWeights(events)
}

// checkWeights refuses weights that a model does not take.
func checkWeights(events *dataset.Interactions) error {
	at := slices.IndexFunc(events.Weight, func(w float32) bool { return w > model.MaxWeight })
	if at < 0 {
		return nil
	}
	user := sort.Search(events.NumUsers(), func(u int) bool { return events.Ptr[u+1] > int64(at) })
	return fmt.Errorf("--weight-column: the weight of user %q and item %q is %v, want a number above 0 and at most %d: scale the weights down",
		events.Users[user], events.Items[events.Item[at]], events.Weight[at], model.MaxWeight)
}

// dataError names the flag if a file of --data cannot be opened. All other errors of the data name file and line themselves.
func dataError(err error) error {
	if errors.As(err, new(*fs.PathError)) {
		return fmt.Errorf("--data: %w", pathError(err))
	}
	return inDataFlags(err)
}

// readSplit reads the file of --split.
func readSplit(path string, events *dataset.Interactions) (dataset.Split, error) {
	split, err := dataset.ReadSplit(path, events)
	if err != nil {
		return nil, fmt.Errorf("--split: %w", pathError(err))
	}
	return split, nil
}

// partition deals the events out and uses them up; path is the file of --split, if there is one.
func partition(events *dataset.Interactions, split dataset.Split, path string) (*dataset.Partition, error) {
	part, err := events.PartitionInPlace(split)
	if err != nil && path != "" {
		return nil, fmt.Errorf("--split: %s: %w", path, err)
	}
	return part, err
}

// graphFlags choose the item graph and how its spectrum is computed.
type graphFlags struct {
	Graph          string   `group:"Item graph:" default:"hypergraph" enum:"${graphs}" help:"Item graph: ${graphs}."`
	DegreeExponent *float64 `group:"Item graph:" help:"Degree exponent s of the hypergraph, 0 to 2. Default: ${learned_s} with learned dynamics, 1 without, as in the paper."`
	Window         *int     `group:"Item graph:" help:"Cut every history into windows of so many events, each overlapping the next by half, and link the items of a window: 2 to 10000. 0: link all items of a user. Default: ${learned_window} with learned dynamics, 0 without, as in the paper."`

	Rank        *int    `group:"Spectrum:" help:"Eigenvectors to keep, k; at most the number of items. Default with learned dynamics: a quarter of the items, but 256 to 1024; without: ${paper_rank}; or all of a small catalogue."`
	Solver      string  `group:"Spectrum:" default:"auto" enum:"${solvers}" help:"Eigensolver: ${solvers}. auto is exact; nystrom samples items, for very large catalogues."`
	Tolerance   float64 `group:"Spectrum:" default:"1e-5" help:"Largest residual |K u - kappa u| / kappa_1 that is accepted of an exact solver."`
	Landmarks   int     `group:"Spectrum:" default:"0" help:"Items that nystrom samples. 0: the larger of 2000 and twice the rank."`
	NystromForm string  `group:"Spectrum:" default:"orthonormal" enum:"${forms}" help:"Form of nystrom: ${forms}."`
	Seed        uint64  `group:"Spectrum:" default:"1" help:"Seed of everything that is drawn: splits, samples, start vectors."`
}

func (f *graphFlags) check() error {
	return errors.Join(
		optional("--degree-exponent", f.DegreeExponent, 0, 2),
		windowInRange(given(f.Window, 0)),
		inRange("--rank", float64(given(f.Rank, 1)), 1, math.MaxFloat64),
		inRange("--landmarks", float64(f.Landmarks), 0, math.MaxFloat64),
		inRange("--tolerance", f.Tolerance, spectral.FinestTolerance, math.MaxFloat64),
		below("--tolerance", f.Tolerance, 1),
	)
}

// config is the training of a model with the given constants.
func (f *graphFlags) config(spec model.Spec) train.Config {
	return train.Config{
		Spec: spec, Rank: given(f.Rank, 0), Solver: f.Solver, Tolerance: f.Tolerance, Seed: f.Seed,
		Nystrom: spectral.NystromOptions{Form: f.NystromForm, Landmarks: f.Landmarks},
	}
}

// filterFlags are the constants of the graph filters.
type filterFlags struct {
	Phi   float64 `group:"Filter:" default:"10" help:"Weight of the data against the penalty, phi; above 0."`
	Gamma float64 `group:"Filter:" default:"1" help:"Slope of tikhonov and diffusion, gamma; 0 or more."`
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
		above("--phi", f.Phi, 0), inRange("--gamma", f.Gamma, 0, math.MaxFloat64), inRange("--a", f.A, 2, math.MaxFloat64),
		above("--power", f.Power, 0), optional("--degree-rescale", f.DegreeRescale, -2, 2),
	)
}

// kalmanFlags are the constants of the online state.
type kalmanFlags struct {
	Alpha    float64       `group:"Online state:" default:"1" help:"Forgetting per event, alpha: above 0, at most 1. 1: none."`
	HalfLife time.Duration `group:"Online state:" default:"0s" help:"Time after which an event counts half, such as 720h. 0s: no forgetting by time."`
	SigmaEta float64       `group:"Online state:" default:"1e-4" help:"Variance of the process noise, 1e-12 to 1e12."`
	SigmaNu  float64       `group:"Online state:" default:"1e-4" help:"Variance of the measurement noise, 1e-12 to 1e12."`
}

func (f *kalmanFlags) check() error {
	errs := []error{
		above("--alpha", f.Alpha, 0), inRange("--alpha", f.Alpha, 0, 1),
		inRange("--sigma-eta", f.SigmaEta, kalman.MinVariance, kalman.MaxVariance),
		inRange("--sigma-nu", f.SigmaNu, kalman.MinVariance, kalman.MaxVariance),
	}
	if f.HalfLife < 0 || (f.HalfLife > 0 && f.HalfLife < time.Second) {
		errs = append(errs, fmt.Errorf("--half-life: %s, want 0s or at least 1s", f.HalfLife))
	}
	return errors.Join(errs...)
}

// dynamicsFlags are the constants of learned dynamics.
type dynamicsFlags struct {
	Bands       string  `group:"Learned dynamics:" default:"${learned_bands}" help:"Memories of the past: how much of each an event leaves, 0 to 1, and after @ its half-life if it fades by time too, such as 0,0.87@720h."`
	Ridge       float64 `group:"Learned dynamics:" default:"${learned_ridge}" help:"Weight of the penalty of the regression, in units of the mean variance of its features; above 0."`
	Positions   int64   `group:"Learned dynamics:" default:"${learned_positions}" help:"Last positions of each training user that are learned from; 0: all."`
	NoDeviation bool    `group:"Learned dynamics:" help:"Track no deviation of each user from what is expected of all: no uncertainty either."`
}

func (f *dynamicsFlags) check() error {
	_, err := model.ParseBands(f.Bands)
	if err != nil {
		err = fmt.Errorf("--bands: %w", err)
	}
	return errors.Join(err, above("--ridge", f.Ridge, 0), inRange("--positions", float64(f.Positions), 0, math.MaxFloat64))
}

// spec is checked before.
func (f *dynamicsFlags) spec() model.DynamicsSpec {
	bands, err := model.ParseBands(f.Bands)
	if err != nil {
		panic(err)
	}
	return model.DynamicsSpec{
		Kind: model.DynamicsLearned, Bands: bands, Ridge: f.Ridge, Positions: f.Positions, Deviation: !f.NoDeviation,
	}
}

// modelFlags are the constants of a model besides its graph.
type modelFlags struct {
	filterFlags
	kalmanFlags
	Covariance string `group:"Online state:" default:"diagonal" enum:"diagonal,full" help:"Prior covariance P_0: diagonal, or full (the basis is then rotated once, and the file holds a second matrix)."`
	dynamicsFlags
}

func (f *modelFlags) check() error {
	return errors.Join(f.filterFlags.check(), f.kalmanFlags.check(), f.dynamicsFlags.check())
}

// spec is that of a model with dynamics of this kind and the named filter. TrainUsers and Provenance are left to the caller.
func (f *modelFlags) spec(g *graphFlags, dynamics, filter string) model.Spec {
	preset := train.Preset(dynamics)
	s := model.Spec{
		Graph:          g.Graph,
		DegreeExponent: given(g.DegreeExponent, preset.DegreeExponent),
		Window:         given(g.Window, preset.Window),
		DegreeRescale:  given(f.DegreeRescale, preset.DegreeRescale),
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
	}
	return s
}

// given is the value of an optional flag, or what stands in for it.
func given[T any](flag *T, otherwise T) T {
	if flag == nil {
		return otherwise
	}
	return *flag
}

func windowInRange(w int) error {
	if w == 0 || w >= 2 && w <= spectral.MaxWindow {
		return nil
	}
	return fmt.Errorf("--window: %d, want 2 to %d, or 0 for whole histories", w, spectral.MaxWindow)
}

func optional(flag string, x *float64, low, high float64) error {
	if x == nil {
		return nil
	}
	return inRange(flag, *x, low, high)
}

func inRange(flag string, x, low, high float64) error {
	switch {
	case x >= low && x <= high:
		return nil
	case high == math.MaxFloat64:
		return fmt.Errorf("%s: %v, want at least %v", flag, x, low)
	}
	return fmt.Errorf("%s: %v, want %v to %v", flag, x, low, high)
}

func above(flag string, x, low float64) error {
	if x > low && !math.IsInf(x, 0) {
		return nil
	}
	return fmt.Errorf("%s: %v, want a number above %v", flag, x, low)
}

func below(flag string, x, high float64) error {
	if x < high {
		return nil
	}
	return fmt.Errorf("%s: %v, want a number below %v", flag, x, high)
}

// byteSize is a number of bytes, written with a unit: 64MiB, 1GB, 4096.
type byteSize int64

var byteUnits = []struct {
	suffix string
	bytes  int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}, {"", 1},
}

// UnmarshalText reads a size; it must be a number of 0 or more with or without a unit.
func (b *byteSize) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	for _, unit := range byteUnits {
		digits, ok := strings.CutSuffix(s, unit.suffix)
		if !ok {
			continue
		}
		x, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		if err != nil || !(x >= 0) || x*float64(unit.bytes) > math.MaxInt64/2 {
			break
		}
		*b = byteSize(x * float64(unit.bytes))
		return nil
	}
	return fmt.Errorf("%q is not a size: want a number and B, KiB, MiB, GiB, kB, MB or GB, such as 256MiB", s)
}
