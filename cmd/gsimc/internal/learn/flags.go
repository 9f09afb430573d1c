package learn

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/learn/train"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/progress"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/local"
	"github.com/gsimc/gsimc/spectral"
)

// dataFlags say where the events are and how to read them.
type dataFlags struct {
	Data []string `group:"Events:" sep:"none" placeholder:"FILE" help:"Events: CSV, TSV, JSON Lines or Parquet, plain, gzip, zstd or zip; recognised by content. - is standard input. May be given several times."`
	storeFlags

	cli.FormFlags `group:"Events:"`

	MinUserEvents *int  `group:"Events:" help:"Leave out users with fewer items, repeated until none is left; 0 keeps all. Default: 0; ${rare_events} for users and items if the catalogue is large, --split is not given, and most events stay."`
	MinItemEvents *int  `group:"Events:" help:"Leave out items with fewer users, likewise."`
	MaxBadRows    int64 `group:"Events:" default:"0" help:"Bad rows to skip and count before giving up."`

	leaveOutRare bool
}

// options are those of the files, or of a store if there is one. a is nil for a check.
func (f *dataFlags) options(a *cli.App) dataset.Options {
	opt := f.Options(a)
	opt.MinUserEvents, opt.MinItemEvents = cli.Given(f.MinUserEvents, 0),
		cli.Given(f.MinItemEvents, 0)
	opt.MaxBadRows, opt.LeaveOutRare = f.MaxBadRows, f.leaveOutRare
	if f.FromStore == "" {
		opt.EventWeights = f.EventWeight
	}
	return opt
}

func (f *dataFlags) check() error {
	if err := f.readTypes(); err != nil {
		return err
	}
	var err error
	switch {
	case len(f.Data) == 0 && f.FromStore == "":
		err = cli.About("missing flags: %s=FILE or %s=DIR", "--data", "--from-store")
	case len(f.Data) > 0 && f.FromStore != "":
		err = cli.Flagf("--from-store", "leave out --data, or this")
	case f.FromStore != "" && f.WeightColumn != "":
		err = cli.Flagf("--weight-column", "a store has none, see --event-weight")
	case f.FromStore != "" && f.TypeColumn != "":
		err = cli.Flagf("--type-column", "a store has none, see --event-weight")
	}
	if f.FromStore != "" {
		err = errors.Join(err, f.storeFlags.check())
	}
	return errors.Join(err, f.Check(f.options(nil)))
}

// read reads the events with progress, and notes on standard error what is odd about them.
func (f *dataFlags) read(
	a *cli.App, p progress.Progress,
) (*dataset.Interactions, *dataset.Report, error) {
	opt := f.options(a)
	if f.FromStore != "" {
		return f.readStore(a, p, opt)
	}
	opt.Progress = func(read, total, _ int64) { p.Update(read, total) }
	opt.Sorting = func() { p.Begin("sorting events", progress.Steps) }
	p.Begin("reading events", progress.Bytes)
	defer p.End()
	events, report, err := dataset.Read(f.Data, opt)
	if err != nil {
		return nil, nil, cli.DataError(err)
	}
	if err := checkWeights(events); err != nil {
		return nil, nil, err
	}
	cli.DataNotes(a.Stderr, report, "no fading by time is learned")
	if f.TypeColumn != "" && len(f.EventWeight) == 0 {
		fmt.Fprintln(a.Stderr, "note: events of all types count alike; --event-weight TYPE=W,... "+
			"tells them apart")
	}
	return events, report, nil
}

// readFor reads the events for learning. Without a split and without filters of rare users and
// items, dataset.Options.LeaveOutRare decides about these; a line tells so. Afterwards the filters
// of f are the filters that were applied.
func (f *dataFlags) readFor(
	split string, a *cli.App, p progress.Progress,
) (*dataset.Interactions, *dataset.Report, error) {
	f.leaveOutRare = split == "" && f.MinUserEvents == nil && f.MinItemEvents == nil
	events, report, err := f.read(a, p)
	if err != nil {
		return nil, nil, err
	}
	f.MinUserEvents, f.MinItemEvents = &report.MinUserEvents, &report.MinItemEvents
	if f.leaveOutRare && report.MinItemEvents > 0 {
		p.End()
		fmt.Fprintf(a.Stderr,
			"left out %s of %s items with fewer than %d users (--min-item-events 0 keeps them)\n",
			grouped(report.FilteredItems), grouped(events.NumItems()+report.FilteredItems),
			report.MinItemEvents)
	}
	return events, report, nil
}

// grouped writes a number with commas between thousands.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// checkWeights refuses weights that a model does not take.
func checkWeights(events *dataset.Interactions) error {
	at := slices.IndexFunc(events.Weight, func(w float32) bool { return w > event.MaxWeight })
	if at < 0 {
		return nil
	}
	user := sort.Search(events.NumUsers(), func(u int) bool { return events.Ptr[u+1] > int64(at) })
	return cli.Flagf("--weight-column",
		"the weight of user %q and item %q is %v, want a number above 0 and at most %d: "+
			"scale the weights down",
		events.Users[user], events.Items[events.Item[at]], events.Weight[at], event.MaxWeight)
}

// readSplit reads the file of --split.
func readSplit(path string, events *dataset.Interactions) (dataset.Split, error) {
	split, err := dataset.ReadSplit(path, events)
	if err != nil {
		return nil, cli.Flag("--split", cli.PathError(err))
	}
	return split, nil
}

// partition deals the events out and uses them up; path is the file of --split, if there is one.
func partition(
	events *dataset.Interactions, split dataset.Split, path string,
) (*dataset.Partition, error) {
	part, err := events.PartitionInPlace(split)
	if err != nil && path != "" {
		return nil, cli.Flag("--split", fault.In(path, err))
	}
	return part, err
}

