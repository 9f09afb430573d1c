package repair

import (
	"errors"
	"fmt"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/progress"
	"github.com/gsimc/gsimc/store/pebble"
)

// Salvage is `gsimc salvage`.
type Salvage struct {
	DataDir string `default:"./state" help:"Folder of the damaged store. Its server must be stopped."`
	To      string `required:"" placeholder:"DIR" help:"Folder of the new store, which must be empty or not be there."`
	List    string `placeholder:"FILE" help:"Write the ids of users who are left out to this file, one in a line; in quotes with escapes if it has control characters."`
}

// Help is the manual under the flags.
func (Salvage) Help() string {
	return `Writes the histories of a store that are whole to a new store, and changes nothing in
the old one. It reads on behind damage to files of users, to the log, and to what keeps a server
from starting.

  gsimc salvage --data-dir state --to salvaged --list lost-users
  gsimc serve --model model.gsimc --data-dir salvaged

A damaged item of the catalogue is left out. So is a user whose history is damaged, as a whole,
and named in the file of --list only. If
the old store does not open, events may be missing of which nothing is left: clients that send
their events again with the same ids fill such gaps. Prefer a backup if there is one.

Exit code 0: everything is there. 4: the new store holds what is whole, and something is missing.
1: there is no new store.`
}

// Run prints a table of what was found and written.
func (c *Salvage) Run(a *cli.App) error {
	ctx, stop := cli.InterruptContext()
	defer stop()
	list, done, err := openList(c.List)
	if err != nil {
		return err
	}
	began := time.Now()
	p := a.Progress()
	p.Begin("looking at files", progress.Bytes)
	writing := false
	result, err := pebble.Salvage(ctx, c.DataDir, c.To, pebble.Options{}, p.Update,
		func(events int64) {
			if !writing {
				writing = true
				p.Begin("writing histories", progress.Rows)
			}
			p.Update(events, 0)
		}, list)
	p.End()
	err = errors.Join(err, done())
	if ctx.Err() != nil {
		return cli.ErrInterrupted
	}
	if err != nil {
		return err
	}
	cli.PrintTable(a.Stdout, append(reportRows(&result.Found),
		[]string{"users written", number(result.Users)},
		[]string{"events written", number(result.Events)},
		[]string{"items written", number(result.Items)},
		[]string{"seconds", fmt.Sprintf("%.1f", time.Since(began).Seconds())}), 1)
	return cli.WithCode(cli.ExitLeftOut, missing(c.To, result))
}

// missing says what a new store lacks, or nil.
func missing(to string, s *pebble.Salvaged) error {
	switch {
	case s.Refusal != nil:
		return fmt.Errorf("%s holds what is whole; %d damaged histories are left out, and the "+
			"last events of others may be missing, because the old store does not open: %w", to,
			s.Found.Incomplete, s.Refusal)
	case s.Found.Incomplete > 0 || s.Found.Unnamed > 0:
		return fmt.Errorf("%s holds what is whole; %d damaged histories are left out, and those "+
			"of users who stand only in one of %d damaged parts of files", to,
			s.Found.Incomplete, s.Found.Unnamed)
	case s.Found.DamagedItems > 0:
		return fmt.Errorf("%s holds what is whole; %d damaged items of the catalogue are left out",
			to, s.Found.DamagedItems)
	}
	return nil
}
