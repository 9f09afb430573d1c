package evaluate

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/data"
	"github.com/gsimc/gsimc/kalman"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/progress"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/evaluate"
	"github.com/gsimc/gsimc/learn/evaluate/breakdown"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/spectral"
)

// protocolLastItem is the default of `evaluate --protocol`.
const protocolLastItem = "last-item"

// Cmd is `gsimc evaluate`.
type Cmd struct {
	data.Flags
	Split string `group:"Events:" placeholder:"FILE" help:"CSV of user_id,role with role train, validation or test. Default: 8:1:1, drawn by --seed."`

	data.GraphFlags

	Methods   string  `group:"Methods:" placeholder:"LIST" help:"Comma-separated: popularity, dynamics, mrfcf, and gs-imc, bgs-imc and bgs-online with a filter (gs-imc tikhonov) or without one (all filters); or all of these. By name only: gs-imc-best (the filter chosen on the validation users), vsknn, markov, ease, ease-forgetting. Default: popularity,gs-imc-best,dynamics,vsknn,ease; without ease beyond ${ease_quick_items} items, and without vsknn where it takes minutes."`
	Protocol  string  `group:"Protocol:" default:"last-item" enum:"last-item,time,new-items" help:"last-item: rank the last item of each test user. time: train on the events before a point of time, and rank those after it, each after the events before it. new-items: train without some items, show a few users of each to the model, and rank the newest items of test users."`
	TestShare float64 `group:"Protocol:" default:"0.1" help:"time: share of the events, the newest, that are predicted at each of --time-cuts; above 0, below 1/(1 + cuts)."`
	TimeCuts  int     `group:"Protocol:" default:"3" help:"time: number of points of time, each followed by --test-share of the events."`
	TimeUsers int     `group:"Protocol:" default:"2000" help:"time: largest number of users to test; 0: all."`
	NewShare  float64 `group:"Protocol:" default:"0.2" help:"new-items: share of the items with ${min_hidden_users} training users or more that are left out; above 0, below 1."`
	ItemsFile string  `group:"Protocol:" placeholder:"FILE" help:"The file that gsimc items import reads. What it hides is on no list, and no target. new-items, time: new items have rows of items whose title, categories and labels are like theirs, or whose embeddings are."`
	Separator string  `group:"Protocol:" name:"items-separator" placeholder:"TEXT" help:"What stands between the categories, and between the labels, of an item of the file. Default: semicolons and vertical bars."`

	MrfcfA float64 `group:"Methods:" name:"mrfcf-a" default:"2" help:"Constant a of mrfcf; above 1."`
	data.ModelFlags

	Verbose bool `group:"Output:" short:"v" help:"Also print the graphs, the figures of the eigensolver, and how right the reported uncertainty of scores is; with --json and last-item, the rank of each target."`

	JSON bool   `group:"Output:" name:"json" help:"Print one JSON object."`
	SVG  string `group:"Output:" name:"svg" writes:"into" placeholder:"DIR" help:"Draw to SVG files in this folder, which is made if it is missing. last-item: accuracy by history length and by popularity, energy by frequency, and the reliability of variances. time: accuracy by the age of the model."`
}

