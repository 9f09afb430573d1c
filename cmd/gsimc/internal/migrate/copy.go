package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/progress"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/stores"
	"github.com/gsimc/gsimc/store"
)

const (
	// batchEvents is about the number of events of a call.
	batchEvents = 500
	// writersAtOnce is the number of calls that are under way at the same time.
	writersAtOnce = 8
	// batchItems is the number of items of a call.
	batchItems = 200
)

// Reasons to refuse or to fail. They name no user: ids are personal data.
var (
	errForeign = errors.New("--to has histories that are no beginning of those of --from, such " +
		"as another user, another order or another event: give an empty store")
	errForeignItems = errors.New("--to has items that --from has not, or has otherwise: give an " +
		"empty store")
	errDiffers = errors.New("the stores differ after the copy: a server has written to one of " +
		"them meanwhile; stop the servers and repeat the command")
)

// migration copies one store to another.
type migration struct {
	from, to store.Items
	progress progress.Progress
	rows     atomic.Int64 // of the present stage

	copied        atomic.Int64
	users, events int64 // of both stores, as they were compared
	itemCount     int64
}

// step counts rows of a stage.
func (m *migration) step(n int) { m.progress.Update(m.rows.Add(int64(n)), 0) }

// inspect refuses a target with anything that is not in the source.
func (m *migration) inspect(ctx context.Context) error {
	err := stores.Histories(ctx, m.to, func(user string, there []store.Event) error {
		m.step(len(there))
		events, err := stores.History(ctx, m.from, user)
		if err != nil {
			return err
		}
		if len(there) > len(events) || !slices.Equal(there, events[:len(there)]) {
			return errForeign
		}
		return nil
	})
	if err != nil {
		return err
	}
	return m.to.EachItem(ctx, "", func(there store.Item) error {
		m.step(1)
		item, found, err := m.from.Item(ctx, there.ID)
		if err == nil && (!found || !equalItems(item, there)) {
			err = errForeignItems
		}
		return err
	})
}

func equalItems(a, b store.Item) bool {
	return reflect.DeepEqual(a.Clone(), b.Clone())
}

// histories copies all events that the target lacks.
func (m *migration) histories(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	batches := make(chan []store.Record)
	var writers sync.WaitGroup
	for range writersAtOnce {
		writers.Go(func() {
			for batch := range batches {
				if err := m.write(ctx, batch); err != nil {
					cancel(err)
				}
			}
		})
	}
	var batch []store.Record
	send := func() error {
		select {
		case batches <- batch:
			batch = nil
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	err := stores.Histories(ctx, m.from, func(user string, events []store.Event) error {
		// A history is in one call, so that its events keep their order.
		for _, e := range events {
			batch = append(batch, store.Record{User: user, Event: e})
		}
		if len(batch) < batchEvents {
			return nil
		}
		return send()
	})
	if err == nil && len(batch) > 0 {
		err = send()
	}
	close(batches)
	writers.Wait()
	return cmp.Or(context.Cause(ctx), err)
}

// write appends a batch. Events that are there already are left as they are.
func (m *migration) write(ctx context.Context, batch []store.Record) error {
	for from := 0; from < len(batch); from += batchEvents {
		records := batch[from:min(from+batchEvents, len(batch))]
		results, err := m.to.Append(ctx, records)
		if err != nil {
			return fmt.Errorf("writing to --to: %w", err)
		}
		for _, r := range results {
			if r.Err != nil {
				return fmt.Errorf("writing to --to: %w", r.Err)
			}
			if !r.Duplicate {
				m.copied.Add(1)
			}
		}
		m.step(len(records))
	}
	return nil
}

// items copies the catalogue.
func (m *migration) items(ctx context.Context) error {
	var batch []store.Item
	send := func() error {
		if len(batch) == 0 {
			return nil
		}
		if err := m.to.PutItems(ctx, batch); err != nil {
			return fmt.Errorf("writing items to --to: %w", err)
		}
		m.step(len(batch))
		batch = batch[:0]
		return nil
	}
	err := m.from.EachItem(ctx, "", func(item store.Item) error {
		if batch = append(batch, item); len(batch) < batchItems {
			return nil
		}
		return send()
	})
	return errors.Join(err, send())
}

// compare reads both stores and compares all that is in them.
func (m *migration) compare(ctx context.Context) error {
	err := stores.Histories(ctx, m.from, func(user string, events []store.Event) error {
		there, err := stores.History(ctx, m.to, user)
		if err != nil {
			return err
		}
		if !slices.Equal(events, there) {
			return errDiffers
		}
		m.users++
		m.events += int64(len(events))
		m.step(len(events))
		return nil
	})
	if err != nil {
		return err
	}
	var users, events int64
	err = m.to.Each(ctx, 0, 1, func(_ string, head store.Version) error {
		users++
		events += int64(head.Revision)
		return nil
	})
	if err != nil {
		return err
	}
	if users != m.users || events != m.events {
		return errDiffers
	}
	return m.compareItems(ctx)
}

func (m *migration) compareItems(ctx context.Context) error {
	err := m.from.EachItem(ctx, "", func(item store.Item) error {
		there, found, err := m.to.Item(ctx, item.ID)
		if err == nil && (!found || !equalItems(item, there)) {
			err = errDiffers
		}
		m.itemCount++
		return err
	})
	if err != nil {
		return err
	}
	var items int64
	err = m.to.EachItem(ctx, "", func(store.Item) error { items++; return nil })
	if err == nil && items != m.itemCount {
		err = errDiffers
	}
	return err
}
