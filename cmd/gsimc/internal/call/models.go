package call

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/fault"
)

// Models is `gsimc models`.
type Models struct {
	cli.ServerFlags `set:"port=50052"`

	With  []string `group:"Server:" placeholder:"HOST:PORT" help:"Admin address of another server of the store, with the same --arm and --arm-salt: what the servers have counted is added up. May be given several times."`
	Share []string `group:"Shares:" sep:"none" placeholder:"NAME=PERCENT" help:"Give this arm another share of the users, 0 to 100, at --server and at each --with, until they are started anew. Main has what the arms leave. If a share changes, a comparison that is under way ends, and begins anew. May be given several times."`
	JSON  bool     `group:"Output:" name:"json" help:"Print one JSON object."`
}

// Help is the manual under the flags.
func (Models) Help() string {
	return `Prints the models that answer, the share of the users that each has, and how a canary
compares with main. With arms it prints below what their users did with lists that had a
recommendation_id, since the start of the server or the last --share: hits are new events about
items of the own arm's lists, whose weight times value is positive. The sum of their values stands
behind their number by type, where it is another number; types to which serve gives no weight
(--event-weight), except like, are together "other". Intervals (95 %) and p are valid however often
one looks. "users needed" is the number of further users who would show the present difference with
a probability of 80 %, and "for 5 %" the number of those who would show a difference of 5 % of
main's rate. --server is the address of --admin-listen.

  gsimc models --server a:50052 --with b:50052 --with c:50052

adds up the counts of three servers. Models, shares and canaries are then those of --server.

  gsimc models --share next=25 --server a:50052 --with b:50052 --with c:50052

lets the arm next answer 25 % of the users, without a restart. A larger share of the last arm takes
users from main; one of another arm takes users from the arm behind it, that one from the next, and
the last one from main. The comparison begins anew; that of a canary with main goes on, as the
models are the same. Give --arm of serve the same shares, which hold after a restart. --share stands
on the command line alone: it has no variable of the environment and no key in the file of
--config.`
}

// Check checks the flags.
func (c *Models) Check() error {
	_, err := c.shares()
	return errors.Join(c.ServerFlags.Check(), err)
}

// shares reads --share.
func (c *Models) shares() (all []*pb.ArmShare, err error) {
	given := map[string]bool{}
	for _, text := range c.Share {
		name, share, _ := strings.Cut(text, "=")
		percent, bad := strconv.ParseFloat(strings.TrimSuffix(share, "%"), 64)
		if bad != nil || name == "" || !(percent >= 0 && percent <= 100) {
			return nil, cli.Flagf("--share", "%q, want NAME=PERCENT, such as next=25, from 0 "+
				"to 100; and another --share for another arm", text)
		}
		if given[name] {
			return nil, cli.Flagf("--share", "%s is given twice", name)
		}
		given[name] = true
		all = append(all, &pb.ArmShare{Arm: name, SharePercent: &percent})
	}
	return all, nil
}

// armModel is a model as `gsimc models --json` prints it.
type armModel struct {
	Arm        string  `json:"arm"`
	Version    string  `json:"version"`       // of the file
	Answers    string  `json:"model_version"` // of the model with its new items and trends
	Items      int64   `json:"item_count"`    // new items included
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

// Run asks the servers and prints.
func (c *Models) Run(a *cli.App) error {
	servers, err := c.ask()
	if err != nil {
		return err
	}
	before := servers
	if len(c.Share) > 0 {
		if err := c.give(servers); err != nil {
			return err
		}
		if servers, err = c.ask(); err != nil {
			return fault.In("the servers have the new shares, and do not show them", err)
		}
	}
	models, err := added(servers)
	if err != nil {
		return err
	}
	list := []armModel{}
	for _, m := range models {
		of := armModel{Arm: m.GetArm(), Version: m.GetModel().GetVersion(),
			Answers: m.GetModel().GetModelVersion(),
			Items:   m.GetModel().GetItemCount(), Share: m.GetSharePercent(),
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
	if len(c.Share) > 0 {
		anew := ""
		if !slices.EqualFunc(before, servers, sameShares) {
			anew = "the comparison of the arms began anew, and "
		}
		a.Printf("\nnote: %sthese shares hold until a server is started anew: give them to --arm "+
			"of serve too\n", anew)
	}
	return nil
}

func printModels(a *cli.App, list []armModel) {
	rows := [][]string{{"arm", "model", "items", "share", "canary"}}
	for _, m := range list {
		trial := ""
		if t := m.Canary; t != nil {
			trial = fmt.Sprintf("gain %.4f of %d events, main %.4f of %d, ± %.4f", t.Gain, t.Events,
				t.MainGain, t.MainEvents, t.Error)
			if t.Returned {
				trial = "worse, its users went to main: " + trial
			}
		}
		rows = append(rows, []string{m.Arm, m.Answers, strconv.FormatInt(m.Items, 10),
			strconv.FormatFloat(m.Share, 'g', 4, 64) + " %", trial})
	}
	cli.PrintTable(a.Stdout, rows, 2, 3)
}
