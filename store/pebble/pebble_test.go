package pebble

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
	"github.com/gsimc/gsimc/store/storetest"
)

// mustOpen opens a store and fails the test if it cannot.
func mustOpen(t testing.TB, dir string, opts Options) *Store {
	t.Helper()
	return check.Get(openSoon(dir, opts))(t)
}

// openSoon opens a store that does not wait long for a failed engine.
func openSoon(dir string, opts Options) (*Store, error) {
	opts.closePatience = 100 * time.Millisecond
	return Open(context.Background(), dir, opts)
}

func mustClose(t testing.TB, s store.Store) {
	t.Helper()
	check.Must(t, s.Close())
}

// reopen closes a store and opens what is then in a directory.
func reopen(t testing.TB, s store.Store, dir string, opts Options) *Store {
	t.Helper()
	mustClose(t, s)
	return mustOpen(t, dir, opts)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	t.Run("disk", func(t *testing.T) {
		storetest.Run(t, func(t testing.TB) store.Store {
			return mustOpen(t, t.TempDir(), Options{})
		})
	})
	t.Run("sorting", func(t *testing.T) {
		storetest.Run(t, func(t testing.TB) store.Store {
			return mustOpen(t, "store", Options{FS: vfs.NewMem(), CacheBytes: 1024, sortBytes: 300,
				sortBatch: 1})
		})
	})
}

func TestModel(t *testing.T) {
	t.Parallel()
	seeds := soak.Times(3)
	if soak.Brief() {
		seeds = 1
	}
	for seed := range uint64(seeds) {
		opts := Options{FS: vfs.NewMem(), CacheBytes: 1 << 20, sortBytes: 100 << (6 * (seed % 3)),
			sortBatch: 64}
		s := storetest.Model(t, mustOpen(t, "store", opts), seed, 1500,
			func(s store.Store) store.Store { return reopen(t, s, "store", opts) })
		mustClose(t, s)
	}
}

// TestModelMeetsCrashes lets the random calls of the model meet what no answer may depend on: power
// cuts, flushes, merges, sorts, checkpoints, and sizes of everything. The calls are the same with all
// options.
func TestModelMeetsCrashes(t *testing.T) {
	t.Parallel()
	soak.Native(t)
	sets := []Options{
		{},
		{CacheBytes: 1024, sortBytes: 300, sortBatch: 1, markEvery: 1},
		{CacheBytes: 1 << 16, sortBytes: 5000, sortBatch: 64, eraseDelay: time.Millisecond},
	}
	cuts := 0
	for seed := range uint64(soak.Times(2)) {
		for n, opts := range sets {
			disk := newDisk()
			opts.FS = disk
			rng := rand.New(rand.NewPCG(seed, uint64(n)))
			s := storetest.Model(t, mustOpen(t, "store", opts), seed, 1500,
				func(s store.Store) store.Store {
					disturb(t, s.(*Store), rng)
					if rng.IntN(2) == 0 {
						return s
					}
					disk = disk.CrashClone(vfs.CrashCloneCfg{
						UnsyncedDataPercent: rng.IntN(101), RNG: rng})
					mustClose(t, s)
					opts.FS = disk
					cuts++
					return mustOpen(t, "store", opts)
				})
			mustClose(t, s)
		}
	}
	soak.Injected(t, cuts, "power cuts")
}

// disturb makes a store do one of the things that it does by itself.
func disturb(t *testing.T, s *Store, rng *rand.Rand) {
	t.Helper()
	var err error
	switch rng.IntN(4) {
	case 0:
		err = s.engine.DB.Flush()
	case 1:
		sortNow(s)
	case 2:
		err = s.engine.DB.Compact(t.Context(), []byte{0}, row.LastKey, false)
	default:
		_, err = s.Checkpoint(t.Context())
	}
	check.Must(t, err)
}
