package train

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/learn/dataset"
)

// Event is one event of a user's history in a store.
type Event struct {
	User, Item, Type string
	Time             time.Time
	Value            float64
}

// Source yields the events of all histories of a store, each history in its order.
type Source interface {
	// Each calls do for every event until do returns an error, which Each returns.
	Each(ctx context.Context, do func(Event) error) error
}

// readStep is the number of events between two calls of the progress.
const readStep = 1 << 16

// Read makes interactions of all events of src. An event weighs what it weighs for a server with
// the same weights; an event of a weight that is not above 0 is left out. The report names the
// types of weights that no event has. name stands for the source in errors. Of the options the
// filters and MaxBadRows count. The errors are those of dataset.Builder and src.
func Read(ctx context.Context, name string, src Source, weights event.Weights, opt dataset.Options,
	progress Progress) (*dataset.Interactions, *dataset.Report, error) {
	b, err := dataset.NewBuilder(name, opt)
	if err != nil {
		return nil, nil, err
	}
	tell := progress.of(StageRead)
	absent := maps.Clone(weights)
	rows := 0
	err = src.Each(ctx, func(e Event) error {
		if rows++; rows%readStep == 0 && tell != nil {
			tell(rows, 0)
		}
		delete(absent, e.Type)
		return b.Add(e.User, e.Item, e.Time.Unix(), float64(weights.Of(e.Type, e.Value)))
	})
	if err != nil {
		return nil, nil, fault.In(name, err)
	}
	events, report, err := b.Interactions()
	if err == nil {
		report.AbsentTypes = slices.Sorted(maps.Keys(absent))
	}
	return events, report, err
}
