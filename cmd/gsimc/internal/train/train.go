package train

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/data"
	"github.com/gsimc/gsimc/learn/train"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/progress"
	"github.com/gsimc/gsimc/internal/file/atomicfile"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/spectral"
)

// maxEpoch is the end of the year 9999, the last that RFC 3339 can write, in seconds since 1970.
const maxEpoch = 253402300799

// Cmd is `gsimc train`.
type Cmd struct {
	data.Flags
	spectrumFlags
	Split string `group:"Events:" placeholder:"FILE" help:"CSV of user_id,role with role train, validation or test. Default: a tenth of the users, drawn by --seed, are for validation and the others for training."`

	data.GraphFlags
	Preset   string  `group:"Kind of model:" default:"recommended" enum:"recommended,paper" help:"recommended: learned dynamics with defaults that are good on all kinds of data. paper: GS-IMC and BGS-IMC with the constants of the paper."`
	Dynamics *string `group:"Kind of model:" enum:"learned,none" help:"learned, or none: the paper's filter. Default: learned, but none with --preset paper or if --filter is given."`
	Filter   *string `group:"Filter:" enum:"${filters}" help:"Graph filter H of a model without learned dynamics: ${filters}. Default: random-walk."`
	data.ModelFlags

	likeFlags
	planFlags

	Verbose bool `short:"v" help:"Also print the figures of the eigensolver."`

	Out string `writes:"model" placeholder:"FILE" help:"Model file to write; it is replaced in one step when the new one is complete. DIR/ is a file of its own in a folder, as for serve --model-dir. Needed unless --plan."`

	like *train.Pattern // of --like, once Run has read it
}

// Check checks the flags together.
func (c *Cmd) Check() error {
	var err error
	if c.Out == "" && !c.Plan {
		err = cli.About("missing flags: %s=FILE", "--out")
	}
	return errors.Join(c.Flags.Check(), c.GraphFlags.Check(), c.ModelFlags.Check(), err)
}

// Help is the manual under the flags.
func (Cmd) Help() string {
	return `A model is learned from the training users: which items go together (the leading ` +
		`eigenvectors of the item graph), and what follows a history (the dynamics). The ` +
		`validation users tell which rank, ridge and bands are best, unless --rank, --ridge, ` +
		`--bands or --quick fix them; how uncertain the model is; and how good: see "quality" in ` +
		`the output. ` +
		`Everything that serving needs is written to one file. An eigenvector with an error ` +
		`above ` +
		`--tolerance is refused.

The file holds the time of the training, and its version is a hash of its content. ` +
		`SOURCE_DATE_EPOCH (seconds since 1970) in the environment sets that time: the same ` +
		`events, flags and program then give the same file, byte for byte.

  gsimc train --data events.csv.gz --out model.gsimc --rank 256
  gsimc train --data events.csv.gz --out model.gsimc --config train.yaml
  gsimc train --from-store ./state --server 127.0.0.1:50052 --like model.gsimc --out new.gsimc
  gsimc train --data a.parquet --data b.parquet --out model.gsimc --filter tikhonov --alpha 0.9
  gsimc train --from-spectrum spectrum.safetensors --data sample.parquet --out model.gsimc`
}

// Run trains a model and prints what it did. With --json the reason of a failure is printed as
// well, for the process that started this one.
func (c *Cmd) Run(a *cli.App) error {
	err := c.run(a)
	if err == nil || !c.JSON {
		return err
	}
	failed := &train.Summary{Failure: err.Error()}
	if few := train.TooFew(err); few != nil {
		failed = &train.Summary{TooFew: few}
	}
	return errors.Join(err, a.PrintJSON(failed))
}

// job is a training from the events to the model file.
type job struct {
	begin    time.Time
	report   *dataset.Report
	part     *dataset.Partition
	cfg      train.Config
	result   *train.Result
	compared *train.Comparison // nil without --compare
	quality  *quality          // nil if there was nothing to measure it on
	measured int               // validation users for it

	interactions int64 // of the training users
}

func (c *Cmd) run(a *cli.App) error {
	if !c.Plan {
		path := c.Out
		if intoFolder(path) {
			path = filepath.Join(path, "model.gsimc")
		}
		if err := cli.Writable("--out", path); err != nil {
			return err
		}
	}
	defer limitTraining(a.Env, c.MemoryLimit)()
	j, p := &job{begin: time.Now()}, a.Progress()
	err := cli.UntilInterrupted(p, "nothing was written; the same command begins anew",
		func() error { return c.learn(a, p, j) })
	if err != nil || c.Plan {
		return err
	}
	if intoFolder(c.Out) {
		c.Out = filepath.Join(c.Out, fileName(j.result.Model))
	}
	p.Begin(train.StageWrite, progress.Bytes)
	err = writeModel(c.Out, j.result.Model)
	p.End()
	if err != nil {
		return err
	}
	if note := withheldNote(j.result.Model); note != "" {
		fmt.Fprintln(a.Stderr, note)
	}
	if c.JSON {
		return a.PrintJSON(train.NewSummary(j.part, j.result, j.compared))
	}
	c.printSummary(a, j)
	return nil
}

