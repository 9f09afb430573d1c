package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/dataset"
)

type demoCmd struct {
	Dir    string `placeholder:"DIR" help:"Folder for the files of the demonstration; kept. Default: a temporary one, removed at the end."`
	Users  int    `default:"3000" help:"Users of the synthetic catalogue."`
	Items  int    `default:"1000" help:"Items of the synthetic catalogue."`
	Events int    `default:"120000" help:"Events of the synthetic catalogue."`
	Rank   int    `default:"64" help:"Eigenvectors to keep."`
	Seed   uint64 `default:"1" help:"Seed of the catalogue and of the choice of users."`
}

// Help is the manual under the flags.
func (demoCmd) Help() string {
	return `Generates events, trains a model, starts a server on free loopback ports with a store on disk, and then replays the ` +
		`history of a user that the graph never saw, one event at a time, showing how the list changes and where the next item ` +
		`of the history stands in it. At the end the server is restarted: the answer is the same.`
}

// demoEvents is the number of events that are replayed and demoTop the length of the lists.
const (
	demoEvents = 6
	demoTop    = 10

	demoTimeout = 10 * time.Second
)

// Run goes through the whole path and fails where a user would.
func (c *demoCmd) Run(a *cli.App) (err error) {
	begin := time.Now()
	// An interrupt goes to the server as well; what is left to do here then fails and the files are removed.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir := c.Dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "gsimc-demo-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	} else if err := os.MkdirAll(dir, 0o755); err != nil {
		return cli.Flag("--dir", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "state")); err == nil {
		return cli.Flagf("--dir", "%s holds the state of an earlier run: choose another folder", dir)
	}
	events, model := filepath.Join(dir, "events.csv.gz"), filepath.Join(dir, "model.gsimc")
	if err := c.prepare(a, events, model); err != nil {
		return err
	}
	user, history, err := c.stranger(events)
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	args := []string{"serve", "--model", model, "--data-dir", filepath.Join(dir, "state"),
		"--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--drain-delay", "0s"}
	if err := c.replay(a, func() (*childServer, error) {
		heading(a, "gsimc "+strings.Join(args, " "))
		return startServer(exe, args, os.Environ(), io.Discard)
	}, user, history); err != nil {
		return err
	}
	a.Printf("\nDone in %s.\n", time.Since(begin).Round(100*time.Millisecond))
	return nil
}

// prepare runs generate and train as commands of their own.
func (c *demoCmd) prepare(a *cli.App, events, model string) error {
	number, seed := strconv.Itoa, strconv.FormatUint(c.Seed, 10)
	for _, args := range [][]string{
		{"generate", "--users", number(c.Users), "--items", number(c.Items), "--events", number(c.Events), "--seed", seed, "--out", events},
		{"train", "--data", events, "--out", model, "--rank", number(c.Rank), "--seed", seed},
	} {
		heading(a, "gsimc "+strings.Join(args, " "))
		if run(append([]string{"--quiet"}, args...), a.Stdin, a.Stdout, a.Stderr, nil) != cli.ExitOK {
			return fmt.Errorf("gsimc %s failed", args[0])
		}
	}
	return nil
}

// stranger picks a user whom train held out of the graph, and the first items of the user's history.
func (c *demoCmd) stranger(path string) (user string, history []string, err error) {
	events, _, err := dataset.Read([]string{path}, dataset.Options{})
	if err != nil {
		return "", nil, err
	}
	train := trainCmd{graphFlags: graphFlags{Seed: c.Seed}}
	split, err := train.split(events)
	if err != nil {
		return "", nil, err
	}
	heldOut := split.Count(dataset.Validation) > 0 // else a user that the graph knows has to do
	best := -1
	for u := range events.Users {
		if heldOut && split[u] != dataset.Validation {
			continue
		}
		if best < 0 || len(events.Of(u)) > len(events.Of(best)) {
			best = u
		}
		if len(events.Of(best)) > demoEvents {
			break
		}
	}
	for _, item := range events.Of(best) {
		history = append(history, events.Items[item])
	}
	return events.Users[best], history[:min(len(history), demoEvents+1)], nil
}

