package call

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"google.golang.org/grpc"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/wire"
)

// Models is `gsimc models`.
type Models struct {
	cli.ServerFlags `set:"port=50052"`

	With []string `group:"Server:" placeholder:"HOST:PORT" help:"Admin address of another server of the store, with the same --arm and --arm-salt: what the servers have counted is added up. May be given several times."`
	JSON bool     `group:"Output:" name:"json" help:"Print one JSON object."`
}

// Help is the manual under the flags.
func (Models) Help() string {
	return `Prints the models that answer, the share of the users that each has, and how a canary
compares with main. With arms it prints below what their users did since the start of the server
with lists that had a recommendation_id: hits are new events of positive weight about items of the
own arm's lists. Intervals (95 %) and p are valid however often one looks. "users needed" are those
that would yet have to come to show the present difference, "for 5 %" a difference of 5 % of main's
rate, with a probability of 80 %. --server is the address of --admin-listen.

  gsimc models --server a:50052 --with b:50052 --with c:50052

adds up the counts of three servers. Models, shares and canaries are then those of --server.`
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
	first, err := c.ask()
	if err != nil {
		return err
	}
	models, met := first.GetModels(), []string{first.GetServerId()}
	for _, other := range c.With {
		one := *c
		one.Server = other
		more, err := one.ask()
		if err != nil {
			return cli.Flag("--with", err)
		}
		if slices.Contains(met, more.GetServerId()) {
			return cli.Flagf("--with", "%s is a server that is there already: it would count "+
				"double", other)
		}
		met = append(met, more.GetServerId())
		if !wire.AddOutcomes(models, more.GetModels()) {
			return cli.Flagf("--with", "%s has other arms than %s, or other shares of them", other,
				c.Server)
		}
	}
	if len(c.With) > 0 {
		wire.Judge(models)
	}
	list := []armModel{}
	for _, m := range models {
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
}

// ask returns the models of one server.
func (c *Models) ask() (got *pb.ListModelsResponse, err error) {
	err = c.Call(func(ctx context.Context, conn grpc.ClientConnInterface) (err error) {
		got, err = pb.NewAdminServiceClient(conn).ListModels(ctx, &pb.ListModelsRequest{})
		return err
	})
	return got, err
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
