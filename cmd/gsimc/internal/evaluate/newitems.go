package evaluate

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/data"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/progress"
	"github.com/gsimc/gsimc/internal/near"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/evaluate"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/content"
	"github.com/gsimc/gsimc/spectral"
)

// protocolNewItems is the value of `evaluate --protocol` for items that come after the training.
const protocolNewItems = "new-items"

// checkNewItems checks the flags of the protocol.
func (c *Cmd) checkNewItems() error {
	if c.Protocol != protocolNewItems {
		return nil
	}
	var err error
	if c.Methods != "" {
		err = cli.About("%s new-items measures the model that is served, and popularity: "+
			"leave %s out", "--protocol", "--methods")
	}
	return errors.Join(err, cli.Above("--new-share", c.NewShare, 0),
		cli.Below("--new-share", c.NewShare, 1))
}

// newItems runs the protocol and prints a table or a JSON object.
func (c *Cmd) newItems(a *cli.App, p progress.Progress, part *dataset.Partition) error {
	documents, hidden, err := c.readItems(part.Items)
	if err != nil {
		return err
	}
	part.Hide(func(id string) bool { return hidden[id] })
	x, err := evaluate.HideItems(part, c.NewShare, c.Seed)
	if err != nil {
		return err
	}
	x.Content = documents
	m, err := c.servedModel(p, x.Reduced)
	if err != nil {
		return err
	}
	p.Begin("ranking targets", progress.Steps)
	report := newItemsReport{Items: len(part.Items), Hidden: len(x.Hidden)}
	targets, results, err := x.Run(m, func(done, total int) {
		p.Update(int64(done), int64(total))
	})
	p.End()
	if err != nil {
		return err
	}
	if report.Targets.New, report.Targets.Known = targets[0], targets[1]; !c.JSON {
		printNewItems(a.Stdout, &report, results)
		return nil
	}
	for i := range results {
		report.Figures = append(report.Figures, newItemsFigures(&results[i]))
	}
	return a.PrintJSON(report)
}

// readItems reads what items say of themselves, and which are hidden; nil without a file. One
// without any of the items of the data is refused.
func (c *Cmd) readItems(
	known []string,
) (all map[string]content.Document, hidden map[string]bool, err error) {
	if c.ItemsFile == "" {
		return nil, nil, nil
	}
	all, hidden = map[string]content.Document{}, map[string]bool{}
	met, unread := map[string]bool{}, map[string]bool{} // fields and other columns
	take := func(row dataset.ItemRow) error {
		for _, field := range row.Fields {
			met[field] = true
		}
		all[row.ID] = content.Document{
			Title: row.Title, Categories: row.Categories, Labels: row.Labels,
			Embedding: row.Embedding,
		}
		hidden[row.ID] = row.Hidden
		return nil
	}
	err = dataset.ReadItemRows(c.ItemsFile, dataset.ItemRowsOptions{Separator: c.Separator,
		Unread: func(name string) { unread[name] = true }}, take,
		func(bad *dataset.RowError) error { return bad })
	for _, name := range slices.Sorted(maps.Keys(unread)) {
		at := near.Index(name, dataset.ItemFields)
		if err == nil && at >= 0 && !met[dataset.ItemFields[at]] {
			err = fmt.Errorf("%s: column %.40q is no field of an item: did you mean %s? rename or "+
				"remove it", c.ItemsFile, name, dataset.ItemFields[at])
		}
	}
	described := func(id string) bool { _, is := hidden[id]; return is }
	if err == nil && !slices.ContainsFunc(known, described) {
		err = fmt.Errorf("%s: none of its %s is in the data: are the ids those of the data?",
			c.ItemsFile, cli.Counted(len(all), "item"))
	}
	return all, hidden, cli.Flag("--items-file", cli.PathError(err))
}

// servedModel trains a model as train does.
func (c *Cmd) servedModel(p progress.Progress, part *dataset.Partition) (*model.Model, error) {
	cfg := c.ModelFlags.Config(&c.GraphFlags,
		c.ModelFlags.Spec(&c.GraphFlags, model.DynamicsLearned, spectral.RandomWalk))
	cfg.Progress = data.Stages(p)
	defer p.End()
	result, err := train.Run(part, cfg)
	if err != nil {
		return nil, err
	}
	return result.Model, nil
}

// newItemsReport is the object that --json prints.
type newItemsReport struct {
	Items   int `json:"items"`
	Hidden  int `json:"hidden"`
	Targets struct {
		New   int `json:"new"`
		Known int `json:"known"`
	} `json:"targets"`
	Figures []map[string]any `json:"figures"` // by method and number of users shown
}

func newItemsFigures(r *evaluate.NewItemsResult) map[string]any {
	return map[string]any{
		"method": r.Method, "shown": r.Shown,
		"new hr@50": r.New.HR, "new hr@50 stderr": r.New.HRErr,
		"new ndcg@50": r.New.NDCG, "new ndcg@50 stderr": r.New.NDCGErr,
		"known hr@50": r.Known.HR, "known hr@50 stderr": r.Known.HRErr,
		"known ndcg@50": r.Known.NDCG, "known ndcg@50 stderr": r.Known.NDCGErr,
		"change": r.Change, "change stderr": r.ChangeErr,
	}
}

// printNewItems prints a row for each method and number of users shown.
func printNewItems(w io.Writer, report *newItemsReport, results []evaluate.NewItemsResult) {
	fmt.Fprintf(w, "%d of %d items are hidden from the training; "+
		"%d of %d targets are such items\n\n", report.Hidden, report.Items,
		report.Targets.New, report.Targets.New+report.Targets.Known)
	rows := [][]string{{"method", "users shown", "new: HR@50", "±", "NDCG@50", "±",
		"known: HR@50", "±", "NDCG@50", "±", "all: change of NDCG@50, %", "±"}}
	for i := range results {
		r := &results[i]
		rows = append(rows, []string{r.Method, fmt.Sprint(r.Shown),
			figure(r.New.HR), figure(r.New.HRErr), figure(r.New.NDCG), figure(r.New.NDCGErr),
			figure(r.Known.HR), figure(r.Known.HRErr),
			figure(r.Known.NDCG), figure(r.Known.NDCGErr),
			fmt.Sprintf("%+.1f", 100*r.Change), fmt.Sprintf("%.1f", 100*r.ChangeErr)})
	}
	cli.PrintTable(w, rows, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
	fmt.Fprint(w, `
users shown: early users of each hidden item, by whom the model is extended
change: against showing no new items at all
`)
	if len(results) > 0 && results[len(results)-1].Method == evaluate.ByContent {
		fmt.Fprint(w, `dynamics, content: new items borrow from known ones of like content
content: similarity with the newest events of the user, all items
`)
	}
}
