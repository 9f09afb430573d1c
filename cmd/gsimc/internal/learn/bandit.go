package learn

import (
	"errors"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/learn/train"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/progress"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/evaluate"
)

// protocolBandit is the value of `evaluate --protocol` for new users who are shown lists.
const protocolBandit = "bandit"

// checkBandit checks the flags of the protocol.
func (c *Evaluate) checkBandit() error {
	if c.Protocol != protocolBandit {
		return nil
	}
	var errs []error
	if c.Methods != "" && c.Methods != "all" && c.Methods != evaluate.Dynamics {
		errs = append(errs, cli.Flagf("--methods", "%s does not know its uncertainty, only %s does",
			c.Methods, evaluate.Dynamics))
	}
	if c.NoDeviation {
		errs = append(errs, cli.About("%s leaves no uncertainty to explore", "--no-deviation"))
	}
	errs = append(errs, cli.InRange("--bandit-users", float64(c.BanditUsers), 0, 1e9))
	return errors.Join(errs...)
}

// bandit runs the simulation and prints a table or a JSON object.
func (c *Evaluate) bandit(a *cli.App, p progress.Progress, part *dataset.Partition) error {
	m, err := c.modelOf(p, part, evaluate.LearnedDynamics())
	if err != nil {
		return err
	}
	b := evaluate.DefaultBandit()
	b.Users, b.Seed = c.BanditUsers, c.Seed
	p.Begin("showing lists", progress.Steps)
	b.Progress = func(done, total int) { p.Update(int64(done), int64(total)) }
	results, err := b.Run(m, train.Histories(&part.Test), evaluate.Policies())
	p.End()
	if err != nil {
		return err
	}
	if c.JSON {
		return a.PrintJSON(map[string]any{
			"impressions": b.Impressions, "list": b.List, "hits_wanted": b.Hits,
			"policies": results,
		})
	}
	a.Printf("%d new users, %d lists of %d items each\n"+
		"a shown item that the user took according to the data is a hit\n\n",
		results[0].Users, b.Impressions/b.List, b.List)
	printPolicies(a.Stdout, results, b.Hits)
	return nil
}