// Help is the manual under the flags.
func (Cmd) Help() string {
	return `Ranks the last item of each test user among all items that are not in the user's ` +
		`history. HR@N is the share of the users with a rank of at most N. NDCG@N is the mean of ` +
		`1/log2(rank+1) over these users, with 0 for the others. ± is the standard error.

popularity ranks items by the number of their users. dynamics is the model that train learns by ` +
		`default; its graph and constants have defaults of their own (see train), and given ` +
		`flags ` +
		`count for all methods. gs-imc filters the whole history on the item graph. bgs-imc ` +
		`begins ` +
		`with all but the last item of the history and takes that item as one update. bgs-online ` +
		`takes one item after the other, as the server does; so does dynamics. mrfcf is a Markov ` +
		`random field of the items. vsknn is V-SKNN, which sums up the training users with the ` +
		`most similar recent events. markov is the local term of dynamics alone: items that ` +
		`follow recent ones closely in training histories. ` +
		`ease is EASE^R, a regression of each item on all others, and ` +
		`in ease-forgetting older events count less. These four choose their constants on the ` +
		`validation users. Those of ease need half a matrix of all pairs of items, up to 4 GiB. ` +
		`The filters are ` + strings.Join(spectral.FilterNames, ", ") + `.

--protocol time splits by time instead of by users. Of all users, up to 10 events after ` +
		`the point of time are targets, each with the events of its user before it as the ` +
		`history. Items that nobody has before the point of time are no targets, and users ` +
		`without a history are shown popular items. Constants are chosen likewise at an earlier ` +
		`point of time. ± counts the targets of a user as one. dynamics-trend is dynamics with ` +
		`scores that follow what users take at the time of the target. Where users come back to ` +
		`items, a second table has all next events, up to 20 of a user. With several --time-cuts ` +
		`all of this is done at each of them, with what is known by then, and the last tables ` +
		`join them: spread is the standard deviation between cuts. The frozen methods keep the ` +
		`model of the first cut, and --svg draws how it ages.

--protocol new-items trains the model that is served without some items. It is then ` +
		`extended by these items as the server does it, all at once, from the first 0, 1, 2, 5 ` +
		`and 10 users of each, and from their content with --items-file. Up to 8 newest items ` +
		`of each test user are targets, and the last column says what it costs or brings all of ` +
		`them. Popularity ranks by numbers of users.

  gsimc evaluate --data events.csv.gz --rank 200 --methods "popularity,gs-imc,dynamics,mrfcf"
  gsimc evaluate --data events.csv.gz --protocol time --test-share 0.1
  gsimc evaluate --data events.csv.gz --protocol new-items --new-share 0.2
  gsimc evaluate --data events.csv.gz --alpha 0.87 --methods "bgs-online power" --json`
}

// Check checks the flags together.
func (c *Cmd) Check() error {
	var err error
	if c.Methods != "" {
		if _, err = evaluate.ParseMethods(c.Methods); err != nil {
			err = cli.Flag("--methods", err)
		}
	}
	return errors.Join(c.Flags.Check(), c.GraphFlags.Check(), c.ModelFlags.Check(),
		cli.Above("--mrfcf-a", c.MrfcfA, 1), c.checkTime(), c.checkNewItems(),
		c.checkSVG(), err)
}

// Idle lists the flags that do nothing.
func (c *Cmd) Idle() []cli.Idle {
	return append(c.Flags.Idle(), []cli.Idle{
		cli.When(c.Protocol != protocolTime, "test-share, time-cuts, time-users",
			"without --protocol time"),
		cli.When(c.Protocol != protocolNewItems, "new-share", "without --protocol new-items"),
		cli.When(c.ItemsFile == "", "items-separator", "without --items-file"),
	}...)
}

// Run measures the methods and prints a table or a JSON object.
func (c *Cmd) Run(a *cli.App) error {
	p := a.Progress()
	return cli.UntilInterrupted(p, "nothing is kept; fewer --methods take less time", func() error {
		return c.run(a, p)
	})
}

func (c *Cmd) run(a *cli.App, p progress.Progress) error {
	if err := data.PrepareSVG(c.SVG); err != nil {
		return err
	}
	events, report, err := c.ReadFor(c.Split, a, p)
	if err != nil {
		return err
	}
	if c.Protocol == protocolTime {
		return c.byTime(a, p, events, report)
	}
	drawn := dataset.SeededSplit(events.NumUsers(), c.Seed)
	part, err := data.Deal(events, c.Split, drawn)
	if err != nil {
		return err
	}
	if c.Protocol == protocolNewItems {
		return c.newItems(a, p, part)
	}
	_, hidden, err := c.readItems(part.Items)
	if err != nil {
		return err
	}
	part.Hide(func(id string) bool { return hidden[id] })
	methods, err := c.methods(part)
	if err != nil {
		return err
	}
	opt := evaluate.Options{Methods: methods, MRFCFA: c.MrfcfA}
	if err := c.prepare(p, part, &opt); err != nil {
		return err
	}
	var learned *breakdown.Energy
	if c.SVG != "" {
		opt.Fitted = fittedEnergy(part, &opt, &learned)
	}
	results, elapsed, err := timed(p, opt, func(opt evaluate.Options) ([]evaluate.Result, error) {
		return evaluate.Run(part, opt)
	})
	if err != nil {
		return err
	}
	groups := newBreakdowns(part, results)
	if c.JSON {
		e := c.report(part, &opt, results, elapsed)
		e.ByLength, e.ByPopularity = groups.json(groups.byLength), groups.json(groups.byPopular)
		if c.Verbose {
			e.addRanks(events, part, results)
		}
		err = a.PrintJSON(e)
	} else {
		c.printTables(a.Stdout, part, &opt, results, elapsed)
	}
	if err != nil || c.SVG == "" {
		return err
	}
	groups.addEnergies(part, &opt, results, learned)
	return data.WriteSVG(c.notices(a), c.SVG, groups.drawings())
}

