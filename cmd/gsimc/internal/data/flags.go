package data

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/internal/fault"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/progress"
	"github.com/gsimc/gsimc/learn/dataset"
)

// Flags say where the events are and how to read them.
type Flags struct {
	Data []string `group:"Events:" sep:"none" placeholder:"FILE" help:"Events: CSV, TSV, JSON Lines or Parquet, plain, gzip or zstd; recognised by content. - is standard input. May be given several times."`
	storeFlags

	cli.FormFlags `group:"Events:"`

	MinUserEvents *int  `group:"Events:" help:"Leave out users with fewer items, repeated until none is left; 0 keeps all. Default: 0; ${rare_events} for users and items if the catalogue is large, --split is not given, and most events stay."`
	MinItemEvents *int  `group:"Events:" help:"Leave out items with fewer users, likewise."`
	MaxBadRows    int64 `group:"Events:" default:"0" help:"Bad rows to skip and count before giving up."`

	leaveOutRare bool
}

// options are those of the files, or of a store if there is one. a is nil for a check.
func (f *Flags) options(a *cli.App) dataset.Options {
	opt := f.Options(a)
	opt.MinUserEvents, opt.MinItemEvents = cli.Given(f.MinUserEvents, 0),
		cli.Given(f.MinItemEvents, 0)
	opt.MaxBadRows, opt.LeaveOutRare = f.MaxBadRows, f.leaveOutRare
	if f.FromStore == "" {
		opt.EventWeights = f.EventWeight
	}
	return opt
}

// Check checks the flags.
func (f *Flags) Check() error {
	if err := f.readTypes(); err != nil {
		return err
	}
	var err error
	switch {
	case len(f.Data) == 0 && f.FromStore == "":
		err = cli.About("missing flags: %s=FILE or %s=DIR", "--data", "--from-store")
	case len(f.Data) > 0 && f.FromStore != "":
		err = cli.Flagf("--from-store", "leave out --data, or this")
	}
	if f.FromStore != "" {
		err = errors.Join(err, f.storeFlags.check())
	}
	return errors.Join(err, f.FormFlags.Check(f.options(nil)))
}

// Idle lists the flags that do nothing.
func (f *Flags) Idle() []cli.Idle {
	return []cli.Idle{
		cli.When(f.FromStore != "", "user-column, item-column, time-column, time-unit, "+
			"weight-column, type-column, columns, delimiter, max-bad-rows", "with --from-store"),
		cli.When(f.FromStore == "", "server", "without --from-store"),
		cli.When(f.Server == "", "Access:", "without --server"),
	}
}

// Read reads the events with progress, and notes on standard error what is odd about them.
func (f *Flags) Read(
	a *cli.App, p progress.Progress,
) (*dataset.Interactions, *dataset.Report, error) {
	opt := f.options(a)
	if f.FromStore != "" {
		return f.readStore(a, p, opt)
	}
	opt.Progress = func(read, total, _ int64) { p.Update(read, total) }
	opt.Sorting = func() { p.Begin("sorting events", progress.Steps) }
	p.Begin("reading events", progress.Bytes)
	defer p.End()
	events, report, err := dataset.Read(f.Data, opt)
	if err != nil {
		return nil, nil, cli.DataError(err)
	}
	if err := CheckWeights(events); err != nil {
		return nil, nil, err
	}
	cli.DataNotes(a.Stderr, report, "no fading by time is learned")
	if f.TypeColumn != "" && len(f.EventWeight) == 0 {
		fmt.Fprintln(a.Stderr, "note: events of all types count alike; --event-weight TYPE=W,... "+
			"tells them apart")
	}
	return events, report, nil
}

// ReadFor reads the events for learning. Without a split and without filters of rare users and
// items, dataset.Options.LeaveOutRare decides about these; a line tells so. Afterwards the filters
// of f are the filters that were applied.
func (f *Flags) ReadFor(
	split string, a *cli.App, p progress.Progress,
) (*dataset.Interactions, *dataset.Report, error) {
	f.leaveOutRare = split == "" && f.MinUserEvents == nil && f.MinItemEvents == nil
	events, report, err := f.Read(a, p)
	if err != nil {
		return nil, nil, err
	}
	f.MinUserEvents, f.MinItemEvents = &report.MinUserEvents, &report.MinItemEvents
	if f.leaveOutRare && report.MinItemEvents > 0 {
		p.End()
		fmt.Fprintf(a.Stderr,
			"left out %s of %s items with fewer than %d users, and %s of %s users with fewer than "+
				"%d items (--min-item-events 0 keeps them)\n",
			cli.Grouped(report.FilteredItems), cli.Grouped(events.NumItems()+report.FilteredItems),
			report.MinItemEvents,
			cli.Grouped(report.FilteredUsers), cli.Grouped(events.NumUsers()+report.FilteredUsers),
			report.MinUserEvents)
	}
	return events, report, nil
}

// CheckWeights refuses weights that a model does not take.
func CheckWeights(events *dataset.Interactions) error {
	at := slices.IndexFunc(events.Weight, func(w float32) bool { return w > event.MaxWeight })
	if at < 0 {
		return nil
	}
	user := sort.Search(events.NumUsers(), func(u int) bool { return events.Ptr[u+1] > int64(at) })
	return cli.Flagf("--weight-column",
		"the weight of user %q and item %q is %v, want a number above 0 and at most %d: "+
			"scale the weights down",
		events.Users[user], events.Items[events.Item[at]], events.Weight[at], event.MaxWeight)
}

// Deal divides the events by the file of --split at path or, without one, as drawn, and uses them
// up.
func Deal(
	events *dataset.Interactions, path string, drawn dataset.Split,
) (*dataset.Partition, error) {
	if path == "" {
		return events.PartitionInPlace(drawn)
	}
	split, err := dataset.ReadSplit(path, events)
	if err != nil {
		return nil, cli.Flag("--split", cli.PathError(err))
	}
	part, err := events.PartitionInPlace(split)
	return part, cli.Flag("--split", fault.In(path, err))
}
