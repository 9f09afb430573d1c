package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/data"
	"github.com/gsimc/gsimc/learn/train"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/progress"
	"github.com/gsimc/gsimc/internal/file/atomicfile"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/evaluate"
	"github.com/gsimc/gsimc/learn/tune"
	"github.com/gsimc/gsimc/model"
)

// stageTune is the stage of the search. Its share is that of the budget.
const stageTune = "tuning"

// shownTrials is how many of the best trials the table has.
const shownTrials = 12

// Cmd is `gsimc tune`.
type Cmd struct {
	data.Flags
	Split string `group:"Events:" placeholder:"FILE" help:"CSV of user_id,role with role train, validation or test. Default: 8:1:1, drawn by --seed."`

	Budget  time.Duration `group:"Search:" default:"10m" help:"Time within which trials begin. Finishing the last trial, comparing the result with and without the deviation of each user, and measuring three models on the test users come on top."`
	MaxRank int           `group:"Search:" default:"1024" help:"Largest number of eigenvectors to try."`
	Seed    uint64        `group:"Search:" default:"1" help:"Seed of the split and of the eigensolver."`
	Fresh   bool          `group:"Search:" help:"Do not go on from the trials of an earlier search."`

	Out string `required:"" placeholder:"FILE" help:"YAML file of flags to write, for the --config of train and serve. FILE.trials keeps every trial, so that a search can be taken up again."`
}

// Check checks the flags together.
func (c *Cmd) Check() error {
	errs := []error{
		c.Flags.Check(), cli.InRange("--max-rank", float64(c.MaxRank), 1, math.MaxFloat64),
	}
	if c.Budget < time.Second {
		errs = append(errs, cli.Flagf("--budget", "%s, want at least 1s", c.Budget))
	}
	return errors.Join(errs...)
}

// Help is the manual under the flags.
func (Cmd) Help() string {
	return `Tries item graphs, ranks, memories, penalties and filters on the validation users: ` +
		`the last events of each are ranked among all items that the user had not seen before. ` +
		`One constant after the other moves to its best neighbour, until no move helps or ` +
		`--budget is over. The test users are used once, at the end, to measure the result.

The same events, seed and program give the same search; the budget only decides where it ends. ` +
		`After an interrupt the same command goes on from there.

  gsimc tune --data events.csv.gz --out tuned.yaml --budget 5m
  gsimc train --data events.csv.gz --out model.gsimc --config tuned.yaml`
}

// Run searches, writes the file and measures the result.
func (c *Cmd) Run(a *cli.App) error {
	if err := cli.Writable("--out", c.Out); err != nil {
		return err
	}
	p := a.Progress()
	ctx, stop := cli.InterruptContext()
	defer stop()
	var split dataset.Split
	var part *dataset.Partition
	var report *dataset.Report
	err := cli.UntilInterrupted(p, "no trial was begun and "+c.Out+" is not written; "+
		"the same command begins anew", func() (err error) {
		part, split, report, err = c.readPart(a, p)
		return err
	})
	if err != nil {
		return err
	}
	key := tune.NewKey(report.Hash, split, len(part.Items), c.Seed, a.Version)
	result, took, err := c.search(ctx, a, p, part, key)
	if errors.Is(err, tune.ErrNoTrial) && ctx.Err() != nil {
		return cli.Interrupted("no trial was finished and %s is not written", c.Out)
	}
	if err != nil {
		return err
	}
	if err := c.write(result, part, report); err != nil {
		return err
	}
	if result.Interrupted {
		return cli.Interrupted(
			"the best of %d trials is in %s; the same command goes on from there",
			len(result.Trials), c.Out)
	}
	stop() // from here a signal ends the process: everything is written
	printTrials(a.Stdout, result, took)
	a.Printf("\nwritten to %s\n\nthe test users, looked at once:\n", c.Out)
	return c.printTest(a, p, part, result)
}

// readPart reads the events and deals them out.
func (c *Cmd) readPart(a *cli.App, p progress.Progress) (
	part *dataset.Partition, split dataset.Split, report *dataset.Report, err error,
) {
	events, report, err := c.ReadFor(c.Split, a, p)
	if err != nil {
		return nil, nil, nil, err
	}
	drawn := dataset.SeededSplit(events.NumUsers(), c.Seed)
	part, split, err = data.Deal(events, c.Split, drawn)
	return part, split, report, err
}

