package standalone

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/look"
	"github.com/gsimc/gsimc/learn/dataset"
)

// Cmd is `gsimc standalone`.
type Cmd struct {
	look.SurveyFlags

	Dir   string `writes:"into" group:"Files:" placeholder:"DIR" help:"Folder for the model and the histories; kept, and a later run adds to the histories. Default: a temporary one, removed at the end."`
	Quick bool   `group:"Files:" help:"Keep the default rank, ridge and bands instead of choosing them."`

	Listen      string `group:"Network:" default:"127.0.0.1:50051" help:"gRPC address; port 0 takes a free one, here and below."`
	AdminListen string `group:"Network:" default:"127.0.0.1:50052" help:"gRPC address of AdminService."`
	OpsListen   string `group:"Network:" default:"127.0.0.1:9090" help:"HTTP address for operators."`
	JSONListen  string `group:"Network:" name:"json-listen" default:"127.0.0.1:8080" help:"HTTP address of JSON for clients."`
}

// Help is the manual under the flags.
func (Cmd) Help() string {
	return `Goes from files of events to a server as gsimc validate, train, serve and observe ` +
		`would, so that the users of the files have their histories. The training says how ` +
		`good the model is for users whose last items it did not see; gsimc evaluate measures it ` +
		`beside other methods. The server answers this machine only. An interrupt (Ctrl-C) ends it.

  gsimc standalone events.csv.gz
  gsimc standalone events.csv.gz --dir ./try`
}

// Check checks the flags together.
func (c *Cmd) Check() error {
	err := c.SurveyFlags.Check()
	if slices.Contains(c.Files, dataset.Stdin) {
		err = errors.Join(err, errors.New("standard input is read once: give a file"))
	}
	return err
}

