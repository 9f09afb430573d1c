package pebble

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

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
