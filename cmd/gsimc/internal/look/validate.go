package look

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/data"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/progress"
	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model"
)

// SurveyFlags say which files to look into, and what is allowed.
type SurveyFlags struct {
	Files []string `arg:"" help:"Files of events, as for gsimc train; - is standard input."`

	cli.FormFlags `group:"Events:"`

	EventWeight map[string]float64 `group:"Events:" mapsep:"," placeholder:"TYPE=W" help:"Weights of the event types of --type-column, as for gsimc train. Default: 1 for each type."`
	MaxBadRows  int64              `group:"Events:" default:"0" help:"Bad rows that are allowed; more make the exit code 1."`
}

// Validate is `gsimc validate`.
type Validate struct {
	SurveyFlags

	JSON bool `name:"json" help:"Print JSON."`
}

// Help is the manual under the flags.
func (Validate) Help() string {
	return `Reads files of events and says what is in them: rows, users, items, times, types of ` +
		`events, the first bad rows with line and column, and what a training would take of ` +
		`them, in about which time and memory. Nothing is written.

  gsimc validate events.csv.gz
  gsimc validate --type-column event_type events.jsonl

Exit code 1 means more bad rows than --max-bad-rows, or nothing to learn from.`
}

// Check checks the flags together.
func (c *SurveyFlags) Check() error { return c.FormFlags.Check(c.options(nil)) }

func (c *SurveyFlags) options(a *cli.App) dataset.Options {
	opt := c.Options(a)
	opt.MaxBadRows, opt.LeaveOutRare, opt.EventWeights = c.MaxBadRows, true, c.EventWeight
	return opt
}

// Run prints a report of the files.
func (c *Validate) Run(a *cli.App) error {
	r, err := c.Survey(a)
	if r == nil {
		return err
	}
	if c.JSON {
		return errors.Join(err, a.PrintJSON(r))
	}
	r.Print(a)
	return err
}

// Survey reads the files. The report is nil if they cannot be read; it stands beside the error of
// files that cannot be read to their end, that have more bad rows than are allowed, or nothing to
// learn from.
func (c *SurveyFlags) Survey(a *cli.App) (*Report, error) {
	p := a.Progress()
	opt := c.options(a)
	opt.Progress = func(read, total, _ int64) { p.Update(read, total) }
	opt.Sorting = func() { p.Begin("sorting events", progress.Steps) }
	var (
		survey *dataset.Survey
		events *dataset.Interactions
	)
	err := cli.UntilInterrupted(p, "nothing was written", func() (err error) {
		p.Begin("reading events", progress.Bytes)
		defer p.End()
		survey, events, err = dataset.Inspect(c.Files, opt, time.Now())
		return err
	})
	err = cli.DataError(err)
	if survey == nil || errors.Is(err, cli.ErrInterrupted) {
		return nil, err
	}
	r := newReport(survey)
	if err == nil {
		if err = data.CheckWeights(events); err == nil {
			r.Training, err = newTrainingReport(events)
		}
	}
	if survey.BadRows > c.MaxBadRows {
		err = errors.Join(err, &fault.Fault{
			Field: "MaxBadRows", Got: c.MaxBadRows,
			Problem: fmt.Sprintf("is below the number of bad rows, %d", survey.BadRows),
		})
	}
	return r, err
}

// Print writes the report as a table, then the bad rows, and on standard error what is odd.
func (r *Report) Print(a *cli.App) {
	cli.PrintTable(a.Stdout, r.rows())
	cli.DataNotes(a.Stderr, r.report, "no fading by time is learned")
	for _, bad := range r.Bad {
		a.Printf("bad: %s\n", bad)
	}
}

