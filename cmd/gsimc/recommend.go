package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/dataset"
)

type recommendCmd struct {
	clientFlags

	User    string   `group:"For whom:" placeholder:"ID" help:"A user with a history in the server; an unknown one gets popular items."`
	History []string `group:"For whom:" placeholder:"ITEM,..." help:"Items of an anonymous session, oldest first, in place of --user."`

	Items         int           `group:"The list:" short:"n" default:"10" help:"How many items, 1 to 1000."`
	Allow         []string      `group:"The list:" placeholder:"ITEM,..." help:"Only these items."`
	Deny          []string      `group:"The list:" placeholder:"ITEM,..." help:"Not these items."`
	Seen          string        `group:"The list:" default:"exclude" enum:"exclude,include" help:"Items of the history: exclude or include."`
	SeenTypes     []string      `group:"The list:" placeholder:"TYPE,..." help:"Exclude only items with an event of these types."`
	ReappearAfter time.Duration `group:"The list:" default:"0s" help:"Seen items come back after this time. 0s: never."`
	MinRevision   uint64        `group:"The list:" placeholder:"R" help:"Answer from a history of at least this revision."`

	ItemsFile string `group:"Output:" placeholder:"FILE" help:"CSV of item_id,title,categories: titles for the table."`
	JSON      bool   `group:"Output:" name:"json" help:"Print one JSON object."`
}

// Help is the manual under the flags.
func (recommendCmd) Help() string {
	return `The answer reflects every event that the server acknowledged before.

  gsimc recommend --user alice
  gsimc recommend --history 1375666,816692 --items 20 --json`
}

// Validate is called by kong after parsing.
func (c *recommendCmd) Validate() error {
	errs := []error{c.clientFlags.check(), inRange("--items", float64(c.Items), 1, 1000)}
	if (c.User == "") == (len(c.History) == 0) {
		errs = append(errs, errors.New("want either --user or --history"))
	}
	if c.Seen == "include" && len(c.SeenTypes) > 0 {
		errs = append(errs, errors.New("--seen include does not go with --seen-types"))
	}
	if c.ReappearAfter < 0 {
		errs = append(errs, fmt.Errorf("--reappear-after: %s, want 0s or more", c.ReappearAfter))
	}
	return errors.Join(errs...)
}

func (c *recommendCmd) request() *pb.RecommendRequest {
	r := &pb.RecommendRequest{PageSize: int32(c.Items), MinUserRevision: c.MinRevision, Seen: &pb.SeenPolicy{EventTypes: c.SeenTypes}}
	if c.User != "" {
		r.Subject = &pb.RecommendRequest_UserId{UserId: c.User}
	} else {
		history := &pb.InlineHistory{}
		for _, item := range c.History {
			history.Entries = append(history.Entries, &pb.HistoryEntry{ItemId: item})
		}
		r.Subject = &pb.RecommendRequest_History{History: history}
	}
	if len(c.Allow)+len(c.Deny) > 0 {
		r.Filter = &pb.ItemFilter{AllowItemIds: c.Allow, DenyItemIds: c.Deny}
	}
	switch {
	case c.Seen == "include":
		r.Seen.Mode = pb.SeenPolicy_MODE_INCLUDE
	case len(c.SeenTypes) > 0:
		r.Seen.Mode = pb.SeenPolicy_MODE_EXCLUDE_TYPES
	default:
		r.Seen.Mode = pb.SeenPolicy_MODE_EXCLUDE
	}
	if c.ReappearAfter > 0 {
		r.Seen.ReappearAfter = durationpb.New(c.ReappearAfter)
	}
	return r
}

// Run asks for one list and prints it.
func (c *recommendCmd) Run(a *app) error {
	catalogue := &dataset.Catalogue{}
	if c.ItemsFile != "" {
		var err error
		if catalogue, err = dataset.ReadItems(c.ItemsFile); err != nil {
			return fmt.Errorf("--items-file: %w", pathError(err))
		}
	}
	return c.call(func(ctx context.Context, conn grpc.ClientConnInterface) error {
		got, err := pb.NewRecommenderServiceClient(conn).Recommend(ctx, c.request())
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(a, newAnswer(got, catalogue))
		}
		printAnswer(a, newAnswer(got, catalogue))
		return nil
	})
}

// answer is a list for people and scripts.
type answer struct {
	Items          []answerItem `json:"items"`
	ModelVersion   string       `json:"model_version"`
	Revision       uint64       `json:"user_revision"`
	UnknownItemIDs []string     `json:"unknown_item_ids,omitempty"`
	Degradations   []string     `json:"degradations,omitempty"`
}

type answerItem struct {
	ID     string  `json:"item_id"`
	Score  float64 `json:"score"`
	Source string  `json:"source"`
	Title  string  `json:"title,omitempty"`
}

func newAnswer(r *pb.RecommendResponse, catalogue *dataset.Catalogue) answer {
	out := answer{Items: []answerItem{}, ModelVersion: r.GetModelVersion(), Revision: r.GetUserRevision(), UnknownItemIDs: r.GetUnknownItemIds()}
	for _, item := range r.GetItems() {
		out.Items = append(out.Items, answerItem{
			ID: item.GetItemId(), Score: item.GetScore(), Title: catalogue.Title(item.GetItemId()),
			Source: enumText(item.GetSource().String(), "RESULT_SOURCE_"),
		})
	}
	for _, d := range r.GetDegradations() {
		out.Degradations = append(out.Degradations, enumText(d.String(), "DEGRADATION_"))
	}
	return out
}

// enumText turns RESULT_SOURCE_POPULAR into popular.
func enumText(name, prefix string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, prefix)), "_", " ")
}

func printJSON(a *app, value any) error {
	e := json.NewEncoder(a.stdout)
	e.SetIndent("", "  ")
	return e.Encode(value)
}

func printAnswer(a *app, r answer) {
	rows := [][]string{{"#", "item", "score", "source", "title"}}
	for i, item := range r.Items {
		rows = append(rows, []string{strconv.Itoa(i + 1), item.ID, scoreText(item.Score), item.Source, item.Title})
	}
	printTable(a.stdout, rows, 0, 2)
	a.printf("revision %d, model %s\n", r.Revision, r.ModelVersion)
	for _, d := range r.Degradations {
		a.printf("note: %s\n", d)
	}
	if len(r.UnknownItemIDs) > 0 {
		a.printf("note: unknown to the model: %s\n", strings.Join(r.UnknownItemIDs, ", "))
	}
}

// scoreText shows a score with six digits, small ones in scientific form.
func scoreText(x float64) string {
	if x != 0 && math.Abs(x) < 1e-4 {
		return fmt.Sprintf("%.2e", x)
	}
	return fmt.Sprintf("%.6f", x)
}
