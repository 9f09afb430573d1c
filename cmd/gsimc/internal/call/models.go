package call

import (
	"context"
	"fmt"
	"strconv"

	"google.golang.org/grpc"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
)

// Models is `gsimc models`.
type Models struct {
	cli.ServerFlags `set:"port=50052"`

	JSON bool `group:"Output:" name:"json" help:"Print one JSON object."`
}

// Help is the manual under the flags.
func (Models) Help() string {
	return `Prints the models that answer, the share of the users that each has, and how a canary
compares with main. With arms it prints below what their users did since the start of the server
with lists that had a recommendation_id: hits are new events of positive weight about items of the
own arm's lists. Intervals (95 %) and p are valid however often one looks. "users needed" are those
that would yet have to come to show the present difference, "for 5 %" a difference of 5 % of main's
rate, with a probability of 80 %. --server is the address of --admin-listen.`
}

// armModel is a model as `gsimc models --json` prints it.
type armModel struct {
	Arm        string  `json:"arm"`
	Version    string  `json:"version"`
	Items      int64   `json:"item_count"`
	Share      float64 `json:"share_percent"`
	Configured float64 `json:"configured_share_percent"`
	Canary     *canary `json:"canary,omitempty"`

	Outcome *armOutcome `json:"outcome,omitempty"`
}

type canary struct {
	Returned   bool    `json:"returned"`
	Gain       float64 `json:"gain"`
	MainGain   float64 `json:"main_gain"`
	Error      float64 `json:"standard_error"`
	Events     int64   `json:"event_count"`
	MainEvents int64   `json:"main_event_count"`
}

// Run asks the server and prints.
func (c *Models) Run(a *cli.App) error {
	return c.Call(func(ctx context.Context, conn grpc.ClientConnInterface) error {
		got, err := pb.NewAdminServiceClient(conn).ListModels(ctx, &pb.ListModelsRequest{})
		if err != nil {
			return err
		}
		list := []armModel{}
		for _, m := range got.GetModels() {
			of := armModel{Arm: m.GetArm(), Version: m.GetModel().GetVersion(),
				Items: m.GetModel().GetItemCount(), Share: m.GetSharePercent(),
				Configured: m.GetConfiguredSharePercent(), Outcome: outcomeOf(m.GetOutcome())}
			if t := m.GetCanary(); t != nil {
				of.Canary = &canary{t.GetReturned(), t.GetGain(), t.GetMainGain(),
					t.GetStandardError(), t.GetEventCount(), t.GetMainEventCount()}
			}
			list = append(list, of)
		}
		if c.JSON {
			return a.PrintJSON(map[string]any{"models": list})
		}
		printModels(a, list)
		printOutcomes(a, list)
		return nil
	})
}

func printModels(a *cli.App, list []armModel) {
	rows := [][]string{{"arm", "model", "items", "users", "canary"}}
	for _, m := range list {
		trial := ""
		if t := m.Canary; t != nil {
			trial = fmt.Sprintf("gain %.4f of %d events, main %.4f of %d, ± %.4f", t.Gain, t.Events,
				t.MainGain, t.MainEvents, t.Error)
			if t.Returned {
				trial = "worse, its users went to main: " + trial
			}
		}
		rows = append(rows, []string{m.Arm, m.Version, strconv.FormatInt(m.Items, 10),
			strconv.FormatFloat(m.Share, 'g', 4, 64) + " %", trial})
	}
	cli.PrintTable(a.Stdout, rows, 2, 3)
}
