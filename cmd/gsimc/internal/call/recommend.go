package call

import (
	"context"
	"errors"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// Recommend is `gsimc recommend`.
type Recommend struct {
	cli.ServerFlags

	User    string   `group:"For whom:" placeholder:"ID" help:"A user with a history in the server. An unknown user gets popular items."`
	History []string `group:"For whom:" placeholder:"ITEM,..." help:"Items of an anonymous session, oldest first, in place of --user."`

	listsFlags
	SimilarTo string `group:"For whom:" placeholder:"ITEM" help:"What goes with an item, in place of a list for somebody."`

	List          string        `group:"The list:" default:"personal" enum:"personal,without-trends,popular,trending,together,because" help:"personal; without-trends, the same; popular, now; trending, taken more often than in the training data; together, what goes with all items of the history; because, what goes with the last one that was liked."`
	Items         int           `group:"The list:" short:"n" default:"10" help:"Length of the list, 1 to 1000."`
	Seen          string        `group:"The list:" default:"exclude" enum:"exclude,include,only" help:"Items of the history: exclude, include, or only these, a list of what the user comes back to."`
	SeenTypes     []string      `group:"The list:" placeholder:"TYPE,..." help:"Exclude only items with an event of these types."`
	ReappearAfter time.Duration `group:"The list:" default:"0s" help:"Seen items come back after this time. 0s: never."`
	NamedBoosts   []string      `group:"The list:" placeholder:"NAME,..." help:"Raise and lower scores by these boosts of the server, see serve --filters-file."`
	MinRevision   uint64        `group:"The list:" placeholder:"R" help:"Answer from a history of at least this revision."`

	filterFlags
	placeFlags

	Explain int     `group:"Why and what else:" default:"0" help:"Number of items of the history to name for each score, the largest contributions first, 0 to 50. Above 0, --items is at most 100."`
	Explore string  `group:"Why and what else:" default:"none" enum:"none,thompson,ucb" help:"Exploration: none, thompson (rank by a taste drawn from the uncertainty about the user) or ucb (rank by the upper end of each score)."`
	Beta    float64 `group:"Why and what else:" default:"1" help:"Standard deviations to explore, 0 to 100."`
	Seed    uint64  `group:"Why and what else:" placeholder:"N" help:"Seed of --explore thompson. Default: the server draws one."`

	Attribute bool `group:"Output:" help:"Ask for the id of the list, which observe --recommendation-id takes."`

	titleFlags
	JSON bool `group:"Output:" name:"json" help:"Print one JSON object."`
}

// Help is the manual under the flags.
func (Recommend) Help() string {
	return `The answer reflects every event that the server acknowledged before.

  gsimc recommend --user alice
  gsimc recommend --history 1375666,0120363 --items 20 --json
  gsimc recommend --user alice --explain 3 --explore thompson --seed 1
  gsimc recommend --user alice --any-categories thriller,comedy --no-labels trailer
  gsimc recommend --user alice --max-per-category 3 --lambda 0.7 --pin 0120363=3
  gsimc recommend --user alice --list trending --any-categories comedy
  gsimc recommend --user alice --seen only
  gsimc recommend --history 1375666,0120363 --list together
  gsimc recommend --similar-to 1375666
  gsimc recommend --users events.csv.gz --out lists.csv.gz`
}

// Check checks the flags together.
func (c *Recommend) Check() error {
	errs := []error{c.ServerFlags.Check(), cli.InRange("--items", float64(c.Items), 1, 1000),
		c.placeFlags.check(), c.checkLists()}
	subjects := 0
	for _, given := range []bool{c.User != "", len(c.History) > 0, c.Users != "",
		c.SimilarTo != ""} {
		if given {
			subjects++
		}
	}
	if subjects != 1 {
		errs = append(errs, cli.About("want either %s, %s, %s or %s", "--user", "--history",
			"--users", "--similar-to"))
	}
	if c.SimilarTo != "" && c.forSomebody() {
		errs = append(errs, cli.About("%s goes with %s and the flags for which items only",
			"--similar-to", "--items"))
	}
	if c.Seen != "exclude" && len(c.SeenTypes) > 0 {
		errs = append(errs, cli.About("%s "+c.Seen+" does not go with %s", "--seen",
			"--seen-types"))
	}
	if c.Seen == "only" && c.ReappearAfter > 0 {
		errs = append(errs, cli.About("%s only does not go with %s", "--seen", "--reappear-after"))
	}
	errs = append(errs, cli.InRange("--explain", float64(c.Explain), 0, 50),
		cli.InRange("--beta", c.Beta, 0, 100))
	if c.Explain > 0 && c.Items > 100 {
		errs = append(errs, cli.Flagf("--items", "%d, want at most 100 with --explain", c.Items))
	}
	if c.Seed != 0 && c.Explore != "thompson" {
		errs = append(errs, cli.About("%s goes with %s thompson only", "--seed", "--explore"))
	}
	if c.Beta != 1 && c.Explore == "none" {
		errs = append(errs, cli.About("%s goes with %s only", "--beta", "--explore"))
	}
	if c.Explore != "none" && listKinds[c.List] > pb.ListKind_LIST_KIND_WITHOUT_TRENDS {
		errs = append(errs, cli.About("%s does not go with %s "+c.List, "--explore", "--list"))
	}
	if c.ReappearAfter < 0 {
		errs = append(errs, cli.Flagf("--reappear-after", "%s, want 0s or more", c.ReappearAfter))
	}
	return errors.Join(errs...)
}

// forSomebody reports whether a flag is given that needs somebody to recommend to.
func (c *Recommend) forSomebody() bool {
	return c.Seen != "exclude" || len(c.SeenTypes) > 0 || c.ReappearAfter > 0 ||
		c.MinRevision > 0 || len(c.NamedBoosts) > 0 || c.Attribute || c.List != "personal" ||
		c.Explain > 0 || c.Explore != "none" || c.placeFlags.given()
}

func (c *Recommend) request() *pb.RecommendRequest {
	r := &pb.RecommendRequest{
		PageSize: int32(c.Items), MinUserRevision: c.MinRevision,
		Seen:    &pb.SeenPolicy{EventTypes: c.SeenTypes},
		Explain: int32(c.Explain), Exploration: c.exploration(), Attribute: c.Attribute,
		List: listKinds[c.List], NamedBoosts: c.NamedBoosts,
	}
	if c.User != "" {
		r.Subject = &pb.RecommendRequest_UserId{UserId: c.User}
	} else {
		r.Subject = &pb.RecommendRequest_History{History: inlineHistory(c.History)}
	}
	r.Filter, r.Diversity = c.filter(), c.diversity()
	r.Pinned, _ = c.pins() // checked
	switch {
	case c.Seen == "include":
		r.Seen.Mode = pb.SeenPolicy_MODE_INCLUDE
	case c.Seen == "only":
		r.Seen.Mode = pb.SeenPolicy_MODE_ONLY
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

// listKinds are the values of --list; personal is the default.
var listKinds = map[string]pb.ListKind{
	"without-trends": pb.ListKind_LIST_KIND_WITHOUT_TRENDS,
	"popular":        pb.ListKind_LIST_KIND_POPULAR,
	"trending":       pb.ListKind_LIST_KIND_TRENDING,
	"together":       pb.ListKind_LIST_KIND_TOGETHER,
	"because":        pb.ListKind_LIST_KIND_BECAUSE,
}

// inlineHistory is a history of items, the oldest first.
func inlineHistory(items []string) *pb.InlineHistory {
	history := &pb.InlineHistory{}
	for _, item := range items {
		history.Entries = append(history.Entries, &pb.HistoryEntry{ItemId: item})
	}
	return history
}

// ask returns the list, that of an item as one without a user.
func (c *Recommend) ask(
	ctx context.Context, server pb.RecommenderServiceClient,
) (*pb.RecommendResponse, error) {
	if c.SimilarTo == "" {
		return server.Recommend(ctx, c.request())
	}
	got, err := server.SimilarItems(ctx, &pb.SimilarItemsRequest{ItemId: c.SimilarTo,
		PageSize: int32(c.Items), Filter: c.filter()})
	return &pb.RecommendResponse{Items: got.GetItems(), ModelVersion: got.GetModelVersion(),
		UnknownItemIds: got.GetUnknownItemIds(), Degradations: got.GetDegradations()}, err
}

func (c *Recommend) exploration() *pb.Exploration {
	switch c.Explore {
	case "thompson":
		thompson := &pb.Exploration_Thompson{Seed: c.Seed, Scale: &c.Beta}
		return &pb.Exploration{Strategy: &pb.Exploration_Thompson_{Thompson: thompson}}
	case "ucb":
		ucb := &pb.Exploration_UpperConfidence{Beta: &c.Beta}
		return &pb.Exploration{Strategy: &pb.Exploration_UpperConfidence_{UpperConfidence: ucb}}
	}
	return nil
}

// Run asks for one list and prints it, or for those of many users and writes them.
func (c *Recommend) Run(a *cli.App) error {
	titles, err := cli.Titles(c.ItemsFile)
	if err != nil {
		return err
	}
	if c.Users != "" {
		return c.writeLists(a, titles)
	}
	return c.Call(func(ctx context.Context, conn grpc.ClientConnInterface) error {
		got, err := c.ask(ctx, pb.NewRecommenderServiceClient(conn))
		if err != nil {
			return err
		}
		answer, titles := answerOf(ctx, conn, got, titles)
		answer.Explain, answer.SeenOnly = c.Explain > 0, c.Seen == "only"
		answer.ByNames = c.byNames()
		return answer.print(a, titles, c.JSON)
	})
}
