package data

import (
	"context"
	"errors"
	"fmt"
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
)

// storeFlags say that the events are the histories of a server.
type storeFlags struct {
	FromStore      string             `group:"Events:" placeholder:"DIR|URL" help:"Take the events from the store of a server instead of files: its data folder, or valkey://... or postgres://... as for serve --store. The server of a folder must be stopped, or be asked for a checkpoint with --server."`
	Server         string             `group:"Events:" placeholder:"HOST:PORT" help:"Admin address (serve --admin-listen) of the running server whose data folder --from-store is. It copies its store, which takes no time to speak of, and goes on serving."`
	EventWeight    map[string]float64 `group:"Events:" mapsep:"," placeholder:"TYPE=W" help:"Weight of an event type of --type-column or --from-store, as for serve. An event whose weight times value is not above 0 is left out. Default: 1 for each type."`
	EventTypesFile string             `group:"Events:" placeholder:"FILE" help:"Weights of event types in place of --event-weight, as for serve."`

	cli.AccessFlags

	typesRead bool
	hidden    map[string]bool // items, by the catalogue of the store
}

// Hides tells whether no list has an item, by the catalogue of the store, once that has been read.
func (f *storeFlags) Hides(id string) bool { return f.hidden[id] }

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
	return errors.Join(append(event.Weights(f.EventWeight).Validate("EventWeights"),
		f.source(nil).Check())...)
}

// StoreName is the name of the store in the provenance: the last element of its path, which is the
// folder, the database or the namespace. The addresses of machines do not belong there.
func (f *storeFlags) StoreName() string {
	path, _, _ := strings.Cut(f.FromStore, "?")
	if !stores.IsURL(f.FromStore) {
		path = f.FromStore
	}
	return filepath.Base(path)
}

// readStore reads all histories of the store, as far as they are whole, and warns of damage.
func (f *storeFlags) readStore(
	a *cli.App, p progress.Progress, opt dataset.Options,
) (events *dataset.Interactions, report *dataset.Report, err error) {
	ctx := context.Background()
	r, err := f.source(a.Env).Open(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	p.Begin(train.StageRead, progress.Rows)
	defer p.End()
	source, name := histories{Reading: r, partly: true}, f.FromStore
	if stores.IsURL(name) {
		source.partly, name = false, f.StoreName() // without addresses
	}
	events, report, err = train.Read(ctx, name, &source, f.EventWeight, opt,
		func(_ string, done, total int) { p.Update(int64(done), int64(total)) })
	p.End()
	if s := source.skipped; s != nil {
		fmt.Fprintf(a.Stderr, "warning: %s is damaged: the events are without those of %s "+
			"from the damage on, and of users who may stand in %d more damaged parts of files; "+
			"gsimc verify tells more\n", name, cli.Counted(s.Users, "user"), s.Ranges)
	}
	if err == nil {
		cli.AbsentTypesNote(a.Stderr, report)
		f.readHidden(ctx, a, r)
	}
	return events, report, err
}

// readHidden reads which items are hidden. Nothing is learned from it, so that a catalogue that
// cannot be read is no reason to fail.
func (f *storeFlags) readHidden(ctx context.Context, a *cli.App, from stores.Reading) {
	f.hidden = map[string]bool{}
	err := from.EachItem(ctx, "", func(i store.Item) error {
		if i.Hidden {
			f.hidden[i.ID] = true
		}
		return nil
	})
	if _, skipped := errors.AsType[*store.DamagedItemsError](err); err != nil && !skipped {
		fmt.Fprintf(a.Stderr, "note: which items are hidden cannot be read: %v\n", err)
	}
}

// source is the store of --from-store.
func (f *storeFlags) source(env []string) *stores.Source {
	return &stores.Source{Flag: "--from-store", From: f.FromStore, Server: f.Server, Env: env,
		Access: f.AccessFlags}
}

// histories are those of a store.
type histories struct {
	stores.Reading
	partly  bool                // what is damaged is left out
	skipped *store.SkippedError // set if some could not be read
}

// Each implements train.Source.
func (h *histories) Each(ctx context.Context, do func(train.Event) error) error {
	err := h.Reading.Each(ctx, func(user string, e store.Event) error {
		return do(train.Event{User: user, Item: e.Item, Type: e.Type, Time: e.Time, Value: e.Value})
	})
	if skipped, ok := errors.AsType[*store.SkippedError](err); ok && h.partly {
		h.skipped, err = skipped, nil
	}
	return err
}