// learn reads the events and trains the model, or prints the plan.
func (c *Cmd) learn(a *cli.App, p progress.Progress, j *job) (err error) {
	trainedAt, err := reproducibleTime(a.Env, j.begin)
	if err != nil {
		return err
	}
	if c.FromSpectrum != "" {
		return c.learnFromSpectrum(a, p, j, trainedAt)
	}
	if c.Like != "" {
		if err := c.follow(); err != nil {
			return err
		}
	}
	events, report, err := c.ReadFor(c.Split, a, p)
	if err != nil {
		return err
	}
	held, old, err := c.holdOut(a, events)
	if err != nil {
		return err
	}
	if old != nil {
		defer func() { err = errors.Join(err, old.Close()) }()
	}
	j.report, j.cfg = report, c.config()
	j.cfg.Origin = &train.Origin{
		DataHash: report.Hash, LastEvent: train.LastEvent(events), TrainedAt: trainedAt,
		MinUserEvents: report.MinUserEvents, MinItemEvents: report.MinItemEvents,
	}
	c.describe(a, p, j)
	drawn := train.Split(events.NumUsers(), c.Seed)
	if j.part, err = data.Deal(events, c.Split, drawn); err != nil {
		return err
	}
	j.interactions = int64(len(j.part.Train.Item))
	c.chooseRank(a, p, &j.cfg, len(j.part.Items))
	if err := j.cfg.Check(len(j.part.Items)); err != nil {
		return err
	}
	if err := j.cfg.CheckHistories(j.part); err != nil {
		return err
	}
	todo := c.plan(j.part, &j.cfg)
	if c.Plan {
		todo.print(a, time.Since(j.begin))
	}
	if err := todo.check(); err != nil || c.Plan {
		return err
	}
	p.Plan(c.announced(todo.Plan, j, held))
	defer p.End()
	if j.result, err = train.Run(j.part, j.cfg); err != nil {
		return err
	}
	if held != nil {
		j.compared = held.Compare(j.result.Model, model.Estimator(c.Estimator), data.Stages(p))
	}
	c.measure(p, j)
	return nil
}

// describe lets the training tell its progress, and the model tell of the command.
func (c *Cmd) describe(a *cli.App, p progress.Progress, j *job) {
	j.cfg.Progress = data.Stages(p)
	j.cfg.Notes = func(basis *spectral.Basis) map[string]string {
		return map[string]string{"command": c.command(&j.cfg, basis.K), "gsimc_version": a.Version}
	}
}

// measure measures the quality of the result, for a summary that people read, by lists without what
// the catalogue of --from-store hides.
func (c *Cmd) measure(p progress.Progress, j *job) {
	if c.JSON {
		return
	}
	part := *j.part
	part.Hide(c.Hides)
	j.quality, j.measured = measureQuality(p, &part, j.result.Model), part.Validation.Len()
}

// chooseRank lowers the default rank of a large catalogue, unless a split asks for the figures of
// evaluate, and says so.
func (c *Cmd) chooseRank(a *cli.App, p progress.Progress, cfg *train.Config, items int) {
	if cfg.Rank > 0 || c.Split != "" {
		return
	}
	kind := cfg.Spec.Dynamics.Kind
	quick, usual := train.QuickRank(kind, items), train.DefaultRank(kind, items)
	if quick == usual {
		return
	}
	cfg.Rank = quick
	p.End()
	atMost := ""
	if cfg.ChooseRank {
		atMost = " at most"
	}
	fmt.Fprintf(a.Stderr,
		"rank %d%s for %s items, to train in seconds "+
			"(--rank %d takes longer and may rank better)\n", quick, atMost, cli.Grouped(items),
		usual)
}

// writeModel writes the model file in one step. A signal to end leaves no part of it behind.
func writeModel(path string, m io.WriterTo) error {
	ctx, stop := cli.InterruptContext()
	defer stop()
	out, err := atomicfile.Create(path)
	if err == nil {
		err = cli.Complete(ctx, out, func(w io.Writer) error {
			_, err := m.WriteTo(w)
			return err
		})
	}
	if errors.Is(err, cli.ErrInterrupted) {
		return cli.Interrupted("%s is not written", path)
	}
	if err != nil {
		return fmt.Errorf("write model file %s: %w", path, err)
	}
	return nil
}

// intoFolder reports whether --out names a folder for a file of its own.
func intoFolder(out string) bool { return strings.HasSuffix(out, "/") }

// fileName is the name of a model in a folder of models: when it was trained, and its version.
func fileName(m *model.Model) string {
	spec := m.Spec()
	at, _ := spec.TrainedAt()
	return at.UTC().Format("20060102T150405Z-") + m.Version() + ".gsimc"
}

// dynamics is the kind of the model.
func (c *Cmd) dynamics() string {
	switch {
	case c.Dynamics != nil:
		return *c.Dynamics
	case c.Filter != nil || c.Preset == "paper":
		return model.DynamicsNone
	}
	return model.DynamicsLearned
}

// reproducibleTime is the time of SOURCE_DATE_EPOCH, as
// https://reproducible-builds.org/specs/source-date-epoch defines it, or else now.
func reproducibleTime(env []string, now time.Time) (time.Time, error) {
	const name = "SOURCE_DATE_EPOCH"
	text, _ := cli.Variable(env, name)
	if text == "" {
		return now, nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds < 0 || seconds > maxEpoch {
		return now, cli.Usagef("%s: %q, want whole seconds since 1970, 0 to %d, or no such "+
			"variable", name, text, maxEpoch)
	}
	return time.Unix(seconds, 0), nil
}
