package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
)

// Items is `gsimc items`.
type Items struct {
	Import ItemsImport `cmd:"" help:"Write the items of a file to the catalogue."`
	List   ItemsList   `cmd:"" help:"Print the items of the catalogue in the order of their ids."`
	Get    ItemsGet    `cmd:"" help:"Print items of the catalogue."`
	Search ItemsSearch `cmd:"" help:"Find items by the beginning of their ids or by their titles."`
	Delete ItemsDelete `cmd:"" help:"Remove items from the catalogue, which are then shown without a name."`
}

// callItems runs fn with a client of ItemService.
func callItems(f *cli.ServerFlags, fn func(context.Context, pb.ItemServiceClient) error) error {
	return f.Call(func(ctx context.Context, conn grpc.ClientConnInterface) error {
		return fn(ctx, pb.NewItemServiceClient(conn))
	})
}

// catalogueItem is an item as `gsimc items` prints it. The names are those of columns that items
// import reads.
type catalogueItem struct {
	ID         string             `json:"item_id"`
	Title      string             `json:"title"`
	Categories []string           `json:"categories"`
	Labels     []string           `json:"labels"`
	Hidden     bool               `json:"hidden"`
	From       *time.Time         `json:"available_from"`
	Until      *time.Time         `json:"available_until"`
	Embedding  []float32          `json:"embedding"`
	Numbers    map[string]float64 `json:"numbers"`
}

func newCatalogueItem(i *pb.Item) catalogueItem {
	out := catalogueItem{ID: i.GetItemId(), Title: i.GetTitle(), Categories: []string{},
		Labels: []string{}, Hidden: i.GetHidden(), Embedding: []float32{},
		Numbers: map[string]float64{}}
	maps.Copy(out.Numbers, i.GetNumbers())
	out.Embedding = append(out.Embedding, i.GetEmbedding()...)
	out.Categories = append(out.Categories, i.GetCategories()...)
	out.Labels = append(out.Labels, i.GetLabels()...)
	if t := i.GetAvailableFrom(); t != nil {
		at := t.AsTime()
		out.From = &at
	}
	if t := i.GetAvailableUntil(); t != nil {
		at := t.AsTime()
		out.Until = &at
	}
	return out
}

// printItems prints items as JSON Lines or as a table.
func printItems(a *cli.App, items []*pb.Item, jsonLines bool) error {
	rows := [][]string{{"item", "title", "categories", "labels", "numbers", "shown"}}
	out := json.NewEncoder(a.Stdout)
	for _, item := range items {
		i := newCatalogueItem(item)
		if jsonLines {
			if err := out.Encode(i); err != nil {
				return err
			}
			continue
		}
		rows = append(rows, []string{cli.IDText(i.ID), cli.IDText(i.Title), namesText(i.Categories),
			namesText(i.Labels), i.numbersText(), i.shownText()})
	}
	if !jsonLines {
		cli.PrintTable(a.Stdout, rows)
	}
	return nil
}

func namesText(names []string) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = cli.IDText(name)
	}
	return strings.Join(texts, "; ")
}

// numbersText has the numbers with their names.
func (i *catalogueItem) numbersText() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(i.Numbers)) {
		parts = append(parts, name+"="+plainNumber(i.Numbers[name]))
	}
	return strings.Join(parts, "; ")
}

// plainNumber is a number without an exponent, unless it is very large.
func plainNumber(x float64) string {
	if math.Abs(x) >= 1e15 {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// shownText says when an item is shown.
func (i *catalogueItem) shownText() string {
	var parts []string
	switch {
	case i.Hidden:
		return "never"
	case i.From == nil && i.Until == nil:
		return "yes"
	}
	if i.From != nil {
		parts = append(parts, "from "+i.From.Format(time.RFC3339))
	}
	if i.Until != nil {
		parts = append(parts, "until "+i.Until.Format(time.RFC3339))
	}
	return strings.Join(parts, " ")
}

// ItemsList is `gsimc items list`.
type ItemsList struct {
	cli.ServerFlags

	Items     int    `short:"n" default:"20" help:"Number of items, at least 1."`
	PageToken string `placeholder:"TOKEN" help:"Go on where another list ended, with the token that it printed."`
	JSON      bool   `name:"json" help:"Print JSON Lines, which items import reads, and no token."`
}

// Help is the manual under the flags.
func (ItemsList) Help() string {
	return `  gsimc items list --items 1000000 --json > items.jsonl`
}

// Check checks the flags together.
func (c *ItemsList) Check() error {
	return errors.Join(c.ServerFlags.Check(), cli.InRange("--items", float64(c.Items), 1, 1e9))
}

// Run prints items page by page, so that JSON Lines of any number take no memory.
func (c *ItemsList) Run(a *cli.App) error {
	req, left := &pb.ListItemsRequest{PageToken: c.PageToken}, c.Items
	var table []*pb.Item
	for first := true; left > 0 && (first || req.PageToken != ""); first = false {
		req.PageSize = int32(min(left, 1000))
		err := callItems(&c.ServerFlags, func(ctx context.Context, s pb.ItemServiceClient) error {
			r, err := s.ListItems(ctx, req)
			if err != nil {
				return err
			}
			req.PageToken = r.GetNextPageToken()
			left -= len(r.GetItems())
			if c.JSON {
				return printItems(a, r.GetItems(), true)
			}
			table = append(table, r.GetItems()...)
			return nil
		})
		if err != nil {
			return err
		}
	}
	if c.JSON {
		return nil
	}
	err := printItems(a, table, false)
	if req.PageToken != "" {
		a.Printf("there are more: --page-token %s\n", req.PageToken)
	}
	return err
}

// ItemsGet is `gsimc items get`.
type ItemsGet struct {
	cli.ServerFlags

	ID   []string `arg:"" name:"item" help:"Item ids."`
	JSON bool     `name:"json" help:"Print JSON Lines."`
}

// Run prints the items that the catalogue has; others are an error that names them.
func (c *ItemsGet) Run(a *cli.App) error {
	return callItems(&c.ServerFlags, func(ctx context.Context, s pb.ItemServiceClient) error {
		var items []*pb.Item
		var missing []string
		for _, id := range c.ID {
			r, err := s.GetItem(ctx, &pb.GetItemRequest{ItemId: id})
			switch {
			case status.Code(err) == codes.NotFound:
				missing = append(missing, cli.IDText(id))
			case err != nil:
				return err
			default:
				items = append(items, r.GetItem())
			}
		}
		if missing == nil {
			return printItems(a, items, c.JSON)
		}
		err := fmt.Errorf("not in the catalogue: %s", strings.Join(missing, ", "))
		if items == nil {
			return err
		}
		return errors.Join(printItems(a, items, c.JSON), err)
	})
}

// ItemsDelete is `gsimc items delete`.
type ItemsDelete struct {
	cli.ServerFlags

	ID []string `arg:"" name:"item" help:"Item ids, at most 1000."`
}

// Run removes the items, all or none. One that the catalogue does not have is no error, so that the
// command may be repeated.
func (c *ItemsDelete) Run(a *cli.App) error {
	return callItems(&c.ServerFlags, func(ctx context.Context, s pb.ItemServiceClient) error {
		r, err := s.BatchDeleteItems(ctx, &pb.BatchDeleteItemsRequest{ItemIds: c.ID})
		if err == nil {
			a.Printf("%s deleted\n", cli.Counted(r.GetDeletedCount(), "item"))
		}
		return err
	})
}