// Run goes the whole way and serves until an interrupt.
func (c *Cmd) Run(a *cli.App) (err error) {
	ctx, stop := cli.InterruptContext()
	defer stop()
	for _, file := range c.Files {
		if _, err := os.Stat(file); err != nil {
			return cli.PathError(err)
		}
	}
	// Before a long training.
	if err := cli.CanListen([][2]string{{"--listen", c.Listen}, {"--admin-listen", c.AdminListen},
		{"--ops-listen", c.OpsListen}, {"--json-listen", c.JSONListen}}); err != nil {
		return err
	}
	dir, remove, err := cli.WorkDir(c.Dir, "gsimc-standalone-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	state := filepath.Join(dir, "state")
	if _, err := os.Stat(state); err == nil {
		fmt.Fprintf(a.Stderr, "note: %s has histories of an earlier run, and those of the files "+
			"are added to them; another --dir begins anew\n", state)
	}
	a.Printf("\n$ gsimc validate %s\n", strings.Join(c.Files, " "))
	report, err := c.Survey(a)
	if report != nil {
		report.Print(a)
	}
	if err != nil {
		return err
	}
	model := filepath.Join(dir, "model.gsimc")
	if err := c.step(ctx, a, c.training(model)); err != nil {
		return err
	}
	return c.serve(ctx, a, dir, report)
}

// training is the command that makes the model. It also tells how good the model is.
func (c *Cmd) training(model string) []string {
	args := append([]string{"train", "--out", model}, c.data()...)
	args = append(args, "--max-bad-rows", strconv.FormatInt(c.MaxBadRows, 10))
	args = append(args, c.weights()...)
	if c.Quick {
		args = append(args, "--quick")
	}
	return args
}

// data are the flags of the files and their form, as train and observe take them.
func (c *Cmd) data() (args []string) {
	for _, file := range c.Files {
		args = append(args, "--data", file)
	}
	for _, flag := range c.Differing() {
		args = append(args, "--"+flag[0], flag[1])
	}
	return args
}

func (c *Cmd) weights() (args []string) {
	for _, name := range slices.Sorted(maps.Keys(c.EventWeight)) {
		args = append(args, "--event-weight",
			name+"="+strconv.FormatFloat(c.EventWeight[name], 'g', -1, 64))
	}
	return args
}

// step runs a command of this program as a person would.
func (c *Cmd) step(ctx context.Context, a *cli.App, args []string) error {
	a.Printf("\n$ gsimc %s\n", strings.Join(args, " "))
	if a.Quiet {
		args = append([]string{"--quiet"}, args...)
	}
	code := a.Self(a.Stdin, a.Stdout, a.Stderr, nil, args...)
	switch {
	case cli.WasInterrupted(ctx, code):
		return cli.Interrupted("nothing serves")
	case code != cli.ExitOK:
		return fmt.Errorf("gsimc %s failed", slices.DeleteFunc(slices.Clone(args),
			func(arg string) bool { return arg == "--quiet" })[0])
	}
	return nil
}

// serve runs the server until an interrupt, which it sees itself. When it serves, the histories of
// the files are sent to it.
func (c *Cmd) serve(
	ctx context.Context, a *cli.App, dir string, report *look.Report,
) error {
	args := append([]string{"serve", "--model", filepath.Join(dir, "model.gsimc"),
		"--data-dir", filepath.Join(dir, "state"), "--listen", c.Listen,
		"--admin-listen", c.AdminListen, "--ops-listen", c.OpsListen,
		"--json-listen", c.JSONListen, "--drain-delay", "0s"}, c.weights()...)
	a.Printf("\n$ gsimc %s\n", strings.Join(args, " "))
	logs := &serverLog{out: a.Stderr, ready: make(chan addresses, 1)}
	ended := make(chan int, 1)
	go func() {
		ended <- a.Self(strings.NewReader(""), io.Discard, logs, nil,
			append(args, "--log-format", "json", "--log-level", "info")...)
	}()
	select {
	case code := <-ended:
		if code == cli.ExitOK || cli.WasInterrupted(ctx, code) {
			return cli.Interrupted("nothing serves")
		}
		return errors.New("the server did not start")
	case at := <-logs.ready:
		c.welcome(ctx, a, dir, at, report)
	}
	if code := <-ended; code != cli.ExitOK {
		return errors.New("the server did not end cleanly")
	}
	if c.Dir == "" {
		a.Printf("\nStopped. The files go too; --dir keeps them.\n")
		return nil
	}
	for i, arg := range args {
		args[i] = cli.ShellWord(arg)
	}
	a.Printf("\nStopped. The files in %s are served again by:\n  gsimc %s\n", dir,
		strings.Join(args, " "))
	return nil
}

// welcome sends the histories and prints where the server is.
func (c *Cmd) welcome(
	ctx context.Context, a *cli.App, dir string, at addresses, report *look.Report,
) {
	err := c.step(ctx, a, append([]string{"observe", "--server", at.GRPC, "--max-bad-rows",
		strconv.FormatInt(c.MaxBadRows, 10)}, c.data()...))
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		fmt.Fprintln(a.Stderr, "gsimc: the histories of the files are not all there")
	}
	kept := "its files go with it"
	if c.Dir != "" {
		kept = "its files are in " + dir
	}
	a.Printf("\nServing. Ctrl-C ends it; %s.\n", kept)
	table := [][]string{
		{"gRPC", at.GRPC}, {"JSON", "http://" + at.JSON}, {"operators", "http://" + at.Ops},
		{"AdminService", at.Admin},
	}
	if at.Console != "" {
		table = append(table, []string{"console", at.Console})
	}
	cli.PrintTable(a.Stdout, table)
	user := cli.ShellWord(report.Busiest.Name)
	a.Printf("\nTry, in another terminal:\n"+
		"  gsimc recommend --server %s --user %s --explain 2\n"+
		"  gsimc observe --server %s --user you --item %s\n"+
		"  curl 'http://%s/v1/users/you/recommendations?page_size=5'\n"+
		"  curl 'http://%s/v1/items/%s/similar'\n",
		at.GRPC, user, at.GRPC, cli.ShellWord(report.Popular.Name), at.JSON, at.JSON,
		url.PathEscape(report.Popular.Name))
}