// Report is a survey as it is printed.
type Report struct {
	Files        []dataset.FileReport `json:"files"`
	Rows         int64                `json:"rows"`
	BadRows      int64                `json:"bad_rows"`
	BadColumns   []dataset.Count      `json:"bad_columns"`
	Bad          []string             `json:"bad"`
	LongIDs      int64                `json:"long_ids"`
	OddIDs       int64                `json:"odd_ids"`
	SpacedIDs    int64                `json:"spaced_ids"`
	Unliked      int64                `json:"unliked"`
	Users        int                  `json:"users"`
	Items        int                  `json:"items"`
	Interactions int                  `json:"interactions"`
	Repeated     int64                `json:"repeated"`
	Density      float64              `json:"density"` // share of all pairs of a user and an item
	OneItemUsers int                  `json:"one_item_users"`
	OneUserItems int                  `json:"one_user_items"`
	RareUsers    int                  `json:"rare_users"` // left out
	RareItems    int                  `json:"rare_items"` // likewise
	Ordinals     bool                 `json:"ordinals"`   // the times are positions
	Oldest       time.Time            `json:"oldest,omitzero"`
	Newest       time.Time            `json:"newest,omitzero"`
	Disorder     int64                `json:"disorder"`
	Early        int64                `json:"early"` // before 1970
	Late         int64                `json:"late"`  // too far ahead for a server
	Types        []dataset.Count      `json:"types,omitempty"`
	Training     *trainingReport      `json:"training,omitempty"` // nil: nothing is left

	Busiest dataset.Count `json:"busiest"` // the user with the most items
	Popular dataset.Count `json:"popular"` // the item with the most users

	report *dataset.Report
	timed  bool
}

// trainingReport says what a training with the defaults would take on this machine.
type trainingReport struct {
	Users        int     `json:"users"`
	Validation   int     `json:"validation"`
	Items        int     `json:"items"`
	Interactions int64   `json:"interactions"`
	Rank         int     `json:"rank"` // at most
	Seconds      float64 `json:"seconds"`
	QuickSeconds float64 `json:"quick_seconds"` // with --quick
	Bytes        int64   `json:"bytes"`
}

func newReport(s *dataset.Survey) *Report {
	r := &Report{
		Files: s.Files, Rows: s.Rows, BadRows: s.BadRows, BadColumns: s.BadColumns,
		LongIDs: s.LongIDs, OddIDs: s.OddIDs, SpacedIDs: s.SpacedIDs, Unliked: s.Unliked,
		Users: s.Users, Items: s.Items, Interactions: s.Interactions, Repeated: s.Duplicates,
		OneItemUsers: s.OneItemUsers, OneUserItems: s.OneUserItems,
		RareUsers: s.FilteredUsers, RareItems: s.FilteredItems,
		Ordinals: s.OrdinalTimes, Disorder: s.Disorder, Early: s.Early, Late: s.Late,
		Types: s.Types, timed: s.Timed,
		Busiest: s.Busiest, Popular: s.Popular, report: s.Report,
	}
	if r.Users > 0 {
		r.Density = float64(r.Interactions) / float64(r.Users) / float64(r.Items)
	}
	if s.Timed && !s.OrdinalTimes {
		r.Oldest, r.Newest = time.Unix(s.Oldest, 0).UTC(), time.Unix(s.Newest, 0).UTC()
	}
	for _, bad := range s.Bad {
		r.Bad = append(r.Bad, bad.Error())
	}
	return r
}

// newTrainingReport plans the training of gsimc train without flags, which uses the events up.
func newTrainingReport(events *dataset.Interactions) (*trainingReport, error) {
	cfg := train.Config{
		Spec: train.Recommended(), Solver: "auto", Tolerance: 1e-5, Seed: 1,
		ChooseRank: true, ChooseRidge: true, ChooseBands: true,
	}
	part, err := events.PartitionInPlace(train.Split(events.NumUsers(), cfg.Seed))
	if err != nil {
		return nil, err
	}
	cfg.Rank = train.QuickRank(model.DynamicsLearned, len(part.Items))
	if err := cfg.Check(len(part.Items)); err != nil {
		return nil, err
	}
	if cfg.CheckHistories(part) != nil {
		return nil, fmt.Errorf("there is nothing to learn from: no user of the %d of a "+
			"training has two items", part.Train.Len())
	}
	todo := train.NewPlan(part, cfg)
	r := &trainingReport{
		Users: part.Train.Len(), Validation: part.Validation.Len(), Items: len(part.Items),
		Interactions: int64(len(part.Train.Item)), Rank: cfg.Rank,
	}
	_, faster := data.MeasuredSpeed()
	r.Seconds = seconds(todo) / faster
	cfg.ChooseRank, cfg.ChooseRidge, cfg.ChooseBands = false, false, false
	r.QuickSeconds = seconds(train.NewPlan(part, cfg)) / faster
	r.Bytes, _ = todo.Peak(cli.HeldMemory())
	r.Bytes = max(r.Bytes, cli.PeakRSS())
	return r, nil
}

func seconds(p *train.Plan) (sum float64) {
	for _, stage := range p.Stages {
		sum += stage.Seconds
	}
	return sum
}

