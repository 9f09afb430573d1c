package pebble

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/filetest"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/store"
)

// takeOut takes the events out of a history for which out is true.
func takeOut(t *testing.T, s store.Store, user string, out func(store.Event) bool) store.Version {
	t.Helper()
	versions := check.Get(s.Rewrite(context.Background(), []string{user},
		func(h [][]store.Event) [][]store.Event {
			return [][]store.Event{slices.DeleteFunc(append([]store.Event{}, h[0]...), out)}
		}))(t)
	return versions[0]
}

// The bytes of events that were taken out of a history leave all files, as those of erased users
// do, whether they were in rows, in the journal, or in tables of several levels. The others stay.
func TestRetractedBytesLeaveTheDisk(t *testing.T) {
	dir := t.TempDir()
	opts := Options{eraseDelay: 100 * time.Millisecond, sortBytes: 100_000, sortBatch: 10_000}
	s := mustOpen(t, dir, opts)
	const secretID = "zQ8xV3kM1nB7" // hardly compressible
	retracted := func(e store.Event) bool { return strings.HasPrefix(e.ID, secretID) }
	write := func(user string, from, to int) {
		var records []store.Record
		for i := from; i < to; i++ {
			e := testEvent(i)
			if i%3 == 0 {
				e.ID = fmt.Sprint(secretID, i)
			}
			records = append(records, store.Record{User: user, Event: e})
		}
		check.Must(t, appendAll(context.Background(), s, records))
	}
	for round := range 3 {
		write("ann", 200*round, 200*round+200)
		write("bob", 200*round, 200*round+200)
		flush(t, s)
	}
	write("ann", 600, 610)
	if files := filetest.With(t, dir, secretID); len(files) < 2 {
		t.Fatalf("the mark is in %v to begin with, want tables and a log", files)
	}
	for _, user := range []string{"ann", "bob"} {
		takeOut(t, s, user, retracted)
	}
	forgotten(t, s)
	if files := filetest.With(t, dir, secretID); len(files) > 0 {
		t.Errorf("the mark is still in %v", files)
	}
	check := func() {
		t.Helper()
		got := dump(t, s)
		for user, n := range map[string]int{"ann": 610, "bob": 600} {
			var want []string
			for i := range n {
				if i%3 > 0 {
					want = append(want, testEvent(i).ID)
				}
			}
			check.Same(t, want, got[user], "events of %s", user)
		}
	}
	check()
	s = reopen(t, s, dir, opts)
	check()
	mustClose(t, s)
}

// TestLongRewriteMeetsCrashes cuts the power at every operation on the disk while a history of many
// rows of the journal is rewritten: afterwards all of it is rewritten, or nothing.
func TestLongRewriteMeetsCrashes(t *testing.T) {
	t.Parallel()
	soak.Native(t)
	const n = 3000
	disk := newDisk()
	var armed atomic.Bool
	var crashes []*memDisk
	fs := withCrashes(disk, rand.New(rand.NewPCG(1, 4)), func(copied func() *memDisk) {
		if armed.Load() {
			crashes = append(crashes, copied())
		}
	})
	s := mustOpen(t, "store", Options{FS: fs})
	long := strings.Repeat("x", 250)
	var records []store.Record
	before, after := []string{}, []string{}
	for i := range n {
		e := testEvent(i)
		e.ID += long[:200]
		records = append(records, store.Record{User: "u", Event: e},
			store.Record{User: long, Event: e})
		before = append(before, e.ID)
		if i%100 > 0 {
			after = append(after, e.ID)
		}
	}
	check.Must(t, appendAll(context.Background(), s, records))
	old := map[string][]string{"u": before, long: before}
	armed.Store(true)
	_, err := s.Rewrite(context.Background(), []string{"u", long},
		func(h [][]store.Event) [][]store.Event {
			kept := slices.DeleteFunc(slices.Clone(h[0]),
				func(e store.Event) bool { return !slices.Contains(after, e.ID) })
			return [][]store.Event{{}, kept}
		})
	armed.Store(false)
	check.Must(t, err)
	final := powerCut(disk, 0)
	mustClose(t, s)
	crashes = append(crashes, final)
	all, last := 0, len(crashes)-1
	for _, i := range append(soak.Some(t, last), last) {
		s := mustOpen(t, "store", Options{FS: crashes[i]})
		got := dump(t, s)
		switch {
		case cmp.Equal(got, map[string][]string{long: after}):
			all++
		case !cmp.Equal(got, old):
			t.Errorf("crash %d of %d: %d and %d events, want %d of each or 0 and %d", i,
				len(crashes), len(got["u"]), len(got[long]), n, len(after))
		case i == last:
			t.Error("an acknowledged rewrite is gone")
		}
		mustClose(t, s)
	}
	if all == 0 || len(crashes) < 3 {
		t.Errorf("%d crashes, the rewrite is there after %d", len(crashes), all)
	}
}
