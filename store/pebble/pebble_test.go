package pebble

import (
	"context"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/internal/soak"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/storetest"
)

// mustOpen opens a store and fails the test if it cannot.
func mustOpen(t testing.TB, dir string, opts Options) *Store {
	t.Helper()
	s, err := openSoon(dir, opts)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return s
}

// openSoon opens a store that does not wait long for a failed engine.
func openSoon(dir string, opts Options) (*Store, error) {
	opts.closePatience = 100 * time.Millisecond
	return Open(context.Background(), dir, opts)
}

func mustClose(t testing.TB, s store.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
}

func TestConformance(t *testing.T) {
	t.Run("disk", func(t *testing.T) {
		storetest.Run(t, func(t testing.TB) store.Store {
			return mustOpen(t, t.TempDir(),
				Options{})
		})
	})
	t.Run("memory", func(t *testing.T) {
		storetest.Run(t, func(t testing.TB) store.Store {
			return mustOpen(t, "store",
				Options{FS: vfs.NewMem()})
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
	for seed := range uint64(soak.Times(3)) {
		opts := Options{FS: vfs.NewMem(), CacheBytes: 1 << 20, sortBytes: 100 << (6 * (seed % 3)),
			sortBatch: 64}
		s := storetest.Model(t, mustOpen(t, "store", opts), seed, 1500,
			func(s store.Store) store.Store {
				mustClose(t, s)
				return mustOpen(t, "store", opts)
			})
		mustClose(t, s)
	}
}
