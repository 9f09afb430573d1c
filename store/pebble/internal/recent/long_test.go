package recent

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store"
)

// TestTablesKeepToTheLimit writes to long histories, all of which have events in the journal and so
// stay in memory: their tables of ids keep to half of the limit, and each id is found again.
func TestTablesKeepToTheLimit(t *testing.T) {
	const limit, users = 1 << 20, 12
	hs := New(limit)
	e := check.Get(hs.Replay(0).End(0, nil, nil))(t)
	rng := rand.New(rand.NewPCG(1, 1))
	var lengths [users]int
	reloads := 0
	for range 1500 {
		u := rng.IntN(users)
		h := e.Put(NewHistory(fmt.Sprint("user ", u), store.Version{}))
		if !e.Complete(h) {
			reloads++
			check.Must(t, e.LoadIDs(h, nil))
		}
		if n := lengths[u]; n > 0 {
			want := uint64(1 + rng.IntN(n))
			var found []uint64
			e.Candidates(h, hs.IDHash(fmt.Sprint(want)), func(revision uint64) bool {
				found = append(found, revision)
				return true
			})
			if !slices.Contains(found, want) {
				t.Fatalf("user %d: revision %d of %d is not found", u, want, n)
			}
		}
		e.Begin()
		for range 50 {
			lengths[u]++
			id := fmt.Sprint(lengths[u])
			e.Add(h, &store.Event{ID: id, Item: "i"}, hs.IDHash(id))
			if !e.Complete(h) { // it has outgrown the list
				check.Must(t, e.LoadIDs(h, nil))
			}
		}
		e.Keep()
		hs.Show(e.TakeGroup())
		tables := 0
		for i := range hs.shards {
			for _, h := range hs.shards[i].byUser {
				tables += h.ids.tableBytes()
			}
		}
		if tables > limit/2 || int64(tables) != hs.tables.Load() {
			t.Fatalf("tables have %d bytes, %d are counted, the limit is %d", tables,
				hs.tables.Load(), limit/2)
		}
	}
	if reloads < 2*users {
		t.Errorf("%d times the ids were read back, want more", reloads)
	}
	for range users { // one history alone may be too long
		hs.limit = 2
		hs.trimTables()
	}
	check.Same(t, 1, len(hs.long.list), "tables left")
}
