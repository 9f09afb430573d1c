package pebble

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/filetest"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
)

// TestForgotten erases users among the traffic of others, and looks for their ids and events in all
// files once they are said to be forgotten: with what they had in tables, in the journal and in
// both.
func TestForgotten(t *testing.T) {
	dir := t.TempDir()
	opts := Options{eraseDelay: 100 * time.Millisecond, sortBytes: 100_000, sortBatch: 10_000}
	s := mustOpen(t, dir, opts)
	defer func() { mustClose(t, s) }()
	const mark = "zQ8xV3kM1nB7" // hardly compressible
	const victims = 30
	write := func(kind string, u, from, to int) {
		var records []store.Record
		for i := from; i < to; i++ {
			e := testEvent(i)
			if kind == mark {
				e.ID += mark
			}
			records = append(records, store.Record{User: fmt.Sprint(u, kind), Event: e})
		}
		check.Pass(t, appendAll(context.Background(), s, records), "Append")
	}
	for round := range 4 { // tables in several levels
		for u := range victims {
			if u%3 < 2 {
				write(mark, u, 100*round, 100*round+100)
			}
			write("other", u, 100*round, 100*round+100)
		}
		flush(t, s)
		if round == 1 {
			err := s.engine.DB.Compact(context.Background(), row.JournalPrefix, row.LastKey, false)
			check.Must(t, err)
		}
	}
	for u := range victims {
		if u%3 > 0 {
			write(mark, u, 400, 410)
		}
	}
	if files := filetest.With(t, dir, mark); len(files) < 2 {
		t.Fatalf("the mark is in %v to begin with, want tables and a log", files)
	}
	var wg sync.WaitGroup
	var stop atomic.Bool
	wg.Go(func() { // traffic
		for i := 400; !stop.Load(); i++ {
			write("other", i%victims, i, i+1)
		}
	})
	for u := range victims {
		mustErase(t, s, fmt.Sprint(u, mark))
	}
	forgotten(t, s)
	if files := filetest.With(t, dir, mark); len(files) > 0 {
		t.Errorf("the mark is still in %v", files)
	}
	write(mark, 0, 0, 10)
	stop.Store(true)
	wg.Wait()

	// Erasures that are not forgotten before the store is closed.
	flush(t, s)
	s.stop()
	check.Get(s.Erase(context.Background(), "0"+mark))(t)
	mustClose(t, s)
	if len(filetest.With(t, dir, mark)) == 0 {
		t.Error("the mark is in no file of the closed store: nothing is tested")
	}
	s = mustOpen(t, dir, opts)
	forgotten(t, s)
	if files := filetest.With(t, dir, mark); len(files) > 0 {
		t.Errorf("after a restart the mark is still in %v", files)
	}
	// The note is removed after those who wait are told.
	check.Await(t, "the next start would forget nobody", func() bool {
		return !check.Get(hasErased(s.engine.DB))(t)
	})
}

func forgotten(t *testing.T, s *Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	check.Must(t, s.Forgotten(ctx))
}

// TestForgottenInQuiet erases a user whose events are in logs that ended long before, several at a
// time. No other log begins after the erasure.
func TestForgottenInQuiet(t *testing.T) {
	s := mustOpen(t, t.TempDir(), Options{eraseDelay: time.Millisecond})
	defer func() { mustClose(t, s) }()
	for i := range 10 {
		check.Get(s.Append(t.Context(), []store.Record{{User: "u", Event: testEvent(i)}}))(t)
		check.Get(s.engine.DB.AsyncFlush())(t)
	}
	flush(t, s)
	check.Get(s.Erase(t.Context(), "u"))(t)
	forgotten(t, s)
}