// rows is the report as a table.
func (r *Report) rows() [][]string {
	rows := [][]string{}
	add := func(name, format string, args ...any) {
		rows = append(rows, []string{name, fmt.Sprintf(format, args...)})
	}
	for _, f := range r.Files {
		form := f.Format
		if f.Compression != "none" {
			form += ", " + f.Compression
		}
		if f.TimeUnit != "" && !r.Ordinals {
			form += ", times in " + f.TimeUnit
		}
		add("file", "%s: %s, %s", f.Path, form, cli.Counted(f.Rows, "row"))
	}
	add("rows", "%d, %d bad%s", r.Rows, r.BadRows, parenthesised(r.BadColumns))
	if r.LongIDs > 0 {
		add("  ids too long", "%d, at most %d bytes are allowed", r.LongIDs, event.MaxIDBytes)
	}
	if r.OddIDs > 0 {
		add("  odd ids", "%s with an id such as NULL, NaN or 1.0: some program may have made it "+
			"of a number or of nothing", cli.Counted(r.OddIDs, "row"))
	}
	if r.SpacedIDs > 0 {
		add("  spaces", "%s with an id such as \" 12\" or \"1\\n2\", which is another one than "+
			"\"12\"", cli.Counted(r.SpacedIDs, "row"))
	}
	if r.Unliked > 0 {
		add("  not liked", "%d of a weight that is not above 0", r.Unliked)
	}
	if len(r.Types) > 0 {
		add("types", "%s", counts(r.Types))
	}
	r.addTimes(add)
	if r.Users == 0 {
		return rows
	}
	add("users", "%d, %d of them with one item; the user %s has %d", r.Users, r.OneItemUsers,
		cli.IDText(r.Busiest.Name), r.Busiest.Rows)
	add("items", "%d, %d of them with one user; the item %s has %d", r.Items, r.OneUserItems,
		cli.IDText(r.Popular.Name), r.Popular.Rows)
	add("interactions", "%d, and %s of an item that the user had", r.Interactions,
		cli.Counted(r.Repeated, "row"))
	add("density", "%.3g %% of all pairs", 100*r.Density)
	if r.RareUsers+r.RareItems > 0 {
		add("rare", "%s and %s are left out", cli.Counted(r.RareUsers, "user"),
			cli.Counted(r.RareItems, "item"))
	}
	if t := r.Training; t != nil {
		add("training", "%s, %s, %s; %s to measure on", cli.Counted(t.Users, "user"),
			cli.Counted(t.Items, "item"), cli.Counted(t.Interactions, "interaction"),
			cli.Counted(t.Validation, "user"))
		add("  takes about", "%s (with --quick %s) and %s, at a rank of at most %d",
			cli.SecondsText(t.Seconds), cli.SecondsText(t.QuickSeconds), cli.BytesText(t.Bytes),
			t.Rank)
	}
	return rows
}

func (r *Report) addTimes(add func(name, format string, args ...any)) {
	switch {
	case !r.timed && r.Rows == r.BadRows:
		add("times", "none: no row is good")
	case !r.timed:
		add("times", "none: rows count in the order of the file")
	case r.Ordinals:
		add("times", "positions, %s", disorder(r.Disorder))
	default:
		const form = "2006-01-02 15:04:05"
		add("times", "%s to %s, %s", r.Oldest.Format(form), r.Newest.Format(form),
			disorder(r.Disorder))
		if r.Early > 0 {
			add("  too early", "%d before 1970: a server refuses them", r.Early)
		}
		if r.Late > 0 {
			add("  too late", "%d more than %.0f hours in the future: a server refuses them",
				r.Late, event.MaxFuture.Hours())
		} else if r.Newest.After(time.Now()) {
			add("", "the newest are in the future")
		}
	}
}

func disorder(rows int64) string {
	if rows == 0 {
		return "in order"
	}
	if rows == 1 {
		return "1 row is older than the one before"
	}
	return fmt.Sprintf("%d rows are older than the one before", rows)
}

// counts lists names with their rows.
func counts(all []dataset.Count) string {
	const most = 20
	var words []string
	for i, c := range all {
		if i == most {
			words = append(words, fmt.Sprintf("and %d more", len(all)-most))
			break
		}
		name := cmp.Or(c.Name, "form of the row")
		words = append(words, fmt.Sprintf("%s %d", name, c.Rows))
	}
	return strings.Join(words, ", ")
}

func parenthesised(all []dataset.Count) string {
	if len(all) == 0 {
		return ""
	}
	return " (" + counts(all) + ")"
}
