package train

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/data"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/progress"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/evaluate"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/spectral"
)

// Users that the quality of a new model is measured on. Scoring one user takes n·k operations and
// solving about 10·n·k², so that 2k users take a small part of the time.
const (
	fewestMeasured  = 20  // with fewer the figures say nothing
	alwaysMeasured  = 200 // of these all are taken
	measuredPerRank = 2
)

// stageMeasure is the stage of a training that measures the quality of the new model.
const stageMeasure = "measuring"

// mostMeasured returns the largest number of users that the quality is measured on.
func mostMeasured(rank int) int { return max(alwaysMeasured, measuredPerRank*rank) }

// quality holds the figures at 10 on validation users.
type quality struct {
	users               int
	model, byPopularity evaluate.Metric
}

// measureQuality measures the model and popularity on the validation users. With too few of them it
// returns nil.
func measureQuality(p progress.Progress, part *dataset.Partition, m *model.Model) *quality {
	if part.Validation.Len() < fewestMeasured {
		return nil
	}
	p.Begin(stageMeasure, progress.Steps)
	defer p.End()
	got, popular := evaluate.OnValidation(m, part, mostMeasured(m.Rank()))
	return &quality{
		users: len(got.Ranks), model: got.Metrics[0], byPopularity: popular.Metrics[0],
	}
}

// rows returns the quality as rows of the summary.
func (q *quality) rows(validationUsers int) [][]string {
	if q == nil {
		return [][]string{
			{"quality", fmt.Sprintf("not measured: %s with two items",
				cli.Counted(validationUsers, "validation user"))},
			{"", fmt.Sprintf("or more, want at least %d", fewestMeasured)},
		}
	}
	return [][]string{
		{"quality", fmt.Sprintf("HR@10 %.4f, NDCG@10 %.4f on %s validation users",
			q.model.HR, q.model.NDCG, cli.Grouped(q.users))},
		{"  of popularity", fmt.Sprintf("HR@10 %.4f, NDCG@10 %.4f",
			q.byPopularity.HR, q.byPopularity.NDCG)},
	}
}

// printSummary prints the result of a training, and the next command.
func (c *Cmd) printSummary(a *cli.App, j *job) {
	report, part, basis, m := j.report, j.part, j.result.Basis, j.result.Model
	size := int64(0)
	if info, err := os.Stat(c.Out); err == nil {
		size = info.Size()
	}
	read := fmt.Sprintf("%d (%d bad, %d repeated, %d filtered", report.Rows, report.BadRows,
		report.Duplicates, report.Filtered)
	if report.Unliked > 0 {
		read += fmt.Sprintf(", %d of a weight that is not above 0", report.Unliked)
	}
	rows := [][]string{
		{"rows read", read + ")"},
		{"users", fmt.Sprintf("%d training, %d validation", m.Spec().TrainUsers,
			part.Validation.Len())},
		{"items", strconv.Itoa(len(part.Items))},
		{"interactions", fmt.Sprintf("%d of the training users", j.interactions)},
	}
	if j.result.Choice != nil {
		rows = append(rows, choiceRow(j.result.Choice))
	}
	if c.Verbose {
		wanted := basis.K
		if j.cfg.Rank > 0 && j.result.Choice == nil {
			wanted = j.cfg.RankFor(len(part.Items))
		}
		rows = append(rows, data.SolverRows(basis, wanted)...)
	}
	rows = append(rows, j.quality.rows(j.measured)...)
	rows = append(rows, repeatRows(&j.result.Live)...)
	if j.compared != nil {
		rows = append(rows, comparisonRows(c.Compare, j.compared)...)
	}
	rows = append(rows, c.hiddenRows(part.Items)...)
	rows = append(rows,
		[]string{
			"model", fmt.Sprintf("%s, %s, version %s", c.Out, cli.BytesText(size), m.Version()),
		},
		[]string{"time", time.Since(j.begin).Round(time.Millisecond).String()})
	if peak := cli.PeakRSS(); peak > 0 {
		rows = append(rows, []string{"peak memory", cli.BytesText(peak)})
	}
	if note := componentsNote(basis); note != "" {
		fmt.Fprintln(a.Stderr, note)
	}
	for _, message := range report.BadRowMessages {
		fmt.Fprintln(a.Stderr, "skipped:", message)
	}
	cli.PrintTable(a.Stdout, rows)
	if !a.Inner {
		a.Printf("\nnext: gsimc serve --model %s\n", c.better(j.compared))
	}
}

// better returns the file of the model to be served. A model that the new one has replaced is no
// longer there.
func (c *Cmd) better(compared *train.Comparison) string {
	if compared == nil || !compared.Worse || c.Compare == c.Out {
		return c.Out
	}
	return c.Compare
}

// hiddenRows tells which items the quality and a comparison leave out. The model has them, since
// events on hidden items are attributes of users.
func (c *Cmd) hiddenRows(items []string) [][]string {
	hidden := 0
	for _, id := range items {
		if c.Hides(id) {
			hidden++
		}
	}
	if hidden == 0 {
		return nil
	}
	return [][]string{
		{"hidden", fmt.Sprintf("%d of the items, by the catalogue of the store: learned from,",
			hidden)},
		{"", "but on no list and no target of the figures above"},
	}
}

// repeatRows tells how often users come back to items, and what to make of it.
func repeatRows(l *train.Live) [][]string {
	if l.Repeats == 0 {
		return nil
	}
	advice := "no list is better for it: leave seen items out"
	if !l.Again.None() {
		advice = "beside the list of new items, offer one of these (recommend --seen only)"
	}
	return [][]string{
		{"repeats", fmt.Sprintf("%.1f %% of the newest events are on an item that the user had:",
			100*l.Repeats)},
		{"", advice},
	}
}

// choiceRow tells of the choice of the rank, the ridge and the bands.
func choiceRow(c *fit.Choice) []string {
	_, text, _ := strings.Cut(c.String(), " ") // without the word rank
	return []string{"rank", text}
}

// withheldNote warns of a model without the uncertainty that it was to have.
func withheldNote(m *model.Model) string {
	d := m.Describe().Deviation
	if d == nil || !d.Withheld {
		return ""
	}
	return fmt.Sprintf("warning: the model does not know the uncertainty of its answers: learned "+
		"from one half of the users, it was wrong for the other (squared errors %.2g "+
		"to %.2g times the expected ones, by frequency); lists are not affected; more users help, "+
		"and leaving out rare ones (--min-user-events 5 --min-item-events 5)",
		slices.Min(d.Calibration), slices.Max(d.Calibration))
}

// componentsNote warns of a graph in pieces. Each component of the hypergraph has an eigenvalue 1;
// the eigenvectors of small ones crowd out those that tell tastes apart.
func componentsNote(basis *spectral.Basis) string {
	pieces := 0
	for _, kappa := range basis.Kappa {
		if kappa > (1-1e-9)*basis.Kappa[0] {
			pieces++
		}
	}
	if pieces < 4 {
		return ""
	}
	return fmt.Sprintf(
		"note: the items fall into at least %d groups without a common user, so recommendations "+
			"will be poor; leave out rare users and items "+
			"(--min-user-events 5 --min-item-events 5)", pieces)
}
