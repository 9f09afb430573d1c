package postgres_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/enginetest"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/postgres"
	"github.com/gsimc/gsimc/store/storetest"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

// open returns a store without anything in it, of the strict profile.
func open(t testing.TB) store.Store {
	t.Helper()
	return openAt(t, emptyURL(t))
}

// emptied are schemas of tests that have ended, with nothing in them: to make one takes longer than
// most tests.
var emptied struct {
	mu   sync.Mutex
	urls []string
}

// emptyURL returns the address of a store without anything in it.
func emptyURL(t testing.TB) string {
	t.Helper()
	emptied.mu.Lock()
	defer emptied.mu.Unlock()
	url := ""
	if n := len(emptied.urls); n > 0 {
		url, emptied.urls = emptied.urls[n-1], emptied.urls[:n-1]
	} else {
		url = newURL(t)
	}
	t.Cleanup(func() {
		_, schema, _ := strings.Cut(url, "&schema=")
		var all []string
		for _, table := range []string{"head", "event", "item", "lease", "note"} {
			all = append(all, "DELETE FROM "+schema+"."+table)
		}
		if enginetest.SharedPostgres(t, true).Primary.SQL(all...) == nil {
			emptied.mu.Lock()
			defer emptied.mu.Unlock()
			emptied.urls = append(emptied.urls, url)
		}
	})
	return url
}

// newURL returns the address of a store that is not there yet. It wants few connections, each of
// which takes a while to open.
func newURL(t testing.TB) string {
	t.Helper()
	return enginetest.SharedPostgres(t, true).URL("postgres") + "&pool_max_conns=4&schema=" +
		enginetest.Namespace()
}

func openAt(t testing.TB, url string) *postgres.Store {
	t.Helper()
	return check.Get(postgres.Open(context.Background(), url))(t)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, open, storetest.Parallel)
}

func TestModel(t *testing.T) {
	t.Parallel()
	soak.Native(t)
	steps, seeds := 200, 1
	if soak.Long() {
		steps, seeds = 1000, 20
	}
	for seed := range uint64(seeds) {
		url := newURL(t)
		s := storetest.Model(t, openAt(t, url), seed, steps, func(s store.Store) store.Store {
			check.Must(t, s.Close())
			return openAt(t, url)
		})
		check.Pass(t, s.Close(), "Close")
	}
}

// An erasure that comes while the events of its user are rewritten erases what that leaves.
func TestErasureWaitsForRewrite(t *testing.T) {
	t.Parallel()
	url := emptyURL(t)
	s := openAt(t, url)
	defer closeAll(t, s)
	ctx := t.Context()
	for _, id := range []string{"first", "second"} {
		check.Get(s.Append(ctx, one(id)))(t)
	}
	_, schema, _ := strings.Cut(url, "&schema=")
	watcher := check.Get(enginetest.SharedPostgres(t, true).Primary.Connect(ctx, "postgres"))(t)
	defer watcher.Close(ctx)
	erased := make(chan uint64, 1)
	_, err := s.Rewrite(ctx, []string{"u"}, func(h [][]store.Event) [][]store.Event {
		go func() {
			n, err := s.Erase(ctx, "u")
			check.Pass(t, err, "Erase")
			erased <- n
		}()
		for waits := false; !waits && ctx.Err() == nil; {
			if err := watcher.QueryRow(ctx, "SELECT count(*) > 0 FROM pg_stat_activity WHERE "+
				"wait_event_type = 'Lock' AND query LIKE $1", "%"+schema+".erase(%").
				Scan(&waits); err != nil {
				t.Error(err)
				break
			}
		}
		return [][]store.Event{h[0][1:]}
	})
	check.Must(t, err)
	check.Same(t, uint64(1), <-erased, "events that were erased")
	wantRevision(t, s, "after the erasure", 0)
}