// search runs within the budget, with a line for every best so far.
func (c *Cmd) search(
	ctx context.Context, a *cli.App, p progress.Progress, part *dataset.Partition, key tune.Key,
) (*tune.Result, time.Duration, error) {
	log, known, err := tune.OpenLog(c.Out+".trials", key, c.Fresh)
	if err != nil {
		return nil, 0, err
	}
	begin := time.Now()
	p.Plan([]progress.Stage{{Name: stageTune, Seconds: c.Budget.Seconds()}})
	p.Begin(stageTune, progress.Steps)
	defer p.End()
	show := func() {
		p.Update(int64(min(time.Since(begin), c.Budget)/time.Millisecond), c.Budget.Milliseconds())
	}
	var best tune.Trial
	result, err := tune.Search(ctx, part, tune.Options{
		Start:   c.start(len(part.Items)),
		MaxRank: c.MaxRank,
		Seed:    c.Seed,
		Known:   known,
		Stop:    func() bool { return time.Since(begin) >= c.Budget },
		Stage:   func(string, int, int) { show() },
		Tried: func(t, now tune.Trial) {
			log.Add(t)
			show()
			if now.NDCG > best.NDCG {
				best = now
				fmt.Fprintf(a.Stderr, "%6s  NDCG@10 %.4f  HR@10 %.4f  %v\n",
					time.Since(begin).Round(time.Second), now.NDCG, now.HR, now.Candidate)
			}
		},
	})
	return result, time.Since(begin), errors.Join(err, log.Close())
}

// start returns the model that train learns by default.
func (c *Cmd) start(items int) tune.Candidate {
	s := train.Recommended()
	return tune.CandidateOf(&s, train.DefaultRank(s.Dynamics.Kind, items))
}

// write makes the YAML file.
func (c *Cmd) write(r *tune.Result, part *dataset.Partition, report *dataset.Report) error {
	f, err := atomicfile.Create(c.Out)
	if err != nil {
		return err
	}
	//nolint:errcheck // after Close there is nothing to abort, before it the error is known
	defer f.Abort()
	fmt.Fprintf(f, "# Found by gsimc tune on the data %.16s: %d training users, %d items.\n",
		report.Hash, part.Train.Len(), len(part.Items))
	fmt.Fprintf(f, "# On the validation users NDCG@10 %.4f (± %.4f), HR@10 %.4f.\n", r.Best.NDCG,
		r.Best.NDCGErr, r.Best.HR)
	for _, flag := range append(c.filterFlags(), tunedFlags(r)...) {
		fmt.Fprintf(f, "%s: %v\n", flag[0], flag[1])
	}
	return f.Close()
}

// filterFlags returns the flags that leave out the same rare users and items as the search did. Its
// constants are good for the others.
func (c *Cmd) filterFlags() [][2]any {
	return [][2]any{{"min-user-events", *c.MinUserEvents}, {"min-item-events", *c.MinItemEvents}}
}

// tunedFlags are the flags of train that make the best model.
func tunedFlags(r *tune.Result) [][2]any {
	c := r.Best.Candidate
	flags := [][2]any{
		{"dynamics", c.Dynamics},
		{"graph", c.Graph},
		{"window", c.Window},
		{"degree-exponent", c.DegreeExponent},
		{"degree-rescale", c.DegreeRescale},
		{"rank", c.Rank},
	}
	if c.Dynamics == model.DynamicsLearned {
		return append(flags, [2]any{"bands", strconv.Quote(c.Bands)}, [2]any{"ridge", c.Ridge},
			[2]any{"positions", c.Positions},
			[2]any{"no-deviation", !r.KeepDeviation()})
	}
	return append(flags, [2]any{"filter", c.Filter}, [2]any{"phi", c.Phi}, [2]any{"alpha", c.Alpha})
}

// printTrials prints the best trials, and what tracking deviations gives.
func printTrials(w io.Writer, r *tune.Result, took time.Duration) {
	how := "nothing near it is better"
	if !r.Complete {
		how = "the budget ended; the same command goes on from here"
	}
	fmt.Fprintf(w, "%d trials in %s: %s\n\n", len(r.Trials), took.Round(time.Second), how)
	best := slices.Clone(r.Trials)
	slices.SortStableFunc(best, func(a, b tune.Trial) int { return cmp.Compare(b.NDCG, a.NDCG) })
	rows := [][]string{{"NDCG@10", "±", "HR@10", "constants"}}
	for _, t := range best[:min(len(best), shownTrials)] {
		rows = append(rows, []string{
			fmt.Sprintf("%.4f", t.NDCG), fmt.Sprintf("%.4f", t.NDCGErr), fmt.Sprintf("%.4f", t.HR),
			t.Candidate.String(),
		})
	}
	cli.PrintTable(w, rows, 0, 1, 2)
	if r.With.NDCG > 0 {
		fmt.Fprintf(w, "\nwith the deviation of each user NDCG@10 is %.4f, without it %.4f\n",
			r.With.NDCG, r.Without.NDCG)
	}
}

