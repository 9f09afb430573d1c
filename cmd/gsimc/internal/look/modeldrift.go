package look

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/data"

	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/model"
)

// ModelDrift is `gsimc model drift`.
type ModelDrift struct {
	Model string `required:"" placeholder:"FILE" help:"Model file."`
	data.Flags
}

// Help is the manual under the flags.
func (ModelDrift) Help() string {
	return `Give it events that came after the training. The model explains a share of these ` +
		`users' histories by the items that go together; the share is compared with that of the ` +
		`validation users of the training. It falls as new items come up, and as other items ` +
		`go together. The ratio of the training users themselves is above 1.

  gsimc model drift --model model.gsimc --data last-week.csv.gz`
}

// Run measures and prints a table.
func (c *ModelDrift) Run(a *cli.App) error {
	m, err := cli.OpenModel("--model", c.Model)
	if err != nil {
		return err
	}
	events, _, err := c.Read(a, a.Progress())
	if err != nil {
		return errors.Join(err, m.Close())
	}
	cli.PrintTable(a.Stdout, driftRows(m, events))
	return m.Close()
}

// driftAdvice says what to do about each verdict.
var driftAdvice = map[string]string{
	model.NoDrift:     "none: no reason to train",
	model.SomeDrift:   "some: train a new model soon",
	model.StrongDrift: "strong: train a new model now",
	model.NoBaseline:  "unknown: the model was trained without histories to compare with",
}

func driftRows(m *model.Model, events *dataset.Interactions) [][]string {
	index := make([]int32, events.NumItems())
	known := 0
	for i, id := range events.Items {
		at, ok := m.ItemIndex(id)
		if !ok {
			at = -1
		} else {
			known++
		}
		index[i] = at
	}
	e := m.NewEnergy()
	var history []int32
	knownEvents := 0
	for u := range events.NumUsers() {
		history = history[:0]
		for _, i := range events.Of(u) {
			history = append(history, index[i])
			if index[i] >= 0 {
				knownEvents++
			}
		}
		e.Add(history)
	}
	ratio, verdict := e.Drift()
	return [][]string{
		{"model", m.Version()},
		{"events", fmt.Sprintf("%d of %d users", events.Len(), events.NumUsers())},
		{"known items", portion(known, events.NumItems())},
		{"events on them", portion(knownEvents, events.Len())},
		{"explained share", strconv.FormatFloat(e.Inside(), 'f', 4, 64)},
		{"  at the training", strconv.FormatFloat(m.InsideAtTraining(), 'f', 4, 64)},
		{"  ratio", strconv.FormatFloat(ratio, 'f', 3, 64)},
		{"drift", driftAdvice[verdict]},
	}
}

func portion(part, whole int) string {
	return fmt.Sprintf("%d of %d (%.1f %%)", part, whole, 100*float64(part)/float64(max(whole, 1)))
}
