package valkey_test

import (
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/enginetest"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/storetest"
	"github.com/gsimc/gsimc/store/valkey"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

// options are those of a new store in the cluster that the tests share: three primaries, each with
// a replica.
func options(tb testing.TB) valkey.Options {
	tb.Helper()
	c := enginetest.SharedRedis(tb, 3, 1)
	return valkey.Options{Addrs: c.Addrs(), Namespace: enginetest.Namespace()}
}

// open opens a store, which the caller closes.
func open(tb testing.TB, o valkey.Options) *valkey.Store {
	tb.Helper()
	return check.Get(valkey.Open(tb.Context(), o))(tb)
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t testing.TB) store.Store { return open(t, options(t)) },
		storetest.PerUser, storetest.Parallel)
}

func TestModel(t *testing.T) {
	soak.Native(t)
	for seed := range uint64(soak.Times(3)) {
		o := options(t)
		reopen := func(s store.Store) store.Store {
			check.Pass(t, s.Close(), "Close")
			return open(t, o)
		}
		s := storetest.Model(t, open(t, o), seed, 1000, reopen)
		check.Pass(t, s.Close(), "Close")
	}
}
