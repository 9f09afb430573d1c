package repair

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/progress"
	"github.com/gsimc/gsimc/store/pebble"
)

// Salvage is `gsimc salvage`.
type Salvage struct {
	DataDir string `default:"./state" help:"Folder of the damaged store. Its server must be stopped."`
	To      string `writes:"dir" required:"" placeholder:"DIR" help:"Folder of the new store, which must be empty or not be there."`
	List    string `writes:"file" placeholder:"FILE" help:"Write the ids of users who are left out to this file, one in a line; in quotes with escapes if it has control characters. FILE.doubtful and FILE.ranges have more, see below."`
}

// Help is the manual under the flags.
func (Salvage) Help() string {
	return `Writes the histories of a store that are whole to a new store, and changes nothing in
the old one. Single flipped bits of tables are flipped back in what is read. It reads on behind
other damage to files of users, to the log, and to what keeps a server from starting; tables that
are cut off, gone or unreadable are left out.

  gsimc salvage --data-dir state --to salvaged --list lost-users
  gsimc serve --model model.gsimc --data-dir salvaged

A damaged item of the catalogue is left out. So is a user whose history is damaged, as a whole, and
named in the file of --list only. FILE.doubtful names users whose histories are written, but of
whom a table that is left out may have had more: they may lack their last events, or have been
erased. Users who stood only in what cannot be read have no names: they are counted, and FILE.ranges
has the ids between which theirs lie, in the order of their length first. If the old store does not
open, events may be missing of which nothing is left: clients that send their events again with the
same ids fill such gaps. Prefer a backup if there is one.

Exit code 0: everything is there. 4: the new store holds what is whole, and something is missing.
1: there is no new store.`
}

// Run prints a table of what was found and written.
func (c *Salvage) Run(a *cli.App) error {
	ctx, stop := cli.InterruptContext()
	defer stop()
	list, err := openList(c.List)
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
		}, list.add)
	p.End()
	if err == nil {
		err = list.ranges(result.Found.Unnamed)
	}
	err = errors.Join(err, list.close())
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
	if result.Found.Mendable > 0 {
		a.Printf("\nFlipped bits of tables were flipped back in what was read.\n")
	}
	return cli.WithCode(cli.ExitLeftOut, missing(c.To, result))
}

// missing says what a new store lacks, or nil.
func missing(to string, s *pebble.Salvaged) error {
	lacks := losses(&s.Found)
	if len(lacks) == 0 {
		return nil
	}
	err := fmt.Errorf("%s holds what is whole; %s", to, strings.Join(lacks, "; "))
	if s.Found.Refusal != nil {
		err = fmt.Errorf("%w; the old store does not open: %w", err, s.Found.Refusal)
	}
	return err
}

// losses says what cannot be read of a store, even if its flipped bits are flipped back.
func losses(r *pebble.Report) (texts []string) {
	say := func(holds bool, format string, args ...any) {
		if holds {
			texts = append(texts, fmt.Sprintf(format, args...))
		}
	}
	say(r.Incomplete > 0, "damaged histories are left out (%d)", r.Incomplete)
	say(r.Lost() > 0, "%s %s stood only in what cannot be read (there were %d %s)",
		nearly(r), cli.Counted(r.Lost(), "user"), r.Existed, asOf(r))
	say(r.Lost() < 0, "users who stood only in what cannot be read are not counted, since the old "+
		"store does not know how many there were")
	say(r.Doubtful > 0, "histories may lack their last events, or be those of erased users (%d)",
		r.Doubtful)
	bound := ""
	switch {
	case r.LostCommits == 0:
		bound = ", of the last 100 ms before a crash"
	case r.LostCommits > 0:
		bound = fmt.Sprintf(", of at most %s and of the last 100 ms before a crash",
			cli.Counted(r.LostCommits, "commit"))
	}
	say(r.Loss != nil, "the last events of others may be missing%s", bound)
	say(r.DamagedItems > 0, "damaged items of the catalogue are left out (%d)", r.DamagedItems)
	say(r.DoubtfulItems, "items of the catalogue may be missing or out of date")
	return texts
}

// asOf says at which moment there were r.Existed users.
func asOf(r *pebble.Report) string {
	switch {
	case r.AsOf.IsZero() && r.Loss != nil:
		return "after the last commit that can be read"
	case r.AsOf.IsZero():
		return "after its last commit"
	}
	return "at " + r.AsOf.UTC().Format("2006-01-02 15:04:05.000") + " UTC"
}

// nearly says how good the number of users is who were not found: after a time that is known users
// may have begun or been erased.
func nearly(r *pebble.Report) string {
	if r.AsOf.IsZero() {
		return "at least"
	}
	return "about"
}
