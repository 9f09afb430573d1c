package pebble

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
	"github.com/gsimc/gsimc/store/storetest"
)

// dumpItems returns all items.
func dumpItems(t *testing.T, s *Store) (items []store.Item) {
	t.Helper()
	check.Must(t, s.EachItem(context.Background(), "", func(i store.Item) error {
		items = append(items, i)
		return nil
	}))
	return items
}

// The power is cut at every operation on the disk while batches of items are written among events:
// afterwards there are all items of a call or none, and what was acknowledged before.
func TestItemsMeetCrashes(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 3))
	disk := newDisk()
	var acknowledged atomic.Int64
	var armed atomic.Bool
	type crash struct {
		fs    *memDisk
		least int64
	}
	var crashes []crash
	fs := withCrashes(disk, rand.New(rand.NewPCG(61, 4)), func(copied func() *memDisk) {
		if least := acknowledged.Load(); armed.Load() {
			crashes = append(crashes, crash{copied(), least})
		}
	})
	s := mustOpen(t, "store", Options{FS: fs})
	armed.Store(true)
	batches := make([][]store.Item, 8)
	for n := range batches {
		for range 20 {
			i := storetest.RandomItem(rng)
			i.ID = string(rune('a'+n)) + i.ID[:min(len(i.ID), 99)]
			batches[n] = append(batches[n], i)
		}
		check.Must(t, s.PutItems(context.Background(), batches[n]))
		acknowledged.Store(int64(n + 1))
		mustAppend(t, s, "u", n, n+1)
	}
	armed.Store(false)
	last := powerCut(disk, 0)
	mustClose(t, s)
	crashes = append(crashes, crash{last, int64(len(batches))})
	states := make([][]store.Item, len(batches)+1)
	clean := mustOpen(t, "clean", Options{FS: vfs.NewMem()})
	for n, batch := range batches {
		check.Must(t, clean.PutItems(context.Background(), batch))
		states[n+1] = dumpItems(t, clean)
	}
	mustClose(t, clean)
	for at, crash := range crashes {
		s := mustOpen(t, "store", Options{FS: crash.fs})
		got := dumpItems(t, s)
		mustClose(t, s)
		found := false
		for _, state := range states[crash.least:] {
			found = found || cmp.Equal(state, got, cmpopts.EquateEmpty())
		}
		if !found {
			t.Errorf("crash %d of %d: %d items, after %d acknowledged calls", at, len(crashes),
				len(got), crash.least)
		}
	}
	if len(crashes) < 8 {
		t.Errorf("%d crashes", len(crashes))
	}
}

// The catalogue is part of what is verified, restored and salvaged; a damaged row is told, and
// salvaging leaves it out.
func TestItemsAreVerifiedAndSalvaged(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	s := mustOpen(t, filepath.Join(dir, "store"), Options{})
	want := []store.Item{{ID: "a", Labels: []string{"x"}}, {ID: "b", Hidden: true}, {ID: "c"}}
	check.Must(t, s.PutItems(ctx, want))
	mustAppend(t, s, "u", 1, 2)
	key := row.ItemKey(nil, "b")
	value := bytes.Repeat([]byte{7}, 20)
	mustClose(t, s)
	none, progress := func(string, Condition) error { return nil }, func(int64, int64) {}
	verify := func() *Report {
		t.Helper()
		return check.Get(Verify(ctx, filepath.Join(dir, "store"), Options{}, progress, none))(t)
	}
	if r := verify(); !r.Whole() || r.Items != 3 || r.Users != 1 {
		t.Errorf("report %+v, want 3 items and 1 user, whole", r)
	}
	s = mustOpen(t, filepath.Join(dir, "store"), Options{})
	check.Must(t, s.engine.DB.Set(key, value, nil))
	var read []string
	err := s.EachItem(ctx, "", func(i store.Item) error { read = append(read, i.ID); return nil })
	damaged, ok := errors.AsType[*store.DamagedItemsError](err)
	if !ok || !cmp.Equal(damaged.IDs, []string{"b"}) || !cmp.Equal(read, []string{"a", "c"}) {
		t.Errorf("read %q, %v", read, err)
	}
	mustClose(t, s)
	if r := verify(); r.Whole() || r.Items != 2 || r.DamagedItems != 1 {
		t.Errorf("report %+v, want 2 items and a damaged one", r)
	}
	result, err := Salvage(ctx, filepath.Join(dir, "store"), filepath.Join(dir, "new"), Options{},
		progress, func(int64) {}, none)
	if err != nil || result.Items != 2 || result.Users != 1 {
		t.Fatalf("salvaged %+v, %v", result, err)
	}
	s = mustOpen(t, filepath.Join(dir, "new"), Options{})
	check.SameBy(t, cmpopts.EquateEmpty(), []store.Item{want[0], want[2]}, dumpItems(t, s),
		"salvaged items")
	mustClose(t, s)
}