// printTest measures the result on the test users, beside where it started and the paper's model.
func (c *Cmd) printTest(
	a *cli.App, p progress.Progress, part *dataset.Partition, r *tune.Result,
) error {
	runs, err := c.testRuns(part, r)
	if err != nil {
		return err
	}
	var plan []progress.Stage
	for _, run := range runs {
		plan = append(plan, run.plan(part)...)
	}
	p.Plan(plan)
	rows := [][]string{{"", "HR@10", "±", "NDCG@10", "±", "HR@50"}}
	var at10 []evaluate.Metric
	for _, run := range runs {
		m, err := run.measure(p, part)
		if err != nil {
			return err
		}
		at10 = append(at10, m[0])
		cells := []string{run.name}
		for _, x := range []float64{m[0].HR, m[0].HRErr, m[0].NDCG, m[0].NDCGErr, m[1].HR} {
			cells = append(cells, fmt.Sprintf("%.4f", x))
		}
		rows = append(rows, cells)
	}
	cli.PrintTable(a.Stdout, rows, 1, 2, 3, 4, 5)
	if note := unconfirmed(at10[1], at10[2]); note != "" {
		a.Printf("\n%s\n", note)
	}
	return nil
}

// unconfirmed says so if the test users prefer the defaults.
func unconfirmed(defaults, tuned evaluate.Metric) string {
	if tuned.NDCG >= defaults.NDCG {
		return ""
	}
	return fmt.Sprintf("note: these users do not confirm what was found: NDCG@10 is %.4f lower "+
		"than that of the defaults (± %.4f)", defaults.NDCG-tuned.NDCG, tuned.NDCGErr)
}

// testRuns returns the models that the test users compare: the paper's, the defaults, the result.
func (c *Cmd) testRuns(part *dataset.Partition, r *tune.Result) ([]testRun, error) {
	tuned := r.Best.Candidate
	spec := train.Paper()
	paper := tune.CandidateOf(&spec, tuned.Rank)
	paper.Graph = tuned.Graph
	var runs []testRun
	for _, row := range []struct {
		name      string
		candidate tune.Candidate
		deviation bool
		chooses   bool // rank and ridge by itself, below and beside those of the candidate
	}{
		{"GS-IMC, paper's constants", paper, false, false},
		{"defaults of train", c.start(len(part.Items)), true, true},
		{"tuned", tuned, r.KeepDeviation(), false},
	} {
		run, err := c.newTestRun(part, row.candidate, row.deviation)
		if err != nil {
			return nil, err
		}
		run.name, run.cfg.ChooseRank, run.cfg.ChooseRidge = row.name, row.chooses, row.chooses
		runs = append(runs, run)
	}
	return runs, nil
}

// testRun measures one candidate on the test users.
type testRun struct {
	name   string
	cfg    train.Config
	method evaluate.Method
}

func (c *Cmd) newTestRun(
	part *dataset.Partition, candidate tune.Candidate, deviation bool,
) (testRun, error) {
	base := model.DefaultSpec()
	base.Local = train.Recommended().Local
	base.TrainUsers, base.Dynamics.Deviation = int64(part.Train.Len()), deviation
	spec, err := candidate.Spec(base)
	if err != nil {
		return testRun{}, err
	}
	run := testRun{
		cfg:    train.Config{Spec: spec, Rank: candidate.Rank, Seed: c.Seed},
		method: evaluate.LearnedDynamics(),
	}
	if candidate.Dynamics == model.DynamicsNone {
		run.method = evaluate.Filtered(evaluate.GS, spec.Filter.Name)
	}
	return run, nil
}

// plan returns the stages of measure.
func (t *testRun) plan(part *dataset.Partition) []progress.Stage {
	return data.Evaluated(part, []evaluate.Method{t.method}, t.cfg, t.cfg)
}

// measure trains the model and returns its figures.
func (t *testRun) measure(p progress.Progress, part *dataset.Partition) ([]evaluate.Metric, error) {
	defer p.End()
	t.cfg.Progress = data.Stages(p)
	basis, err := train.Solve(part, t.cfg)
	if err != nil {
		return nil, err
	}
	in := evaluate.Ingredients{Basis: basis, Spec: t.cfg.Spec}
	in.Ranks, in.Ridges = t.cfg.Candidates(basis.K)
	results, err := evaluate.Run(part, evaluate.Options{
		Methods: []evaluate.Method{t.method}, Paper: in, Learned: in, Progress: data.Stages(p),
	})
	if err != nil {
		return nil, err
	}
	return results[0].Metrics, nil
}
