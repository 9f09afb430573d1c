package call

import (
	"context"
	"errors"
	"strconv"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
)

// ItemsSearch is `gsimc items search`.
type ItemsSearch struct {
	cli.ServerFlags

	Text  string `arg:"" optional:"" help:"What the ids begin with, or what stands in the titles. Default: the most popular items."`
	Items int    `short:"n" default:"20" help:"Number of items, 1 to 100."`
}

// Help is the manual under the flags.
func (ItemsSearch) Help() string {
	return `Finds items of the model and of the catalogue. The column users tells how many training
users have an item; "-" stands for an item that the model does not know.

  gsimc items search lamp`
}

// Check checks the flags together.
func (c *ItemsSearch) Check() error {
	return errors.Join(c.ServerFlags.Check(), cli.InRange("--items", float64(c.Items), 1, 100))
}

// Run prints what is found.
func (c *ItemsSearch) Run(a *cli.App) error {
	return callItems(&c.ServerFlags, func(ctx context.Context, s pb.ItemServiceClient) error {
		r, err := s.SearchItems(ctx,
			&pb.SearchItemsRequest{Query: c.Text, PageSize: int32(c.Items)})
		if err != nil {
			return err
		}
		rows := [][]string{{"item", "title", "categories", "users"}}
		for _, found := range r.GetItems() {
			users := "-"
			if found.GetInModel() {
				users = strconv.FormatInt(found.GetTrainUsers(), 10)
			}
			i := newCatalogueItem(found.GetItem())
			rows = append(rows, []string{cli.IDText(i.ID), cli.IDText(i.Title),
				namesText(i.Categories), users})
		}
		cli.PrintTable(a.Stdout, rows)
		return nil
	})
}
