// Package repair has the commands that look after the store of a server: they check it, save what
// is whole of it, back it up and restore it.
package repair

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/progress"
	"github.com/gsimc/gsimc/store/pebble"
)

// Verify is `gsimc verify`.
type Verify struct {
	DataDir string `default:"./state" help:"Folder of the store. Its server must be stopped."`
	List    string `writes:"file" placeholder:"FILE" help:"Write the ids of users whose histories are not whole to this file, one in a line; in quotes with escapes if it has control characters."`
}

// Help is the manual under the flags.
func (Verify) Help() string {
	return `Checks the store of a stopped server and changes nothing: each block of each table, the
log, of each user that there are all events up to the last, and each item of the catalogue.

  gsimc verify --data-dir state --list damaged-users

Exit code 1 means damage. Users are counted, and named in the file of --list only; FILE.doubtful and
FILE.ranges are those of gsimc salvage. A server goes on serving all others, and what is said is
what it meets. A damaged user can be erased and begins anew; the file stays damaged, and is not
merged with others, until a backup is restored.

Of a store that does not open, it says why, and what gsimc salvage finds: flipped bits of tables are
flipped back, and tables that are cut off, gone or unreadable are left out.`
}

// Run prints a table of what was found.
func (c *Verify) Run(a *cli.App) error {
	ctx, stop := cli.InterruptContext()
	defer stop()
	list, err := openList(c.List)
	if err != nil {
		return err
	}
	began := time.Now()
	p := a.Progress()
	p.Begin("verifying", progress.Bytes)
	report, err := pebble.Verify(ctx, c.DataDir, pebble.Options{}, p.Update, list.add)
	p.End()
	if err == nil {
		err = list.ranges(report.Unnamed)
	}
	err = errors.Join(err, list.close())
	if ctx.Err() != nil {
		return cli.ErrInterrupted
	}
	if err != nil {
		return err
	}
	cli.PrintTable(a.Stdout, append(reportRows(report),
		[]string{"seconds", fmt.Sprintf("%.1f", time.Since(began).Seconds())}), 1)
	if report.Refusal != nil {
		return refused(report)
	}
	if report.Whole() {
		return nil
	}
	if len(report.Damaged) == 0 && report.Incomplete == 0 {
		return fmt.Errorf("items of the catalogue are damaged (%d)", report.DamagedItems)
	}
	if len(report.Damaged) == 0 {
		return fmt.Errorf("histories are not whole (%d)", report.Incomplete)
	}
	return fmt.Errorf("damaged files: %s", strings.Join(report.Damaged, ", "))
}

// refused says of a store that does not open why, and what can be saved of it.
func refused(r *pebble.Report) error {
	lacks := losses(r)
	if len(lacks) == 0 {
		lacks = []string{"gsimc salvage saves everything"}
	}
	return fmt.Errorf("%w; damaged files: %s; %s", r.Refusal,
		cmp.Or(strings.Join(r.Damaged, ", "), "none of the tables"), strings.Join(lacks, "; "))
}

// reportRows tells of a store that was looked at.
func reportRows(r *pebble.Report) [][]string {
	rows := [][]string{
		{"files", number(r.Tables)},
		{"damaged files", number(len(r.Damaged))},
		{"bytes", number(r.Bytes)},
		{"events", number(r.Events)},
		{"users", number(r.Users)},
		{"users not whole", number(r.Incomplete)},
		{"items", number(r.Items)},
	}
	optional := func(n int64, what string) {
		if n > 0 {
			rows = append(rows, []string{what, number(n)})
		}
	}
	optional(r.DamagedItems, "damaged items")
	optional(int64(r.Mendable), "flipped bits that salvage flips back")
	optional(int64(r.LeftOut), "files left out")
	optional(r.Doubtful, "users who may lack events")
	optional(int64(len(r.Unnamed)), "damaged parts that may hide users")
	if r.Lost() != 0 {
		rows = append(rows, []string{"users there were", numberOrUnknown(r.Existed)},
			[]string{"users not found, " + nearly(r), numberOrUnknown(r.Lost())})
	}
	return rows
}

func number[N int | int64](n N) string { return fmt.Sprint(n) }

func numberOrUnknown(n int64) string {
	if n < 0 {
		return "unknown"
	}
	return number(n)
}

// userList writes what is said of users to files: nothing, if there is no path.
type userList struct {
	path  string
	begun bool                // what an earlier look left is gone
	files map[string]*os.File // by what follows the path
	out   map[string]*bufio.Writer
}

// Names of the further files, behind the path.
const (
	doubtfulSuffix = ".doubtful"
	rangesSuffix   = ".ranges"
)

// openList makes sure that the file can be written. What an earlier look left in it, and in those
// beside it, stays until the store is open: its folder may be a wrong one.
func openList(path string) (*userList, error) {
	l := &userList{path: path, files: map[string]*os.File{}, out: map[string]*bufio.Writer{}}
	if path == "" {
		return l, nil
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return l, file.Close()
}

// begin empties the file and removes those beside it, once.
func (l *userList) begin() error {
	if l.path == "" || l.begun {
		return nil
	}
	for _, suffix := range []string{doubtfulSuffix, rangesSuffix} {
		if err := os.Remove(l.path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	_, err := l.file("")
	l.begun = err == nil
	return err
}

// file returns what writes to one of the files.
func (l *userList) file(suffix string) (*bufio.Writer, error) {
	if l.out[suffix] == nil {
		file, err := os.OpenFile(l.path+suffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return nil, err
		}
		l.files[suffix], l.out[suffix] = file, bufio.NewWriter(file)
	}
	return l.out[suffix], nil
}

// line writes a line to one of the files.
func (l *userList) line(suffix, text string) error {
	if l.path == "" {
		return nil
	}
	if err := l.begin(); err != nil {
		return err
	}
	out, err := l.file(suffix)
	if err == nil {
		_, err = fmt.Fprintln(out, text)
	}
	return err
}

// add writes a user whose history is not whole.
func (l *userList) add(user string, c pebble.Condition) error {
	suffix := ""
	if c == pebble.Doubtful {
		suffix = doubtfulSuffix
	}
	return l.line(suffix, cli.IDText(user))
}

// ranges writes the ids between which users may stand who were not found, at the end of a look.
func (l *userList) ranges(unnamed [][2]string) error {
	if err := l.begin(); err != nil {
		return err
	}
	for _, ids := range unnamed {
		if err := l.line(rangesSuffix, cli.IDText(ids[0])+"\t"+cli.IDText(ids[1])); err != nil {
			return err
		}
	}
	return nil
}

func (l *userList) close() (err error) {
	for suffix, out := range l.out {
		err = errors.Join(err, out.Flush(), l.files[suffix].Close())
	}
	return err
}
