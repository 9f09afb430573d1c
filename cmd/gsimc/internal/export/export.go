// Package export has the command that writes a whole store to Parquet files, for other programs and
// for trainings elsewhere.
package export

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/progress"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/stores"
	"github.com/gsimc/gsimc/store"
)

// Cmd is `gsimc export`.
type Cmd struct {
	From   string `required:"" placeholder:"STORE" help:"Store to write out: the data folder of a server, valkey://... or postgres://... as for serve --store. The server of a folder must be stopped, or be asked for a checkpoint with --server."`
	To     string `writes:"into" required:"" placeholder:"DIR" help:"Folder for the files, made if absent. Files of the same names are replaced."`
	Server string `group:"Server:" placeholder:"HOST:PORT" help:"Admin address (serve --admin-listen) of the running server whose data folder --from is. It copies its store and goes on serving."`

	cli.AccessFlags
}

// Help is the manual under the flags.
func (Cmd) Help() string {
	return `Writes events.parquet, users.parquet and items.parquet.

  gsimc export --from state --to out
  gsimc export --from state --server 127.0.0.1:50052 --to out
  duckdb -c "select item_id, count(*) from 'out/events.parquet' group by 1 order by 2 desc limit 10"
  gsimc train --data out/events.parquet --type-column event_type --weight-column value --out m.gsimc

events has user_id, item_id, timestamp (microseconds, UTC), event_type, value and event_id, the
events of a user one after the other in the order of the history. users has user_id, events,
first_event and last_event, by their times. items has what the catalogue holds: item_id, title,
categories, labels, hidden, available_from, available_until, embedding and numbers.

A folder is written as of one moment. Of a store that servers share each history is of some moment
during the command. What is damaged is left out, and the command fails after it has written the
rest. Only the owner may read the files. They hold users who are erased later: delete them in time.`
}

// source is the store of --from.
func (c *Cmd) source(env []string) *stores.Source {
	return &stores.Source{Flag: "--from", From: c.From, Server: c.Server, Env: env,
		Access: c.AccessFlags}
}

// Check checks the flags without opening anything.
func (c *Cmd) Check() error { return c.source(nil).Check() }

// Run writes the files and prints what is in them.
func (c *Cmd) Run(a *cli.App) (err error) {
	ctx, stop := cli.InterruptContext()
	defer stop()
	from, err := c.source(a.Env).Open(ctx)
	if errors.Is(err, stores.ErrEnded) {
		return cli.Interrupted("nothing was written")
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if err := os.MkdirAll(c.To, 0o700); err != nil {
		return cli.Flag("--to", cli.PathError(err))
	}
	began, p := time.Now(), a.Progress()
	defer p.End()
	files, err := create(c.To)
	if err != nil {
		return cli.Flag("--to", cli.PathError(err))
	}
	defer func() { err = errors.Join(err, files.abort()) }()
	skipped, err := files.write(ctx, from, p)
	if ctx.Err() != nil {
		p.End()
		return cli.Interrupted("nothing was written")
	}
	if err != nil {
		return err
	}
	p.End()
	if err := files.close(); err != nil {
		return cli.Flagf("--to", "the files are not complete: %v", cli.PathError(err))
	}
	cli.PrintTable(a.Stdout, [][]string{
		{"users", fmt.Sprint(files.users.rows)},
		{"events", fmt.Sprint(files.events.rows)},
		{"items", fmt.Sprint(files.items.rows)},
		{"folder", filepath.Clean(c.To)},
		{"seconds", fmt.Sprintf("%.1f", time.Since(began).Seconds())},
	}, 1)
	return cli.Flag("--from", skipped)
}

// write fills the files. skipped is of what is damaged, and was left out.
func (f *files) write(
	ctx context.Context, from stores.Reading, p progress.Progress,
) (skipped, err error) {
	p.Begin("writing events", progress.Rows)
	err = from.Each(ctx, func(user string, e store.Event) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		p.Update(f.events.rows, 0)
		return cli.Flag("--to", cli.PathError(f.event(user, e)))
	})
	if damaged, ok := errors.AsType[*store.SkippedError](err); ok {
		skipped, err = damaged, nil
	}
	if err = errors.Join(err, f.lastUser()); err != nil {
		return skipped, err
	}
	p.Begin("writing items", progress.Rows)
	err = from.EachItem(ctx, "", func(i store.Item) error {
		p.Update(f.items.rows, 0)
		return cli.Flag("--to", cli.PathError(f.items.add(itemRow{ID: i.ID, Title: i.Title,
			Categories: i.Categories, Labels: i.Labels, Hidden: i.Hidden, From: micros(i.From),
			Until: micros(i.Until), Embedding: i.Embedding, Numbers: i.Numbers})))
	})
	if damaged, ok := errors.AsType[*store.DamagedItemsError](err); ok {
		skipped, err = errors.Join(skipped, damaged), nil
	}
	return skipped, err
}
