package pebble

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/store"
)

// TestRecordsStayTheCallers gives up calls while the disk hangs, and uses their records for
// something else. The store must have the records as they were passed in, and no goroutine may read
// them later, as the race detector would see.
func TestRecordsStayTheCallers(t *testing.T) {
	disk := newHungDisk()
	s := mustOpen(t, "store", Options{FS: disk})
	disk.hang()
	var wg sync.WaitGroup
	var untouched atomic.Int64
	for caller := range 8 {
		wg.Go(func() {
			record := make([]store.Record, 1)
			for i := range 20 {
				ctx, cancel := context.WithCancel(context.Background())
				record[0] = store.Record{User: fmt.Sprint("user", caller), Event: testEvent(i)}
				go cancel()
				_, err := s.Append(ctx, record)
				check.Fails(t, err, context.Canceled, "Append")
				// With the error alone nothing was applied.
				if err == context.Canceled { //nolint:errorlint // see above
					untouched.Add(1)
				}
				record[0] = store.Record{User: "nobody", Event: store.Event{ID: "x", Item: "y"}}
			}
		})
	}
	wg.Wait()
	disk.goOn()
	mustAppend(t, s, "last", 0, 1)
	applied := 0
	for user, ids := range dump(t, s) {
		if user == "nobody" {
			t.Error("the store has a record that the caller put into its slice after the call")
		}
		applied += len(ids)
	}
	if applied-1 > 160-int(untouched.Load()) {
		t.Errorf("%d events were applied, but %d of 160 calls said that theirs was not", applied-1,
			untouched.Load())
	}
	mustClose(t, s)
}

// appendOneEach appends an event of each of some users by one call.
func appendOneEach(t *testing.T, s *Store, from, to int) {
	t.Helper()
	var records []store.Record
	for u := from; u < to; u++ {
		records = append(records, store.Record{User: fmt.Sprint("user-", u), Event: testEvent(0)})
	}
	check.Must(t, appendAll(t.Context(), s, records))
}

// TestBoundedByDuplicates sends an event of each user again, and then erases users, in a store that
// may keep only a few of them in memory.
func TestBoundedByDuplicates(t *testing.T) {
	soak.Native(t)
	const users, perCall = 20_000, 500
	disk := vfs.NewMem()
	opts := Options{FS: disk, CacheBytes: 1 << 20}
	s := mustOpen(t, "store", opts)
	all := func() {
		for from := 0; from < users; from += perCall {
			appendOneEach(t, s, from, from+perCall)
		}
	}
	bounded := func(after string) {
		t.Helper()
		if bytes, limit := s.histories.Bytes(), int(2*opts.CacheBytes); bytes > limit {
			t.Errorf("after %s the histories in memory have %d bytes, want at most %d", after,
				bytes, limit)
		}
	}
	all()
	flush(t, s)
	s = reopen(t, s, "store", opts)
	defer func() { mustClose(t, s) }()
	all()
	bounded("duplicates")
	for user := range users / 2 {
		wantErased(t, s, fmt.Sprint("user-", user), 1)
	}
	bounded("erasures")
	wantRevision(t, s, "user-1", 0)
}

// TestBurstIsLetGoOf writes once for each of many users, and then leaves the store alone.
func TestBurstIsLetGoOf(t *testing.T) {
	opts := Options{FS: vfs.NewMem(), CacheBytes: 1 << 20}
	s := mustOpen(t, "store", opts)
	defer mustClose(t, s)
	appendOneEach(t, s, 0, 20_000)
	limit := int(2 * opts.CacheBytes)
	if bytes := s.histories.Bytes(); bytes < 2*limit {
		t.Fatalf("the burst takes %d bytes, want more than %d for the test", bytes, 2*limit)
	}
	settle(t, s)
	check.Await(t, "the histories take little", func() bool { return s.histories.Bytes() <= limit })
}

// TestSortDueWhileSorting asks for sorting while the sorter is held up, and then leaves the store
// alone.
func TestSortDueWhileSorting(t *testing.T) {
	s := mustOpen(t, "store", Options{FS: vfs.NewMem()})
	defer mustClose(t, s)
	check.Must(t, s.sorter.lockRows()) // holds the sorter up
	mustAppend(t, s, "u", 0, 2)
	sortNow(s)
	check.Await(t, "the journal is being sorted", func() bool { return !s.sorter.due.Load() })
	mustAppend(t, s, "u", 2, 4)
	sortNow(s)
	time.Sleep(20 * time.Millisecond) // for the committer to see that it must wait
	s.sorter.unlockRows()
	check.Await(t, "the journal is sorted", func() bool { return journalRows(t, s) == 0 })
}