// methods are those of --methods, or the default ones.
func (c *Cmd) methods(part *dataset.Partition) ([]evaluate.Method, error) {
	if c.Methods == "" {
		return evaluate.DefaultMethods(part), nil
	}
	methods, err := evaluate.ParseMethods(c.Methods)
	return methods, cli.Usage(err)
}

// checkSVG checks --svg.
func (c *Cmd) checkSVG() error {
	switch {
	case c.SVG == "" || c.Protocol == protocolLastItem:
		return nil
	case c.Protocol == protocolTime && c.TimeCuts < 2:
		return cli.About("%s draws how a model ages from cut to cut: raise %s", data.SVGFlag,
			"--time-cuts")
	case c.Protocol == protocolTime:
		methods, err := evaluate.ParseMethods(c.Methods)
		if err != nil || evaluate.NeedsOf(methods).Learned {
			return nil // no list stands for one with dynamics, and Check tells of a bad one
		}
		return cli.About("%s draws how the model of dynamics ages: add it to %s", data.SVGFlag,
			"--methods")
	}
	return cli.About("%s draws the figures of %s "+protocolLastItem+" and "+protocolTime+
		": leave one out", data.SVGFlag, "--protocol")
}

// notices is where lines go that are not part of the figures: an object of --json stays alone.
func (c *Cmd) notices(a *cli.App) io.Writer {
	if c.JSON {
		return a.Stderr
	}
	return a.Stdout
}

// printTables prints the results of the protocol last-item.
func (c *Cmd) printTables(
	w io.Writer, part *dataset.Partition, opt *evaluate.Options, results []evaluate.Result,
	elapsed []time.Duration,
) {
	c.printHead(w, part, opt)
	printResults(w, results, elapsed)
	for i := range results {
		if calibration := results[i].Calibration; c.Verbose && calibration != nil &&
			!calibration.Withheld {
			printReliability(w, calibration.Reliability)
		}
	}
}

// config returns the configuration of one kind of model.
func (c *Cmd) config(
	p progress.Progress, part *dataset.Partition, dynamics string,
) train.Config {
	spec := c.ModelFlags.Spec(&c.GraphFlags, dynamics, spectral.RandomWalk)
	spec.TrainUsers = int64(part.Train.Len())
	cfg := c.ModelFlags.Config(&c.GraphFlags, spec)
	cfg.Progress = data.Stages(p)
	return cfg
}

// prepare computes the bases that the methods need: one for both kinds of models if they are of the
// same graph and rank.
func (c *Cmd) prepare(
	p progress.Progress, part *dataset.Partition, opt *evaluate.Options,
) error {
	paper := c.config(p, part, model.DynamicsNone)
	learned := c.config(p, part, model.DynamicsLearned)
	needs := evaluate.NeedsOf(opt.Methods)
	if needs.Paper {
		if err := paper.Check(len(part.Items)); err != nil {
			return err
		}
	}
	if needs.Learned {
		if err := learned.Check(len(part.Items)); err != nil {
			return err
		}
	}
	defer p.End()
	opt.Paper.Spec, opt.Learned.Spec = paper.Spec, learned.Spec
	var err error
	if needs.Paper {
		if opt.Paper.Basis, err = train.Solve(part, paper); err != nil {
			return err
		}
	}
	if needs.Learned && needs.Paper && sharesBasis(&paper, &learned, len(part.Items)) {
		opt.Learned.Basis = opt.Paper.Basis
	} else if needs.Learned {
		if opt.Learned.Basis, err = train.Solve(part, learned); err != nil {
			return err
		}
	}
	if needs.Learned {
		opt.Learned.Candidates = learned.Candidates(opt.Learned.Basis.K)
	}
	return nil
}

