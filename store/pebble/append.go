package pebble

import (
	"context"
	"fmt"
	"time"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/internal/plan"
)

// Append implements store.Store.
//
// The users' locks are held while the records are compared with the histories and put into the engine's log and memory,
// which fixes their order; the sync is awaited without the locks, so calls for the same user share syncs too.
func (s *Store) Append(ctx context.Context, records []store.Record) ([]store.Result, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.calls.Done()
	if len(records) == 0 {
		return nil, nil
	}
	if err := store.ValidateAll(records); err != nil {
		return nil, err
	}
	if err := s.admit(records); err != nil {
		return nil, err
	}
	unlock, err := s.lockStripes(ctx, s.stripes.indices(records))
	if err != nil {
		return nil, err
	}
	p, err := s.plan(records)
	if err != nil {
		unlock()
		return nil, err
	}
	b, err := s.batch(records, p)
	if err != nil {
		unlock()
		return nil, err
	}
	if err := s.commit(ctx, b, unlock); err != nil {
		return nil, err
	}
	return p.Results, nil
}

// lockStripes takes the locks of users for a write, unless the store has failed.
func (s *Store) lockStripes(ctx context.Context, indices []int) (unlock func(), err error) {
	unlock, err = s.stripes.lock(ctx, s.failure.ch, indices)
	if reason := s.failure.err(); reason != nil {
		if unlock != nil {
			unlock()
		}
		return nil, reason
	}
	return unlock, err
}

// admit refuses writes of a failed store and those for which there is no space.
func (s *Store) admit(records []store.Record) error {
	if err := s.failure.err(); err != nil {
		return err
	}
	const rows = 160 // keys, values and their overhead in the log, apart from the ids
	var bytes int64
	for _, r := range records {
		bytes += rows + int64(3*len(r.User)+2*len(r.Event.ID)+len(r.Event.Item)+len(r.Event.Type))
	}
	return s.space.admit(bytes)
}

func (s *Store) plan(records []store.Record) (plan.Plan, error) {
	r, err := s.newReader()
	if err != nil {
		return plan.Plan{}, err
	}
	defer r.close()
	return plan.Make(r, records)
}

// batch puts the rows of the plan together. If the plan holds no new event, the batch holds nothing but a mark for the
// log, whose sync makes the originals of the duplicates durable: they come before it in the log.
func (s *Store) batch(records []store.Record, p plan.Plan) (*lsm.Batch, error) {
	b := s.db.NewBatch()
	var key, value []byte
	set := func() error { return b.Set(key, value, nil) }
	for i, rec := range records {
		if p.Results[i].Duplicate {
			continue
		}
		key = eventKey(key, rec.User, p.Results[i].Revision)
		value = encodeEvent(value, key, rec.Event)
		if err := set(); err != nil {
			return nil, err
		}
		key = eventIDKey(key, rec.User, rec.Event.ID)
		value = encodeNumber(value, key, p.Results[i].Revision)
		if err := set(); err != nil {
			return nil, err
		}
	}
	for user, head := range p.Heads {
		key = headKey(key, user)
		value = encodeNumber(value, key, head)
		if err := set(); err != nil {
			return nil, err
		}
	}
	if b.Empty() {
		return b, b.LogData(nil, nil)
	}
	return b, nil
}

// commit makes the batch durable. It calls unlock as soon as the order of the batch is fixed. When the context ends or the
// store fails meanwhile it returns at once and leaves the outcome open.
func (s *Store) commit(ctx context.Context, b *lsm.Batch, unlock func()) error {
	done := make(chan error, 1)
	s.commits.Add(1)
	go func() {
		defer s.commits.Done()
		done <- s.write(b, unlock)
	}()
	select {
	case err := <-done:
		return err
	case <-s.failure.ch:
		return outcomeOpen(s.failure.reason)
	case <-ctx.Done():
		return fmt.Errorf("waiting for a write to become durable, its outcome is open: %w", ctx.Err())
	}
}

// write writes the batch and waits until it is durable. In a failing engine it may never return.
func (s *Store) write(b *lsm.Batch, unlock func()) error {
	began := time.Now()
	err := safely(func() error { return s.db.ApplyNoSyncWait(b, lsm.Sync) })
	unlock()
	if err == nil {
		err = safely(b.SyncWait)
	}
	if err != nil {
		s.fail(err)
	}
	if reason := s.failure.err(); reason != nil {
		return outcomeOpen(reason)
	}
	s.opts.Events.Synced(time.Since(began))
	return b.Close()
}

// Erase implements store.Store.
func (s *Store) Erase(ctx context.Context, user string) (uint64, error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.calls.Done()
	if !possible(user) {
		return 0, nil
	}
	unlock, err := s.lockStripes(ctx, []int{s.stripes.index(user)})
	if err != nil {
		return 0, err
	}
	head, err := s.head(user)
	if err != nil {
		unlock()
		return 0, err
	}
	b := s.db.NewBatch()
	// Even an unknown user's rows are deleted: an erasure before this one may not be durable yet.
	if err := b.DeleteRange(headKey(nil, user), endKey(nil, user), nil); err != nil {
		unlock()
		return 0, err
	}
	if err := s.commit(ctx, b, unlock); err != nil {
		return 0, err
	}
	return head, nil
}
