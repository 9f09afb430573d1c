package repair

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/progress"
	"github.com/gsimc/gsimc/store/pebble"
)

// Backup is `gsimc backup`.
type Backup struct {
	DataDir string `default:"./state" help:"Data folder of the server. The server must be stopped, or be asked for a checkpoint with --server."`
	To      string `writes:"dir" required:"" placeholder:"DIR" help:"Folder of the backup, which must be empty or not be there."`
	Server  string `group:"Server:" placeholder:"HOST:PORT" help:"Admin address (serve --admin-listen) of the running server. It copies its store and goes on serving."`

	cli.AccessFlags
}

// Help is the manual under the flags.
func (Backup) Help() string {
	return `Copies the store of a server as of one moment, checks every block and every history of
the copy, and writes a manifest: BACKUP.json, with the size and the SHA-256 of each file.

  gsimc backup --data-dir state --server 127.0.0.1:50052 --to backups/2026-11-22
  gsimc restore --from backups/2026-11-22 --data-dir state

All events that were acknowledged before it began are there. A damaged store is not backed up. The
model is not part of it: keep its file beside the backup. A backup holds users who are erased
later.`
}

// Run prints what was backed up.
func (c *Backup) Run(a *cli.App) error {
	ctx, stop := cli.InterruptContext()
	defer stop()
	dir, release, err := cli.Checkpoint(c.Server, c.AccessFlags, c.DataDir)
	if err != nil {
		return err
	}
	defer release()
	m, err := withStages(a, func(
		update func(pebble.Stage, int64, int64),
	) (*pebble.Manifest, error) {
		return pebble.Backup(ctx, dir, c.To, pebble.Options{}, update)
	})
	switch {
	case ctx.Err() != nil:
		return cli.ErrInterrupted
	case errors.Is(err, pebble.ErrInUse):
		return cli.Flagf("--data-dir", "%s is in use by another process: if that is a server, "+
			"give its admin address with --server", c.DataDir)
	case errors.Is(err, fs.ErrNotExist) && c.Server != "":
		return cli.Flagf("--data-dir", "the checkpoint of the server at %s is not there: give the "+
			"data folder of that server; if it is, the server has ended the checkpoint (%v)",
			c.Server, err)
	case err != nil:
		return err
	}
	printManifest(a, m)
	return nil
}

// Restore is `gsimc restore`.
type Restore struct {
	From    string `required:"" placeholder:"DIR" help:"Folder of the backup."`
	DataDir string `writes:"dir" default:"./state" help:"Data folder of the server to be, which must be empty or not be there."`
}

// Help is the manual under the flags.
func (Restore) Help() string {
	return `Makes the data folder of a server from a backup. Each file must be what the manifest
says; a file that is not is named, and nothing is written. The folder gets its name when everything
is in it and has been checked.

  gsimc restore --from backups/2026-11-22 --data-dir state

The store goes on from the moment of the backup: events that were acknowledged later are gone, and
no start complains of that, as it would of an older copy put in place by hand. Clients that send
their events again with the same ids fill the gap. Users who were erased after the backup are back:
delete them again.`
}

// Run prints what was restored.
func (c *Restore) Run(a *cli.App) error {
	if _, err := os.Stat(filepath.Join(c.From, "BACKUP.json")); errors.Is(err, fs.ErrNotExist) {
		return cli.Flagf("--from", "%s is no backup: give the folder that gsimc backup wrote, "+
			"which has a BACKUP.json", c.From)
	}
	ctx, stop := cli.InterruptContext()
	defer stop()
	m, err := withStages(a, func(
		update func(pebble.Stage, int64, int64),
	) (*pebble.Manifest, error) {
		return pebble.Restore(ctx, c.From, c.DataDir, pebble.Options{}, update)
	})
	if ctx.Err() != nil {
		return cli.ErrInterrupted
	}
	if err != nil {
		return err
	}
	printManifest(a, m)
	a.Printf("\nThe store goes on from %s. Later events are gone, and users who were erased later "+
		"are back.\n", m.Made.Format(time.RFC3339))
	return nil
}

// withStages shows the progress of fn.
func withStages(
	a *cli.App, fn func(update func(pebble.Stage, int64, int64)) (*pebble.Manifest, error),
) (*pebble.Manifest, error) {
	p := a.Progress()
	var now pebble.Stage
	defer p.End()
	return fn(func(stage pebble.Stage, done, total int64) {
		if stage != now {
			now = stage
			p.Begin(string(stage), progress.Bytes)
		}
		p.Update(done, total)
	})
}

func printManifest(a *cli.App, m *pebble.Manifest) {
	bytes := int64(0)
	for _, f := range m.Files {
		bytes += f.Bytes
	}
	cli.PrintTable(a.Stdout, [][]string{
		{"made", m.Made.Format(time.RFC3339)},
		{"store id", m.Store},
		{"commit", number(int64(m.Commit))},
		{"files", number(len(m.Files))},
		{"bytes", number(bytes)},
		{"events", number(m.Events)},
		{"users", number(m.Users)},
	}, 1)
}