// sharesBasis tells whether two kinds of models are built on the same basis.
func sharesBasis(a, b *train.Config, items int) bool {
	x, y := a.SolverOptions(items), b.SolverOptions(items)
	return x.Graph == y.Graph && x.Rank == y.Rank
}

// timed runs the methods of opt with progress and notes the time of each.
func timed(
	p progress.Progress, opt evaluate.Options,
	run func(opt evaluate.Options) ([]evaluate.Result, error),
) ([]evaluate.Result, []time.Duration, error) {
	elapsed := make([]time.Duration, 0, len(opt.Methods))
	begin := time.Now()
	defer p.End()
	opt.Progress = data.Stages(p)
	opt.Done = func(*evaluate.Result) {
		elapsed = append(elapsed, time.Since(begin))
		begin = time.Now()
	}
	results, err := run(opt)
	return results, elapsed, err
}

// printHead prints the numbers of users and items; with --verbose the bases as well.
func (c *Cmd) printHead(w io.Writer, part *dataset.Partition, opt *evaluate.Options) {
	fmt.Fprintf(w, "%s training, %s validation and %s test users; %s items\n",
		cli.Grouped(part.Train.Len()), cli.Grouped(part.Validation.Len()),
		cli.Grouped(part.Test.Len()), cli.Grouped(len(part.Items)))
	c.printBases(w, opt)
}

// printBases prints the bases with --verbose, and an empty line.
func (c *Cmd) printBases(w io.Writer, opt *evaluate.Options) {
	for _, in := range []evaluate.Ingredients{opt.Paper, opt.Learned} {
		if in.Basis == nil || !c.Verbose {
			continue
		}
		s := &in.Spec
		fmt.Fprintf(w, "%s, degree exponent %v, ", s.Graph, s.DegreeExponent)
		if s.Window != 0 {
			fmt.Fprintf(w, "windows of %d events, ", s.Window)
		}
		fmt.Fprintf(w, "degree rescale %v", s.DegreeRescale)
		if d := &s.Dynamics; d.Kind == model.DynamicsLearned {
			fmt.Fprintf(w, ", bands %s, ridge %v", kalman.FormatBands(d.Bands), d.Ridge)
		}
		fmt.Fprintln(w)
		cli.PrintTable(w, data.SolverRows(in.Basis, in.Basis.K))
	}
	fmt.Fprintln(w)
}

// evaluation is the object that --json prints.
type evaluation struct {
	Users struct {
		Train      int `json:"train"`
		Validation int `json:"validation"`
		Test       int `json:"test"`
	} `json:"users"`
	Items          int       `json:"items"`
	Interactions   int       `json:"interactions_train"`
	Rank           int       `json:"rank"`
	Graph          string    `json:"graph"`
	DegreeExponent float64   `json:"degree_exponent"`
	Window         int       `json:"window"` // 0: whole histories
	DegreeRescale  float64   `json:"degree_rescale"`
	Solver         *solution `json:"solver,omitempty"`   // absent if no method needs a basis
	Dynamics       *learned  `json:"dynamics,omitempty"` // absent if no method has learned dynamics

	// Methods maps a method's name to its figures: hr@N, ndcg@N, their standard errors, the
	// constants chosen on the validation users, and the seconds that it took.
	Methods map[string]map[string]float64 `json:"methods"`

	// Variants maps a method's name to the variant chosen on the validation users, such as a
	// filter.
	Variants map[string]string `json:"variants,omitempty"`

	// With --verbose, Ranks maps a method's name to the rank of the target of each of TestUsers.
	TestUsers []string           `json:"test_users,omitempty"`
	Ranks     map[string][]int32 `json:"ranks,omitempty"`

	// Groups of test users by the length of the history, and by the training users of the target.
	ByLength     []groupFigures `json:"by_history_length,omitempty"`
	ByPopularity []groupFigures `json:"by_popularity,omitempty"`
}

