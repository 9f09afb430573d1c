package pebble

import (
	"context"
	"errors"
	"testing"
	"time"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
)

// appendAll appends, and returns the errors of the call and of its records.
func appendAll(ctx context.Context, s store.Store, records []store.Record) error {
	results, err := s.Append(ctx, records)
	for _, r := range results {
		err = errors.Join(err, r.Err)
	}
	return err
}

// sortNow makes the committer sort the journal, soon.
func sortNow(s *Store) {
	s.sorter.due.Store(true)
	s.queue.nudge()
}

// settle waits until everything is in rows and the journal is empty.
func settle(t testing.TB, s *Store) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if journalRows(t, s) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the journal has not been sorted after 10 s")
		}
		sortNow(s)
	}
}

func journalRows(t testing.TB, s *Store) (n int) {
	t.Helper()
	it, err := s.engine.DB.NewIter(&lsm.IterOptions{LowerBound: row.JournalPrefix,
		UpperBound: row.FirstUserKey})
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	for valid := it.First(); valid; valid = it.Next() {
		n++
	}
	if err := it.Error(); err != nil {
		t.Fatal(err)
	}
	return n
}

// flush puts everything into tables.
func flush(t testing.TB, s *Store) {
	t.Helper()
	settle(t, s)
	if err := s.engine.DB.Flush(); err != nil {
		t.Fatal(err)
	}
}