// graphFlags choose the item graph and how its spectrum is computed.
type graphFlags struct {
	Graph          string   `group:"Item graph:" default:"hypergraph" enum:"${graphs}" help:"Item graph: ${graphs}."`
	DegreeExponent *float64 `group:"Item graph:" help:"Degree exponent s of the hypergraph, 0 to 2. Default: ${learned_s} with learned dynamics, 1 without, as in the paper."`
	Window         *int     `group:"Item graph:" help:"Length of the windows, in events, that every history is cut into: 2 to 10000. Windows overlap by half, and the items of a window are linked. 0: all items of a user are linked. Default: ${learned_window} with learned dynamics, 0 without, as in the paper."`

	Rank        *int    `group:"Spectrum:" help:"Eigenvectors to keep, k; at most the number of items. Default with learned dynamics: a quarter of the items, but 256 to 1024; without: ${paper_rank}; or all of a small catalogue. Learned dynamics then choose the largest rank that is not worse for the validation users, from 128 up to that."`
	Quick       bool    `group:"Spectrum:" help:"Keep the default rank and ridge, instead of choosing them on the validation users."`
	Solver      string  `group:"Spectrum:" default:"auto" enum:"${solvers}" help:"Eigensolver: ${solvers}. auto is exact; nystrom samples items, for very large catalogues."`
	Tolerance   float64 `group:"Spectrum:" default:"1e-5" help:"Largest accepted error of an eigenvector (its residual over the largest eigenvalue), for exact solvers."`
	Landmarks   int     `group:"Spectrum:" default:"0" help:"Items that nystrom samples. 0: the larger of 2000 and twice the rank."`
	NystromForm string  `group:"Spectrum:" default:"orthonormal" enum:"${forms}" help:"Form of nystrom: ${forms}."`
	Seed        uint64  `group:"Spectrum:" default:"1" help:"Seed of everything that is drawn: splits, samples, start vectors."`
}

func (f *graphFlags) check() error {
	return errors.Join(
		cli.Optional("--degree-exponent", f.DegreeExponent, 0, 2),
		windowInRange(cli.Given(f.Window, 0)),
		cli.InRange("--rank", float64(cli.Given(f.Rank, 1)), 1, math.MaxFloat64),
		cli.InRange("--landmarks", float64(f.Landmarks), 0, math.MaxFloat64),
		cli.InRange("--tolerance", f.Tolerance, spectral.FinestTolerance, math.MaxFloat64),
		cli.Below("--tolerance", f.Tolerance, 1),
	)
}

// config is the training of a model with the given constants. The rank and the ridge are chosen
// unless they are given.
func (f *modelFlags) config(g *graphFlags, spec model.Spec) train.Config {
	cfg := g.config(spec)
	cfg.ChooseRank, cfg.ChooseRidge = g.Rank == nil && !g.Quick, f.Ridge == nil && !g.Quick
	return cfg
}

// config is the training of a model with the given constants, without a choice.
func (f *graphFlags) config(spec model.Spec) train.Config {
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
	Bands       string   `group:"Learned dynamics:" default:"${learned_bands}" help:"Memories of the past, such as 0,0.87@720h: the share of each that an event leaves, 0 to 1, and after @ its half-life if it also fades by time."`
	Ridge       *float64 `group:"Learned dynamics:" help:"Penalty of the regression that learns the dynamics, in units of the mean variance of its features; above 0. A larger one fits the data less closely. Default: chosen on the validation users, from ${learned_ridge} on; ${learned_ridge} with --quick."`
	Positions   int64    `group:"Learned dynamics:" default:"${learned_positions}" help:"Last positions of each training user that are learned from; 0: all."`
	Neighbours  int      `group:"Learned dynamics:" name:"local-neighbours" default:"${local_neighbours}" help:"Items that the local term keeps next to each item, up to ${local_most}: items that a few users took one soon after the other. Its other constants are chosen on the validation users. 0: no local term."`
	NoDeviation bool     `group:"Learned dynamics:" help:"Do not track how each user deviates from the average. Scores then have no uncertainty."`
}

func (f *dynamicsFlags) check() error {
	_, err := model.ParseBands(f.Bands)
	if err != nil {
		err = cli.Flag("--bands", err)
	}
	return errors.Join(err, cli.Above("--ridge", cli.Given(f.Ridge, 1), 0),
		cli.InRange("--local-neighbours", float64(f.Neighbours), 0, local.MaxNeighbours),
		cli.InRange("--positions", float64(f.Positions), 0, math.MaxFloat64))
}

// spec is checked before.
func (f *dynamicsFlags) spec() model.DynamicsSpec {
	bands, err := model.ParseBands(f.Bands)
	if err != nil {
		panic(err)
	}
	return model.DynamicsSpec{
		Kind: model.DynamicsLearned, Bands: bands, Positions: f.Positions,
		Deviation: !f.NoDeviation,
		Ridge:     cli.Given(f.Ridge, train.Recommended().Dynamics.Ridge),
	}
}

// modelFlags are the constants of a model besides its graph.
type modelFlags struct {
	filterFlags
	kalmanFlags
	Covariance string `group:"Online state:" default:"diagonal" enum:"diagonal,full" help:"Covariance of the tastes of new users: diagonal, or full (the file then holds a second matrix)."`
	dynamicsFlags
}

func (f *modelFlags) check() error {
	return errors.Join(f.filterFlags.check(), f.kalmanFlags.check(), f.dynamicsFlags.check())
}

// spec is that of a model with dynamics of this kind and the named filter. TrainUsers and
// Provenance are left to the caller.
func (f *modelFlags) spec(g *graphFlags, dynamics, filter string) model.Spec {
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