func (e *evaluation) addRanks(
	events *dataset.Interactions, part *dataset.Partition, results []evaluate.Result,
) {
	for _, u := range part.Test.User {
		e.TestUsers = append(e.TestUsers, events.Users[u])
	}
	e.Ranks = map[string][]int32{}
	for i := range results {
		e.Ranks[results[i].Name] = results[i].Ranks
	}
}

// learned describes learned dynamics.
type learned struct {
	Rank           int       `json:"rank"`
	DegreeExponent float64   `json:"degree_exponent"`
	DegreeRescale  float64   `json:"degree_rescale"`
	Bands          string    `json:"bands"`
	Ridge          float64   `json:"ridge"`
	Positions      int64     `json:"positions"`
	Deviation      bool      `json:"deviation"`
	Solver         *solution `json:"solver"`

	Calibration *evaluate.Calibration `json:"calibration,omitempty"` // absent without deviation
}

func newLearned(in *evaluate.Ingredients) *learned {
	s, d := &in.Spec, &in.Spec.Dynamics
	return &learned{
		Rank: in.Basis.K, DegreeExponent: s.DegreeExponent, DegreeRescale: s.DegreeRescale,
		Bands: kalman.FormatBands(d.Bands), Ridge: d.Ridge, Positions: d.Positions,
		Deviation: d.Deviation,
		Solver:    newSolution(in.Basis),
	}
}

// chosen puts the constants in the place of those of in that were chosen on the validation users.
func (l *learned) chosen(in *evaluate.Ingredients, constants map[string]float64) {
	if rank, ok := constants[evaluate.ChosenRank]; ok {
		bands := in.Spec.Dynamics.Bands[:int(constants[evaluate.ChosenBands])]
		l.Rank, l.Ridge = int(rank), constants[evaluate.ChosenRidge]
		l.Bands = kalman.FormatBands(bands)
	}
}

// solution describes a basis.
type solution struct {
	Name          string    `json:"name"`
	Residual      float64   `json:"max_residual"`
	Orthogonality float64   `json:"orthogonality_error"`
	Passes        int       `json:"vectors_multiplied"`
	Seconds       float64   `json:"seconds"`
	Leading       []float64 `json:"leading_eigenvalues_of_K"` // the 20 largest
	Kth           float64   `json:"kth_eigenvalue_of_K"`
}

func newSolution(basis *spectral.Basis) *solution {
	return &solution{
		Name: basis.Report.Solver, Residual: basis.Report.Residual,
		Orthogonality: basis.Report.Orthogonality,
		Passes:        basis.Report.Passes, Seconds: basis.Report.Elapsed.Seconds(),
		Leading: basis.Kappa[:min(20, basis.K)], Kth: basis.Kappa[basis.K-1],
	}
}

// report has the constants of the paper's methods at the top.
func (c *Cmd) report(
	part *dataset.Partition, opt *evaluate.Options, results []evaluate.Result,
	elapsed []time.Duration,
) evaluation {
	paper := c.ModelFlags.Spec(&c.GraphFlags, model.DynamicsNone, spectral.RandomWalk)
	e := evaluation{
		Items: len(part.Items), Interactions: len(part.Train.Item), Graph: c.Graph,
		DegreeExponent: paper.DegreeExponent, Window: paper.Window,
		DegreeRescale: paper.DegreeRescale, Methods: map[string]map[string]float64{},
		Variants: map[string]string{},
	}
	e.Users.Train, e.Users.Validation, e.Users.Test = part.Train.Len(), part.Validation.Len(),
		part.Test.Len()
	if basis := opt.Paper.Basis; basis != nil {
		e.Rank, e.Solver = basis.K, newSolution(basis)
	}
	if opt.Learned.Basis != nil {
		e.Dynamics = newLearned(&opt.Learned)
	}
	for i := range results {
		figures := results[i].Figures()
		figures["seconds"] = elapsed[i].Seconds()
		e.Methods[results[i].Name] = figures
		if results[i].Variant != "" {
			e.Variants[results[i].Name] = results[i].Variant
		}
		if results[i].Name == evaluate.Dynamics {
			e.Dynamics.chosen(&opt.Learned, results[i].Chosen)
		}
		if results[i].Calibration != nil {
			e.Dynamics.Calibration = results[i].Calibration
		}
	}
	return e
}
