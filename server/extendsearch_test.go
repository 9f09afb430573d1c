package server

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// While the store is searched, which takes long here, the new items that were there before the
// reload are there again, and the search does not outlive the next reload.
func TestExtensionDoesNotWaitForSearch(t *testing.T) {
	st := &hookedStore{Store: memory.New()}
	var searches atomic.Int32
	st.EachFunc = func(ctx context.Context, fn func(string, store.Version) error) error {
		if searches.Add(1) == 1 {
			return st.Store.Each(ctx, 0, 1, fn)
		}
		for {
			if err := fn("u0", store.Version{Revision: 1, Mark: 1}); err != nil {
				return err
			}
		}
	}
	var seed atomic.Uint64
	ts := start(t,
		setup{store: st, config: extending,
			open: func() (*model.Model, error) { return newModel(t, seed.Add(1)), nil }})
	ts.showNovelty(t, 3)
	ts.awaitExtension(t, knows(novelty))
	for round := range 2 {
		old := ts.ModelVersion()
		must(t, ts.Reload(ctx(t)))
		ts.awaitExtension(t,
			func(m *model.Model) bool { return m.Base().Version() != old && knows(novelty)(m) })
		eventually(t, "the store is searched after the reload",
			func() bool { return searches.Load() >= int32(2+round) })
	}
}