// TestErasureOfNobody erases users without history. Nothing must be written, nor stay in memory.
func TestErasureOfNobody(t *testing.T) {
	var synced atomic.Int64
	s := mustOpen(t, "store", Options{FS: vfs.NewMem(), Events: Events{Synced: func(time.Duration) {
		synced.Add(1)
	}}})
	defer mustClose(t, s)
	mustAppend(t, s, "erased", 0, 100)
	wantErased(t, s, "erased", 100)
	flush(t, s)
	mustAppend(t, s, "u", 0, 100)
	rows, syncs, bytes := journalRows(t, s), synced.Load(), s.histories.Bytes()
	written := s.engine.DB.Metrics().WAL.BytesIn
	for i := range 1000 {
		wantErased(t, s, fmt.Sprint("nobody-", i), 0)
	}
	wantErased(t, s, "erased", 0)
	if now := s.engine.DB.Metrics().WAL.BytesIn; now != written || synced.Load() != syncs ||
		journalRows(t, s) != rows || s.histories.Bytes() != bytes {
		t.Errorf("erasing nobody: %d bytes written, %d syncs, %d rows in the journal, %d bytes in "+
			"memory more, want 0 of each", now-written, synced.Load()-syncs,
			journalRows(t, s)-rows, s.histories.Bytes()-bytes)
	}
}

// TestErasuresShareACommit holds the disk up while many users are erased. All are to become durable
// by the next sync, and the engine is to have few ranges to look at.
func TestErasuresShareACommit(t *testing.T) {
	const users = maxErasing
	disk := newHungDisk()
	var synced atomic.Int64
	s := mustOpen(t, "store", Options{FS: disk, Events: Events{Synced: func(time.Duration) {
		synced.Add(1)
	}}})
	defer mustClose(t, s)
	for u := range users {
		mustAppend(t, s, fmt.Sprint("user-", u), 0, 200)
	}
	flush(t, s)
	before := synced.Load()
	disk.hang()
	defer disk.goOn()
	var h heldCalls
	h.calls.Go(func() { mustAppend(t, s, "first", 0, 1) })
	<-disk.waiting
	for u := range users {
		h.begin(t, s, func(ctx context.Context) error {
			n, err := s.Erase(ctx, fmt.Sprint("user-", u))
			check.Same(t, uint64(200), n, "erased events")
			return err
		})
	}
	disk.goOn()
	h.calls.Wait()
	check.Same(t, int64(2), synced.Load()-before,
		"syncs for a write and erasures that waited for it")
	for when := range 2 {
		check.Same(t, map[string][]string{"first": {testEvent(0).ID}}, dump(t, s),
			"%d: histories", when)
		flush(t, s)
	}
}

func TestSyncedEvent(t *testing.T) {
	var synced atomic.Int64
	s := mustOpen(t, t.TempDir(), Options{Events: Events{Synced: func(took time.Duration) {
		if took > 0 {
			synced.Add(1)
		}
	}}})
	defer mustClose(t, s)
	mustAppend(t, s, "u", 0, 5)
	mustAppend(t, s, "u", 0, 5) // duplicates wait for a sync too
	check.Get(s.Append(context.Background(), []store.Record{}))(t)
	check.Get(s.Erase(context.Background(), "u"))(t)
	check.Same(t, int64(3), synced.Load(), "calls of Synced")
}

// TestClosedWhileErasureWaits closes a store on a full disk that has an erased user to forget. The
// next start forgets.
func TestClosedWhileErasureWaits(t *testing.T) {
	t.Parallel()
	var full, refused atomic.Bool
	fs := withoutTables(vfs.NewMem(), func() error {
		if !full.Load() {
			return nil
		}
		refused.Store(true)
		return syscall.ENOSPC
	})
	opts := Options{FS: fs, eraseDelay: time.Millisecond}
	s := mustOpen(t, "store", opts)
	mustAppend(t, s, secret, 0, 10)
	full.Store(true)
	check.Get(s.Erase(t.Context(), secret))(t)
	check.Await(t, "something is written to be forgotten", refused.Load)
	check.Must(t, check.Return(t, "Close", s.Close))
	full.Store(false)
	s = mustOpen(t, "store", opts)
	check.Pass(t, s.Forgotten(t.Context()), "Forgotten")
	mustClose(t, s)
}
