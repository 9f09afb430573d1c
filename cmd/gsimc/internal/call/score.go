package call

import (
	"context"
	"errors"

	"google.golang.org/grpc"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
)

// Score is `gsimc score`.
type Score struct {
	cli.ServerFlags

	User    string   `group:"For whom:" placeholder:"ID" help:"A user with a history in the server. For an unknown user the scores are popularities."`
	History []string `group:"For whom:" placeholder:"ITEM,..." help:"Items of an anonymous session, oldest first, in place of --user."`

	Items   []string `group:"The scores:" required:"" placeholder:"ITEM,..." help:"Items to score, 1 to 1000."`
	Seen    string   `group:"The scores:" default:"include" enum:"exclude,include" help:"Items of the history: exclude or include."`
	Explain int      `group:"The scores:" default:"0" help:"Number of items of the history to name for each score, 0 to 50. Above 0, --items has at most 100."`

	titleFlags
	JSON bool `group:"Output:" name:"json" help:"Print one JSON object."`
}

// Help is the manual under the flags.
func (Score) Help() string {
	return `The scores are those of the list that recommend prints, in the order of --items.

  gsimc score --user alice --items 1375666,0120363`
}

// Check checks the flags together.
func (c *Score) Check() error {
	errs := []error{c.ServerFlags.Check(), cli.InRange("--explain", float64(c.Explain), 0, 50)}
	if (c.User == "") == (len(c.History) == 0) {
		errs = append(errs, cli.About("want either %s or %s", "--user", "--history"))
	}
	if n, most := len(c.Items), c.most(); n > most {
		errs = append(errs, cli.Flagf("--items", "%d items, want at most %d", n, most))
	}
	return errors.Join(errs...)
}

// most is the number of items that may be scored.
func (c *Score) most() int {
	if c.Explain > 0 {
		return 100
	}
	return 1000
}

func (c *Score) request() *pb.ScoreItemsRequest {
	r := &pb.ScoreItemsRequest{ItemIds: c.Items, Explain: int32(c.Explain)}
	if c.User != "" {
		r.Subject = &pb.ScoreItemsRequest_UserId{UserId: c.User}
	} else {
		r.Subject = &pb.ScoreItemsRequest_History{History: inlineHistory(c.History)}
	}
	if c.Seen == "include" {
		r.Seen = &pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_INCLUDE}
	}
	return r
}

// Run asks for the scores and prints them.
func (c *Score) Run(a *cli.App) error {
	titles, err := cli.Titles(c.ItemsFile)
	if err != nil {
		return err
	}
	return c.Call(func(ctx context.Context, conn grpc.ClientConnInterface) error {
		got, err := pb.NewRecommenderServiceClient(conn).ScoreItems(ctx, c.request())
		if err != nil {
			return err
		}
		answer, titles := answerOf(ctx, conn, &pb.RecommendResponse{
			Items: got.GetItems(), ModelVersion: got.GetModelVersion(),
			UserRevision: got.GetUserRevision(), Uncertainty: got.Uncertainty,
			UnknownItemIds: got.GetUnknownItemIds(), Degradations: got.GetDegradations(),
		}, titles)
		answer.Excluded, answer.Explain = got.GetExcludedItemIds(), c.Explain > 0
		return answer.print(a, titles, c.JSON)
	})
}