// replay observes the history one event at a time and shows the lists, then restarts the server and compares.
func (c *demoCmd) replay(a *cli.App, start func() (*childServer, error), user string, history []string) error {
	server, err := start()
	if err != nil {
		return err
	}
	shown, err := c.observeAll(a, server.grpc, user, history)
	if err != nil {
		return errors.Join(err, server.stop())
	}
	a.Printf("\nRestarting the server (SIGTERM, then again on the same folder).\n")
	if err := server.stop(); err != nil {
		return fmt.Errorf("the server did not exit cleanly: %w", err)
	}
	if server, err = start(); err != nil {
		return err
	}
	after, err := recommendOnce(server.grpc, user, demoTop)
	if err = errors.Join(err, server.stop()); err != nil {
		return err
	}
	// Uncertainty grows with time, so only the list is the same.
	same := func(a, b answerItem) bool { return a.ID == b.ID && a.Score == b.Score }
	if !slices.EqualFunc(shown.Items, after.Items, same) || shown.Revision != after.Revision {
		return fmt.Errorf("after the restart the answer differs: %+v, before %+v", after, shown)
	}
	a.Printf("The answer is the same: revision %d, %d items with equal scores.\n", after.Revision, len(after.Items))
	return nil
}

// observeAll returns the last list that it showed.
func (c *demoCmd) observeAll(a *cli.App, address, user string, history []string) (answer, error) {
	catalogue, err := recommendOnce(address, user, min(c.Items, 1000))
	if err != nil {
		return answer{}, err
	}
	a.Printf("\nUser %s is unknown to the server: popular items (%s).\n", user, strings.Join(catalogue.Degradations, ", "))
	last := answer{Items: catalogue.Items[:min(demoTop, len(catalogue.Items))]}
	printChanges(a, nil, last.Items)
	for i, item := range history[:len(history)-1] {
		event := &pb.Event{UserId: user, ItemId: item, EventTime: timestamppb.Now()}
		if err := observeOnce(address, event); err != nil {
			return answer{}, err
		}
		all, err := recommendOnce(address, user, min(c.Items, 1000))
		if err != nil {
			return answer{}, err
		}
		now := all
		now.Items = all.Items[:min(demoTop, len(all.Items))]
		a.Printf("\nEvent %d: %s likes %s. The item that comes next in this history, %s, %s.\n", i+1, user, item, history[i+1], place(all.Items, history[i+1]))
		printChanges(a, last.Items, now.Items)
		last = now
	}
	return last, nil
}

// place says where an item stands in a list.
func place(items []answerItem, id string) string {
	at := slices.IndexFunc(items, func(i answerItem) bool { return i.ID == id })
	if at < 0 {
		return fmt.Sprintf("is not among the first %d", len(items))
	}
	return fmt.Sprintf("is at place %d of %d", at+1, len(items))
}

// printChanges shows a list and how each item moved since the list before; nil: there was none.
func printChanges(a *cli.App, before, now []answerItem) {
	rows := [][]string{{"#", "item", "score", "source", ""}}
	for i, item := range now {
		change := ""
		if before != nil {
			change = movement(slices.IndexFunc(before, func(b answerItem) bool { return b.ID == item.ID }), i)
		}
		rows = append(rows, []string{strconv.Itoa(i + 1), item.ID, scoreText(item.Score), item.Source, change})
	}
	cli.PrintTable(a.Stdout, rows, 0, 2)
}

// movement describes the way from one index to another; -1 is absent.
func movement(from, to int) string {
	switch {
	case from < 0:
		return "new"
	case from > to:
		return fmt.Sprintf("up %d", from-to)
	case from < to:
		return fmt.Sprintf("down %d", to-from)
	}
	return "="
}

func heading(a *cli.App, command string) { a.Printf("\n$ %s\n", command) }

// recommendOnce asks the server at address for n items.
func recommendOnce(address, user string, n int) (got answer, err error) {
	client := clientFlags{Server: address, Timeout: demoTimeout}
	err = client.call(func(ctx context.Context, conn grpc.ClientConnInterface) error {
		r, err := pb.NewRecommenderServiceClient(conn).Recommend(ctx, (&recommendCmd{User: user, Items: n}).request())
		got = newAnswer(r, &dataset.Catalogue{})
		return err
	})
	return got, err
}

// observeOnce sends one event.
func observeOnce(address string, event *pb.Event) error {
	client := clientFlags{Server: address, Timeout: demoTimeout}
	return client.call(func(ctx context.Context, conn grpc.ClientConnInterface) error {
		_, err := pb.NewEventServiceClient(conn).Observe(ctx, &pb.ObserveRequest{Event: event})
		return err
	})
}
