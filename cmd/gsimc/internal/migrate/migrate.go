// Package migrate has the command that copies the histories and the catalogue of one store to
// another one, of the same or of another kind, and compares them afterwards.
package migrate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/progress"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/stores"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble"
)

// Cmd is `gsimc migrate`.
type Cmd struct {
	From string `required:"" placeholder:"STORE" help:"Store to copy: the data folder of a server, valkey://... or postgres://... as for serve --store."`
	To   string `writes:"store" required:"" placeholder:"STORE" help:"Store to copy to, likewise. A folder is made if absent."`
}

// Help is the manual under the flags.
func (Cmd) Help() string {
	return `Copies the histories, with the order, ids, times and values of all events, and the
catalogue of items. Then it reads both stores and compares users, events and items one by one.

  gsimc migrate --from state --to 'postgres://gsimc@db-1,db-2/gsimc?target_session_attrs=read-write'
  gsimc migrate --from valkey://h1:6379,h2:6379/shop --to state

Stop the servers of both stores before: an event that arrives meanwhile makes the comparison fail.
It is safe to repeat the command, and it goes on where it was interrupted, because an event id is
applied once. Before anything is written, the target is looked at: a history there must be a
beginning of the one in the source, and an item there the same as in the source.

Revisions stay, marks do not: servers read the histories anew, and session tokens of the old store
are not those of the new one. The model is a file of its own. Copy it beside.`
}

// Check checks the stores without opening them.
func (c *Cmd) Check() error {
	var same error
	if c.From == c.To {
		same = cli.Flagf("--to", "it is the store of --from")
	}
	return errors.Join(check("--from", c.From), check("--to", c.To), same)
}

func check(flag, text string) error {
	if !stores.IsURL(text) {
		return nil
	}
	return stores.Check(flag, text)
}

// Run prints what was copied.
func (c *Cmd) Run(a *cli.App) (err error) {
	ctx, stop := cli.InterruptContext()
	defer stop()
	if !stores.IsURL(c.From) {
		if _, err := os.Stat(c.From); err != nil {
			return cli.Flag("--from", cli.PathError(err))
		}
	}
	from, err := open(ctx, a, "--from", c.From)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := open(ctx, a, "--to", c.To)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	return run(ctx, a, from, to)
}

func run(ctx context.Context, a *cli.App, from, to store.Items) error {
	began := time.Now()
	p := a.Progress()
	defer p.End()
	m := &migration{from: from, to: to, progress: p}
	for _, stage := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"looking at the target", m.inspect}, {"copying histories", m.histories},
		{"copying items", m.items}, {"comparing", m.compare},
	} {
		p.Begin(stage.name, progress.Rows)
		m.rows.Store(0)
		if err := stage.run(ctx); ctx.Err() != nil {
			p.End()
			return cli.Interrupted("repeat the command to go on")
		} else if err != nil {
			return err
		}
	}
	p.End()
	cli.PrintTable(a.Stdout, [][]string{
		{"users", fmt.Sprint(m.users)},
		{"events", fmt.Sprint(m.events)},
		{"of them copied now", fmt.Sprint(m.copied.Load())},
		{"items", fmt.Sprint(m.itemCount)},
		{"compared", "all are equal"},
		{"seconds", fmt.Sprintf("%.1f", time.Since(began).Seconds())},
	}, 1)
	return nil
}

// open opens a store by its folder or URL.
func open(ctx context.Context, a *cli.App, flag, text string) (store.Items, error) {
	if stores.IsURL(text) {
		s, err := stores.Open(ctx, text, stores.Settings{Env: a.Env, Flag: flag,
			Log: slog.New(slog.DiscardHandler)})
		if errors.Is(err, stores.ErrEnded) {
			return nil, cli.Interrupted("nothing was copied")
		}
		if err != nil {
			return nil, err
		}
		items, ok := s.(store.Items)
		if !ok {
			return nil, errors.Join(cli.Flagf(flag, "this store keeps no items"), s.Close())
		}
		return items, nil
	}
	if err := os.MkdirAll(text, 0o700); err != nil {
		return nil, cli.Flag(flag, cli.PathError(err))
	}
	s, err := pebble.Open(ctx, text, pebble.Options{})
	switch {
	case errors.Is(err, pebble.ErrInUse):
		return nil, cli.Flagf(flag, "%s is in use by another process: stop its server", text)
	case errors.Is(err, fs.ErrNotExist):
		return nil, cli.Flag(flag, cli.PathError(err))
	case err != nil:
		return nil, cli.Flag(flag, err)
	}
	return s, nil
}
