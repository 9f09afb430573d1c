package call

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/gsimc/gsimc/client"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/file/linefile"
)

// Tail is `gsimc tail`.
type Tail struct {
	cli.ServerFlags

	Out   string        `writes:"dir" placeholder:"FILE" help:"File that gets the lines at its end, made if absent. FILE.cursor beside it keeps how far they have come, and the next run goes on there. Without it standard output gets the events of all users from the first on."`
	Every time.Duration `default:"10s" help:"Time from one pass over all users to the next. 0: one pass."`
}

// Help is the manual under the flags.
func (Tail) Help() string {
	return `Writes all events that the server holds as JSON Lines, and then what is new, until it is
interrupted. The lines of a user stand in the order of the history:

  {"user_id":"ann","item_id":"7","event_type":"like","event_time":"2026-01-31T12:00:00Z",
   "value":1,"event_id":"e1","revision":1}
  {"user_id":"ann","erased":true}

After a line with "erased" no earlier line of the user holds: the user was erased, or the history is
told anew, as when events were retracted or merged; then the lines that hold follow. After a kill
some lines come again, with the same revision. A pass lists all users, so its time grows with their
number. A call for changes ends after a minute, and --timeout is not used. The server wants the role
user.

  gsimc tail --out changes.jsonl
  gsimc tail --every 0 | jq -r .item_id | sort | uniq -c`
}

// Check checks the flags.
func (c *Tail) Check() error {
	err := c.ServerFlags.Check()
	if c.Every != 0 && c.Every < time.Millisecond {
		err = errors.Join(err, fault.New("--every", c.Every, "0s or at least 1ms"))
	}
	return err
}

// Run writes changes until a signal comes.
func (c *Tail) Run(a *cli.App) (err error) {
	out, cursor, err := c.open(a.Stdout)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.close()) }()
	conn, err := c.Dial()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	ctx, stop := cli.InterruptContext()
	defer stop()
	damaged := 0
	err = conn.Follow(ctx, client.FollowOptions{Cursor: cursor, Every: c.Every, Row: out.add,
		Flush: out.flush,
		Passed: func(p client.Pass) {
			if p.Damaged != damaged {
				fmt.Fprintf(a.Stderr, "histories that cannot be read, and are not in the output: "+
					"at least %d; see gsimc verify\n", p.Damaged)
			}
			damaged = p.Damaged
		},
		Troubled: func(err error) { fmt.Fprintf(a.Stderr, "%v: trying again\n", err) },
	})
	switch {
	case c.Every > 0 && err == context.Canceled: //nolint:errorlint // alone: all is kept
		return nil // which is how it ends
	case err == context.Canceled: //nolint:errorlint // as above
		return cli.Interrupted("the same command goes on")
	case err != nil:
		return cli.Advise(ofOut(err))
	case damaged > 0:
		return errors.New("the output is not complete")
	}
	return nil
}

// open opens the output. A cursor needs a file: of what a pipe has taken nobody knows whether its
// reader has kept it.
func (c *Tail) open(stdout io.Writer) (out *lines, cursor string, err error) {
	if c.Out == "" {
		return &lines{to: stdout}, "", nil
	}
	cursor = c.Out + ".cursor"
	if there, err := os.Stat(c.Out); err == nil && there.Mode().IsRegular() && there.Size() > 0 {
		if _, err := os.Stat(cursor); errors.Is(err, fs.ErrNotExist) {
			return nil, "", cli.Flagf("--out", "%s has lines, and %s is not there, so users who "+
				"were erased meanwhile would stay: bring it back, empty the file if it is an old "+
				"copy, or choose another name", c.Out, cursor)
		}
	}
	file, err := linefile.Open(c.Out)
	if err != nil {
		return nil, "", cli.Flag("--out", err)
	}
	return &lines{file: file}, cursor, nil
}

// ofOut names the flag by which the file of the cursor was given.
func ofOut(err error) error {
	if bad := new(fault.Fault); errors.As(err, &bad) && bad.Field == "Cursor" {
		bad.Field = "--out"
	}
	return err
}

// lines gathers lines for a file or for another output.
type lines struct {
	file *linefile.File // nil: to
	to   io.Writer
	text bytes.Buffer
}

// add takes a line.
func (l *lines) add(_ string, line []byte) error {
	l.text.Write(line)
	l.text.WriteByte('\n')
	if l.text.Len() > 64<<10 {
		return l.write()
	}
	return nil
}

// write writes what was taken.
func (l *lines) write() error {
	defer l.text.Reset()
	if l.file != nil {
		return cli.Flag("--out", l.file.Add(l.text.Bytes()))
	}
	_, err := l.to.Write(l.text.Bytes())
	return err
}

// flush has what was taken on the disk.
func (l *lines) flush(context.Context) error {
	err := l.write()
	if l.file != nil && err == nil {
		err = cli.Flag("--out", l.file.Sync())
	}
	return err
}

func (l *lines) close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}
