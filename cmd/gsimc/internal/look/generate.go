package look

import (
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/progress"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/dataset/synthetic"
)

// Generate is `gsimc generate`.
type Generate struct {
	Users  int    `default:"10000" help:"Users."`
	Items  int    `default:"2000" help:"Items."`
	Events int64  `default:"500000" help:"Events in total: from one for each user to every item for every user."`
	Seed   uint64 `default:"1" help:"Another seed gives another catalogue and other users."`
	Out    string `writes:"file" required:"" placeholder:"FILE" help:"CSV file to write, compressed if it ends in .gz or .zst; it is replaced in one step when the new one is complete."`
}

// Help is the manual under the flags.
func (Generate) Help() string {
	return `Popularity follows a power law. Users mix a few communities of items by a taste that ` +
		`drifts, and items have likely successors, so that both personalisation and order ` +
		`matter. ` +
		`The file depends on the flags alone. Memory does not grow with users or events.

  gsimc generate --users 3000 --items 1000 --events 120000 --seed 1 --out events.csv.gz`
}

func (c *Generate) config() synthetic.Config {
	return synthetic.Config{Users: c.Users, Items: c.Items, Events: c.Events, Seed: c.Seed}
}

// Check checks the flags together.
func (c *Generate) Check() error {
	err := c.config().Validate()
	switch name := strings.ToLower(c.Out); {
	case strings.HasSuffix(name, ".parquet"), strings.HasSuffix(name, ".jsonl"):
		err = errors.Join(err, cli.Flagf("--out",
			"%s: the file is CSV, so its name must end in .csv, .csv.gz or .csv.zst", c.Out))
	}
	return err
}

// Run writes the file and prints its size.
func (c *Generate) Run(a *cli.App) error {
	if err := cli.Writable("--out", c.Out); err != nil {
		return err
	}
	begin, p := time.Now(), a.Progress()
	ctx, stop := cli.InterruptContext()
	defer stop()
	out, err := dataset.Create(c.Out)
	if err != nil {
		return cli.Flag("--out", err)
	}
	p.Begin("generating events", progress.Rows)
	err = cli.Complete(ctx, out, func(w io.Writer) error {
		return synthetic.Generate(w, c.config(), func(events int64) { p.Update(events, c.Events) })
	})
	p.End()
	if errors.Is(err, cli.ErrInterrupted) {
		return cli.Interrupted("%s is not written; the same command begins anew", c.Out)
	}
	if err != nil {
		return err
	}
	info, err := os.Stat(c.Out)
	if err != nil {
		return err
	}
	a.Printf("%s: %d users, %d items, %d events, %s in %s\n", c.Out, c.Users, c.Items, c.Events,
		cli.BytesText(info.Size()), time.Since(begin).Round(time.Millisecond))
	return nil
}
