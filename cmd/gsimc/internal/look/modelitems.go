package look

import (
	"strconv"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/model"
)

// ModelItems is `gsimc model items`.
type ModelItems struct {
	File      string `arg:"" help:"Model file."`
	Top       int    `default:"20" help:"Number of items, the most popular first; 0 lists all."`
	ItemsFile string `placeholder:"FILE" help:"CSV with the columns item_id and title: titles to print beside ids."`
}

// Check checks the flags.
func (c *ModelItems) Check() error {
	if c.Top < 0 {
		return fault.New("--top", c.Top, "0 or more")
	}
	return nil
}

// Run prints a table of the items with the number of their training users.
func (c *ModelItems) Run(a *cli.App) error {
	titles, err := cli.Titles(c.ItemsFile)
	if err != nil {
		return err
	}
	m, err := cli.OpenModel("", c.File)
	if err != nil {
		return err
	}
	cli.PrintTable(a.Stdout, itemRows(m, c.Top, titles), 1)
	return m.Close()
}

// itemRows returns a row for each of the first items by popularity; titles may be nil.
func itemRows(m *model.Model, top int, titles map[string]string) [][]string {
	items := m.Popular()
	if top > 0 {
		items = items[:min(top, len(items))]
	}
	rows := [][]string{{"item", "users"}}
	if titles != nil {
		rows[0] = append(rows[0], "title")
	}
	for _, i := range items {
		row := []string{m.ItemID(i), strconv.FormatInt(m.Degree(i), 10)}
		if titles != nil {
			row = append(row, titles[m.ItemID(i)])
		}
		rows = append(rows, row)
	}
	return rows
}
