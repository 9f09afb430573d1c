// Package repair has the commands that look after the store of a server: they check it, save what
// is whole of it, back it up and restore it.
package repair

import (
	"bufio"
	"errors"
	"fmt"
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
	List    string `placeholder:"FILE" help:"Write the ids of users whose histories are not whole to this file, one in a line; in quotes with escapes if it has control characters."`
}

// Help is the manual under the flags.
func (Verify) Help() string {
	return `Checks the store of a stopped server and changes nothing: each block of each table, the
log, of each user that there are all events up to the last, and each item of the catalogue.

  gsimc verify --data-dir state --list damaged-users

Exit code 1 means damage. Users are counted, and named in the file of --list only. A server goes on
serving all others. A damaged user can be erased and begins anew; the file stays damaged, and is
not merged with others, until a backup is restored.`
}

// Run prints a table of what was found.
func (c *Verify) Run(a *cli.App) error {
	ctx, stop := cli.InterruptContext()
	defer stop()
	list, done, err := openList(c.List)
	if err != nil {
		return err
	}
	began := time.Now()
	p := a.Progress()
	p.Begin("verifying", progress.Bytes)
	report, err := pebble.Verify(ctx, c.DataDir, pebble.Options{}, p.Update, list)
	p.End()
	err = errors.Join(err, done())
	if ctx.Err() != nil {
		return cli.ErrInterrupted
	}
	if err != nil {
		return err
	}
	printReport(a, report, time.Since(began))
	if report.Whole() {
		return nil
	}
	if len(report.Damaged) == 0 && report.Incomplete == 0 {
		return fmt.Errorf("%d items of the catalogue are damaged", report.DamagedItems)
	}
	if len(report.Damaged) == 0 {
		return fmt.Errorf("%d histories are not whole", report.Incomplete)
	}
	return fmt.Errorf("damaged files: %s", strings.Join(report.Damaged, ", "))
}

func printReport(a *cli.App, r *pebble.Report, took time.Duration) {
	rows := append(reportRows(r), []string{"seconds", fmt.Sprintf("%.1f", took.Seconds())})
	cli.PrintTable(a.Stdout, rows, 1)
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
	if r.DamagedItems > 0 {
		rows = append(rows, []string{"damaged items", number(r.DamagedItems)})
	}
	if r.Unnamed > 0 {
		rows = append(rows, []string{"damaged parts that may hide users", number(r.Unnamed)})
	}
	return rows
}

func number[N int | int64](n N) string { return fmt.Sprint(n) }

// openList returns a function that writes a user to a file, a line each, or to none if the path is
// empty, and one that ends the file.
func openList(path string) (write func(user string) error, done func() error, err error) {
	if path == "" {
		return func(string) error { return nil }, func() error { return nil }, nil
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, nil, err
	}
	out := bufio.NewWriter(file)
	write = func(user string) error { _, err := fmt.Fprintln(out, cli.IDText(user)); return err }
	return write, func() error { return errors.Join(out.Flush(), file.Close()) }, nil
}
