package call

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/gsimc/gsimc/client"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/fault"
)

// Tail is `gsimc tail`.
type Tail struct {
	cli.ServerFlags

	Cursor string        `placeholder:"FILE" help:"File that keeps how far the output has come, made if absent. The next run goes on there. Without it each run begins with the first event of each user."`
	Every  time.Duration `default:"10s" help:"Time from one pass over all users to the next. 0: one pass."`
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
number. The server wants the role user.

  gsimc tail --cursor lake.cursor >> changes.jsonl
  gsimc tail --every 0 | jq -r .item_id | sort | uniq -c`
}

// Check checks the flags.
func (c *Tail) Check() error {
	if c.Every < 0 {
		return errors.Join(c.ServerFlags.Check(), fault.New("--every", c.Every, "at least 0s"))
	}
	return c.ServerFlags.Check()
}

// Run writes changes until a signal comes.
func (c *Tail) Run(a *cli.App) (err error) {
	out, err := newLines(a.Stdout)
	if err != nil {
		return err
	}
	conn, err := c.Dial()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	ctx, stop := cli.InterruptContext()
	defer stop()
	damaged := 0
	err = conn.Follow(ctx, client.FollowOptions{Cursor: c.Cursor, Every: c.Every, Row: out.add,
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
		return cli.Advise(err)
	case damaged > 0:
		return errors.New("the output is not complete")
	}
	return nil
}

// lines are those of an output, which gets whole ones.
type lines struct {
	to   io.Writer
	text bytes.Buffer
	file *os.File // to, if it is a file
	size int64    // of the file
}

// newLines goes on behind what a file has, on a new line if a kill has left half of one.
func newLines(to io.Writer) (*lines, error) {
	l := &lines{to: to}
	file, ok := to.(*os.File)
	if !ok {
		return l, nil
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return l, err
	}
	l.file, l.size = file, info.Size()
	// The file may be open for writing alone. Where there is no such name, readers see half a line.
	if read, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", file.Fd())); err == nil && l.size > 0 {
		last := []byte{'\n'}
		_, err = read.ReadAt(last, l.size-1)
		if _ = read.Close(); err == nil && last[0] != '\n' {
			l.text.WriteByte('\n')
		}
	}
	return l, nil
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

// write writes what was taken. A file has all of it afterwards, or nothing.
func (l *lines) write() error {
	n, err := l.to.Write(l.text.Bytes())
	l.text.Reset()
	if l.file == nil {
		return err
	}
	if err != nil {
		return errors.Join(err, l.file.Truncate(l.size))
	}
	l.size += int64(n)
	return nil
}

// flush has what was taken on the disk.
func (l *lines) flush(context.Context) error {
	err := l.write()
	if l.file != nil && err == nil {
		err = l.file.Sync()
	}
	return err
}
