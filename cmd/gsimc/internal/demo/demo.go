// Package demo has the command that runs the whole path once: generate, train, serve, observe,
// recommend.
package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/child"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/train"
)

// Cmd is `gsimc demo`.
type Cmd struct {
	Dir    string `writes:"into" placeholder:"DIR" help:"Folder for the files of the demonstration, which must not have such files; kept. Default: a temporary one, removed at the end."`
	Users  int    `default:"3000" help:"Users of the synthetic catalogue."`
	Items  int    `default:"1000" help:"Items of the synthetic catalogue."`
	Events int    `default:"120000" help:"Events of the synthetic catalogue."`
	Rank   int    `default:"64" help:"Eigenvectors to keep."`
	Seed   uint64 `default:"1" help:"Seed of the catalogue and of the choice of users."`
}

// Help is the manual under the flags.
func (Cmd) Help() string {
	return `Generates events, trains a model and starts a server on free loopback ports with a
store on disk. Then it replays the history of a user who was not in the training, one event at a
time. After each event it shows how the list changed and the place of the next item of the
history. At the end it restarts the server: the answer is the same.`
}

// What --dir has afterwards.
const (
	eventsFile = "events.csv.gz"
	modelFile  = "model.gsimc"
	stateDir   = "state"
)

const (
	shownEvents = 6  // events that are replayed
	shownItems  = 10 // length of the lists

	callTimeout = 10 * time.Second
	stopLimit   = 500 * time.Millisecond // for the step under way after an interrupt
)

// Run goes through the whole path and fails where a user would. An interrupt ends it at once.
func (c *Cmd) Run(a *cli.App) (err error) {
	ctx, stop := cli.InterruptContext()
	defer stop()
	dir, remove, err := cli.WorkDir(c.Dir, "gsimc-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	kept := "its files are in " + c.Dir
	if c.Dir == "" {
		kept = "its files are removed"
	}
	for _, name := range []string{stateDir, eventsFile, modelFile} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return cli.Flagf("--dir", "%s has %s, of an earlier run or yours: choose another "+
				"folder", dir, name)
		}
	}
	t := &tour{Cmd: c, app: a, dir: dir}
	done := make(chan error, 1)
	go func() { done <- t.run(ctx) }()
	select {
	case err = <-done:
	case <-ctx.Done():
	}
	if ctx.Err() == nil {
		return err
	}
	err = cli.Interrupted("the demonstration keeps nothing to go on with; %s", kept)
	err = errors.Join(err, t.kill())
	select {
	case <-done: //nolint:errcheck // its error is the interrupt
	case <-time.After(stopLimit): // a training looks for interrupts between its steps
	}
	return err
}

// tour is one run of the demonstration.
type tour struct {
	*Cmd
	app *cli.App
	dir string

	mu     sync.Mutex
	server *child.Server // that runs at the moment; nil: none
}

// run goes through the whole path.
func (t *tour) run(ctx context.Context) error {
	begin := time.Now()
	events, model := filepath.Join(t.dir, eventsFile), filepath.Join(t.dir, modelFile)
	if err := t.prepare(ctx, events, model); err != nil {
		return err
	}
	user, history, err := t.stranger(events)
	if err != nil {
		return err
	}
	if err := t.replay(ctx, model, user, history); err != nil {
		return err
	}
	t.app.Printf("\nDone in %s.\n", time.Since(begin).Round(100*time.Millisecond))
	return nil
}

// prepare runs generate and train as commands of their own.
func (t *tour) prepare(ctx context.Context, events, model string) error {
	number, seed := strconv.Itoa, strconv.FormatUint(t.Seed, 10)
	for _, args := range [][]string{
		{"generate", "--users", number(t.Users), "--items", number(t.Items),
			"--events", number(t.Events), "--seed", seed, "--out", events},
		{"train", "--data", events, "--out", model, "--rank", number(t.Rank), "--seed", seed},
	} {
		t.heading(args)
		var stderr bytes.Buffer
		a, quiet := t.app, append([]string{"--quiet"}, args...)
		code := a.Self(a.Stdin, a.Stdout, &stderr, nil, quiet...)
		if cli.WasInterrupted(ctx, code) {
			return ctx.Err() // Run says it
		}
		_, _ = a.Stderr.Write(stderr.Bytes())
		if code != cli.ExitOK {
			return fmt.Errorf("gsimc %s failed", args[0])
		}
	}
	return nil
}

func (t *tour) heading(args []string) { t.app.Printf("\n$ gsimc %s\n", strings.Join(args, " ")) }

// stranger picks a user whom train held out of the graph, and the first items of the user's
// history.
func (t *tour) stranger(path string) (user string, history []string, err error) {
	events, _, err := dataset.Read([]string{path}, dataset.Options{})
	if err != nil {
		return "", nil, err
	}
	split := train.Split(events.NumUsers(), t.Seed)
	heldOut := split.Count(dataset.Validation) > 0 // else a user that the graph knows has to do
	best := -1
	for u := range events.Users {
		if heldOut && split[u] != dataset.Validation {
			continue
		}
		if best < 0 || len(events.Of(u)) > len(events.Of(best)) {
			best = u
		}
		if len(events.Of(best)) > shownEvents {
			break
		}
	}
	for _, item := range events.Of(best) {
		history = append(history, events.Items[item])
	}
	return events.Users[best], history[:min(len(history), shownEvents+1)], nil
}

// start starts the server on the folder of the demonstration.
func (t *tour) start(ctx context.Context, model string) (*child.Server, error) {
	args := []string{"serve", "--model", model, "--data-dir", filepath.Join(t.dir, stateDir),
		"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
		"--ops-listen", "127.0.0.1:0", "--drain-delay", "0s"}
	t.heading(args)
	server, err := child.Self(ctx, append(args, "--log-format", "json", "--log-level", "info")...)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	t.server = server
	t.mu.Unlock()
	if ctx.Err() != nil { // kill may have come before
		return nil, errors.Join(ctx.Err(), t.kill())
	}
	return server, nil
}

// kill ends the server, if one runs.
func (t *tour) kill() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.server == nil {
		return nil
	}
	if err := t.server.Kill(); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}
