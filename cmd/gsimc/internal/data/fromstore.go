package data

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/stores"
	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/learn/train"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/progress"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble"
)

// storeFlags say that the events are the histories of a server.
type storeFlags struct {
	FromStore      string             `group:"Events:" placeholder:"DIR|URL" help:"Take the events from the store of a server instead of files: its data folder, or valkey://... or postgres://... as for serve --store. The server of a folder must be stopped, or be asked for a checkpoint with --server."`
	Server         string             `group:"Events:" placeholder:"HOST:PORT" help:"Admin address (serve --admin-listen) of the running server whose data folder --from-store is. It copies its store, which takes no time to speak of, and goes on serving."`
	EventWeight    map[string]float64 `group:"Events:" mapsep:"," placeholder:"TYPE=W" help:"Weight of an event type of --type-column or --from-store, as for serve. An event whose weight times value is not above 0 is left out. Default: 1 for each type."`
	EventTypesFile string             `group:"Events:" placeholder:"FILE" help:"Weights of event types in place of --event-weight, as for serve."`

	cli.AccessFlags

	typesRead bool
}

// readTypes takes the weights of --event-types-file for those of --event-weight.
func (f *storeFlags) readTypes() error {
	if f.EventTypesFile == "" || f.typesRead {
		return nil
	}
	if len(f.EventWeight) > 0 {
		return cli.Flagf("--event-types-file",
			"the weights are given twice: leave out --event-weight")
	}
	text, err := os.ReadFile(f.EventTypesFile)
	if err != nil {
		return cli.Flag("--event-types-file", cli.PathError(err))
	}
	weights, err := event.ParseWeights("EventTypesFile", text)
	f.EventWeight, f.typesRead = weights, true
	return err
}

func (f *storeFlags) check() error {
	var err error
	switch {
	case !f.shared():
	case f.Server != "":
		err = cli.Flagf("--server", "a store that servers share is read without them")
	default:
		err = stores.Check("--from-store", f.FromStore)
	}
	return errors.Join(append(event.Weights(f.EventWeight).Validate("EventWeights"), err)...)
}

// shared reports whether --from-store is the URL of a store that servers share.
func (f *storeFlags) shared() bool { return strings.Contains(f.FromStore, "://") }

// StoreName is the name of the store in the provenance: the last element of its path, which is the
// folder, the database or the namespace. The addresses of machines do not belong there.
func (f *storeFlags) StoreName() string {
	path, _, _ := strings.Cut(f.FromStore, "?")
	if !f.shared() {
		path = f.FromStore
	}
	return filepath.Base(path)
}

// readStore reads all histories of the store, as far as they are whole, and warns of damage.
func (f *storeFlags) readStore(
	a *cli.App, p progress.Progress, opt dataset.Options,
) (*dataset.Interactions, *dataset.Report, error) {
	if f.shared() {
		return f.readShared(a, p, opt)
	}
	dir, release, err := cli.Checkpoint(f.Server, f.AccessFlags, f.FromStore)
	if err != nil {
		return nil, nil, err
	}
	defer release()
	r, err := pebble.OpenReadOnly(dir, pebble.Options{})
	switch {
	case errors.Is(err, pebble.ErrInUse):
		return nil, nil, cli.Flagf("--from-store",
			"%s is in use by another process: if that is a server, give its address with "+
				"--server to learn from a checkpoint of its store, else wait for its end", dir)
	case errors.Is(err, fs.ErrNotExist) && f.Server != "":
		return nil, nil, cli.Flagf("--from-store", "%s, which the server at %s has just made, "+
			"is not there: give the data folder of that server", dir, f.Server)
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, cli.Flag("--from-store", cli.PathError(err))
	case err != nil:
		return nil, nil, cli.Flag("--from-store", err)
	}
	p.Begin(train.StageRead, progress.Rows)
	defer p.End()
	source := histories{Reader: r}
	events, report, err := train.Read(context.Background(), f.FromStore, &source,
		f.EventWeight, opt,
		func(_ string, done, total int) { p.Update(int64(done), int64(total)) })
	p.End()
	if s := source.skipped; s != nil {
		fmt.Fprintf(a.Stderr, "warning: %s is damaged: the events are without those of %d users "+
			"from the damage on, and of users who may stand in %d more damaged parts of files; "+
			"gsimc verify tells more\n", f.FromStore, s.Users, s.Ranges)
	}
	return events, report, errors.Join(err, r.Close())
}

// readShared reads all histories of a store that servers share, while they go on.
func (f *storeFlags) readShared(
	a *cli.App, p progress.Progress, opt dataset.Options,
) (events *dataset.Interactions, report *dataset.Report, err error) {
	ctx := context.Background()
	s, err := stores.Open(ctx, f.FromStore, stores.Settings{Env: a.Env, Flag: "--from-store",
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	p.Begin(train.StageRead, progress.Rows)
	defer p.End()
	return train.Read(ctx, f.StoreName(), source{s}, f.EventWeight, opt,
		func(_ string, done, total int) { p.Update(int64(done), int64(total)) })
}

// source are the histories of a store that servers share.
type source struct{ store.Store }

// Each implements train.Source.
func (s source) Each(ctx context.Context, do func(train.Event) error) error {
	return stores.Histories(ctx, s.Store, func(user string, events []store.Event) error {
		for _, e := range events {
			err := do(train.Event{User: user, Item: e.Item, Type: e.Type, Time: e.Time,
				Value: e.Value})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// histories are those of a store in the folder of --from-store.
type histories struct {
	*pebble.Reader
	skipped *store.SkippedError // set if some could not be read
}

// Each implements train.Source. It leaves out what is damaged.
func (h *histories) Each(ctx context.Context, do func(train.Event) error) error {
	err := h.Reader.Each(ctx, func(user string, _ uint64, e store.Event) error {
		return do(train.Event{User: user, Item: e.Item, Type: e.Type, Time: e.Time, Value: e.Value})
	})
	if skipped, ok := errors.AsType[*store.SkippedError](err); ok {
		h.skipped, err = skipped, nil
	}
	return err
}
