package pebble

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
)

// TestErasedBytesLeaveTheDisk looks for an erased user in all files, after the engine was forced to
// do its usual work: flush, compact, change logs and rewrite the list of tables.
func TestErasedBytesLeaveTheDisk(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{})
	// Hardly compressible, so that they are found in tables.
	const victim, item = "zQ8xV3kM1nB7victim", "zJ5wT2hG9dR4bought"
	appendVictim := func(from, to int) {
		for i := from; i < to; i++ {
			e := testEvent(i)
			e.Item = item
			if _, err := s.Append(context.Background(),
				[]store.Record{{User: victim, Event: e}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	appendVictim(0, 100)
	mustAppend(t, s, "other", 0, 100)
	flush(t, s)
	appendVictim(100, 200)
	for _, text := range []string{victim, item} {
		if files := filesWith(t, dir, text); len(files) < 2 {
			t.Fatalf("%q is in the files %v to begin with, want a table and a log: the test looks "+
				"in the wrong way", text, files)
		}
	}
	if n, err := s.Erase(context.Background(), victim); n != 200 || err != nil {
		t.Fatalf("Erase: got %d, %v, want 200, nil", n, err)
	}
	for range 3 {
		mustAppend(t, s, "other", 0, 100)
		flush(t, s)
	}
	err := s.engine.DB.Compact(context.Background(), row.FirstUserKey, []byte{0xff}, false)
	if err != nil {
		t.Fatal(err)
	}
	wantGone(t, dir, item)
	for range 2 {
		mustClose(t, s)
		s = mustOpen(t, dir, Options{})
	}
	defer mustClose(t, s)
	wantGone(t, dir, victim)
	if r, err := s.Revision(context.Background(), "other"); r != 100 || err != nil {
		t.Errorf("Revision of another user: got %d, %v, want 100", r, err)
	}
}

// wantGone waits until no file contains the text: obsolete files are removed in the background.
func wantGone(t *testing.T, dir, text string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		files := filesWith(t, dir, text)
		if len(files) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%q is still in %v", text, files)
		}
	}
}

// filesWith returns the files below the directory that contain the text.
func filesWith(t *testing.T, dir, text string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // removed meanwhile, or a directory
		}
		if content, err := os.ReadFile(path); err == nil && bytes.Contains(content, []byte(text)) {
			files = append(files, filepath.Base(path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestErasureOfNobody erases users without history. Nothing must be written, nor stay in memory.
func TestErasureOfNobody(t *testing.T) {
	var synced atomic.Int64
	s := mustOpen(t, "store", Options{FS: vfs.NewMem(), Events: Events{Synced: func(time.Duration) {
		synced.Add(1)
	}}})
	defer mustClose(t, s)
	mustAppend(t, s, "erased", 0, 100)
	if n, err := s.Erase(context.Background(), "erased"); n != 100 || err != nil {
		t.Fatalf("Erase: got %d, %v, want 100", n, err)
	}
	flush(t, s)
	mustAppend(t, s, "u", 0, 100)
	rows, syncs, bytes := journalRows(t, s), synced.Load(), s.histories.Bytes()
	written := s.engine.DB.Metrics().WAL.BytesIn
	for i := range 1000 {
		n, err := s.Erase(context.Background(), fmt.Sprint("nobody-", i))
		if n != 0 || err != nil {
			t.Fatalf("Erase: got %d, %v, want 0", n, err)
		}
	}
	if n, err := s.Erase(context.Background(), "erased"); n != 0 || err != nil {
		t.Errorf("Erase once more: got %d, %v, want 0", n, err)
	}
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
			if n != 200 {
				t.Errorf("Erase: got %d, want 200", n)
			}
			return err
		})
	}
	disk.goOn()
	h.calls.Wait()
	if n := synced.Load() - before; n != 2 {
		t.Errorf("%d syncs for a write and %d erasures that waited for it, want 2", n, users)
	}
	for when := range 2 {
		if diff := cmp.Diff(map[string][]string{"first": {testEvent(0).ID}}, dump(t, s)); diff != "" {
			t.Errorf("%d: histories differ (-want +got):\n%s", when, diff)
		}
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
	if _, err := s.Append(context.Background(), []store.Record{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Erase(context.Background(), "u"); err != nil {
		t.Fatal(err)
	}
	if got := synced.Load(); got != 3 {
		t.Errorf("Synced was called %d times, want 3", got)
	}
}
