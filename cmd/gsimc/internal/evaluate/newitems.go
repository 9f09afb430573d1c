package evaluate

import (
	"errors"
	"fmt"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/data"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/progress"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/evaluate"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/spectral"
)

// protocolNewItems is the value of `evaluate --protocol` for items that come after the training.
const protocolNewItems = "new-items"

// checkNewItems checks the flags of the protocol.
func (c *Cmd) checkNewItems() error {
	if c.Protocol != protocolNewItems {
		return nil
	}
	_, err := c.newItemsMethods()
	return errors.Join(err, cli.Above("--new-share", c.NewShare, 0),
		cli.Below("--new-share", c.NewShare, 1),
		cli.Above("--shown-share", c.ShownShare, 0),
		cli.InRange("--shown-share", c.ShownShare, 0, 1))
}

// newItemsMethods are those of --methods, which must have models.
func (c *Cmd) newItemsMethods() (chosen []evaluate.ModelMethod, err error) {
	if c.Methods == "" || c.Methods == "all" {
		return []evaluate.ModelMethod{evaluate.LearnedDynamics()}, nil
	}
	methods, err := evaluate.ParseMethods(c.Methods)
	if err != nil {
		return nil, nil // reported by Validate
	}
	for _, m := range methods {
		ranker, ok := m.(evaluate.ModelMethod)
		if !ok {
			return nil, cli.Flagf("--methods",
				"%s has no model to be extended by new items: leave it out", m.Name())
		}
		chosen = append(chosen, ranker)
	}
	return chosen, nil
}

// newItems runs the protocol and prints a table or a JSON object for each method.
func (c *Cmd) newItems(a *cli.App, p progress.Progress, part *dataset.Partition) error {
	methods, err := c.newItemsMethods()
	if err != nil {
		return cli.Usage(err)
	}
	x, err := evaluate.HideItems(part, evaluate.HiddenItems{
		Share: c.NewShare, Shown: c.ShownShare, Seed: c.Seed,
	})
	if err != nil {
		return err
	}
	reports := map[string]any{}
	for _, method := range methods {
		results, err := c.compareNewItems(p, x, method)
		if err != nil {
			return err
		}
		if c.JSON {
			reports[method.Name()] = newItemsFigures(results)
			continue
		}
		fmt.Fprintf(a.Stdout,
			"%s: %d of %d items are hidden from the training\n"+
				"the histories of %.0f %% of the %d training users show them afterwards\n\n",
			method.Name(), len(x.Hidden), len(part.Items), 100*c.ShownShare, part.Train.Len())
		printNewItems(a.Stdout, results)
	}
	if c.JSON {
		return a.PrintJSON(map[string]any{
			"items": len(part.Items), "hidden": len(x.Hidden), "methods": reports,
		})
	}
	return nil
}

// compareNewItems trains the models of x and compares them.
func (c *Cmd) compareNewItems(
	p progress.Progress, x *evaluate.NewItems, method evaluate.ModelMethod,
) ([]evaluate.NewItemsResult, error) {
	var models evaluate.NewItemsModels
	for _, each := range []struct {
		m    **model.Model
		part *dataset.Partition
	}{{&models.Full, x.Full}, {&models.Reduced, x.Reduced}, {&models.Shown, x.Shown}} {
		var err error
		if *each.m, err = c.modelOf(p, each.part, method); err != nil {
			return nil, err
		}
	}
	p.Begin("ranking test users", progress.Steps)
	defer p.End()
	return x.Compare(method, models, func(done, total int) {
		p.Update(int64(done), int64(total))
	})
}

// modelOf trains the model of a method.
func (c *Cmd) modelOf(
	p progress.Progress, part *dataset.Partition, method evaluate.ModelMethod,
) (*model.Model, error) {
	dynamics, filter := model.DynamicsNone, method.Filter()
	if method.Learned() {
		dynamics, filter = model.DynamicsLearned, spectral.RandomWalk
	}
	cfg := c.ModelFlags.Config(&c.GraphFlags, c.ModelFlags.Spec(&c.GraphFlags, dynamics, filter))
	cfg.Progress = data.Stages(p)
	defer p.End()
	result, err := train.Run(part, cfg)
	if err != nil {
		return nil, err
	}
	return result.Model, nil
}

// newItemsFigures are what --json prints of a method: figures of each model on the new targets and
// on the others.
func newItemsFigures(results []evaluate.NewItemsResult) map[string]any {
	models := map[string]any{}
	for i := range results {
		r := &results[i]
		models[r.Model] = map[string]any{
			"items": r.Items, "placed": r.Placed,
			"new":   map[string]any{"users": len(r.New.Ranks), "figures": r.New.Figures()},
			"known": map[string]any{"users": len(r.Known.Ranks), "figures": r.Known.Figures()},
		}
	}
	figures := map[string]any{"models": models}
	if share, ok := evaluate.ReachedHR(results, evaluate.FullModel, 50); ok {
		figures["hr@50 reached"] = share
	}
	if share, ok := evaluate.ReachedHR(results, evaluate.ShownModel, 50); ok {
		figures["hr@50 over trained on what was shown"] = share
	}
	return figures
}
