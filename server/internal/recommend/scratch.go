package recommend

import (
	"sync"

	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/internal/wire"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/arms"
	"github.com/gsimc/gsimc/server/internal/catalogue"
	"github.com/gsimc/gsimc/server/internal/passes"
	"github.com/gsimc/gsimc/server/internal/state"
)

// scratch is the working memory of one Recommend, reused between calls. A call overwrites the
// contents that the last one left, except skip, which is empty between calls.
type scratch struct {
	call     *passes.Call // with the query, the filters and the result
	query    *model.Query
	variance []float32    // k, of the query, if the model knows it
	draw     *model.Query // a random query; made when it is needed
	skip     *ranking.Set // n: items that must not be returned
	skipped  []int32      // the members of skip, some of them several times
	allowed  []int32      // the items of an allow list, some of them several times
	kinds    []state.Kind // of the seen policy
	hashes   []uint16     // of a recommendation id
	before   int          // items on the pages before
	pins     []pin        // to be shown, by rising positions
	named    []*catalogue.Filter
	list     wire.List

	arm       *arms.Member
	pool      *sync.Pool      // that it goes back to
	items     *catalogue.View // which items may be shown, in the rows of the model
	selection catalogue.Selection
}

// takeScratch returns memory of the size that m needs, for one request that holds m. It goes back
// by giveScratch, but not after a panic.
func (s *Service) takeScratch(m arms.Lease) *scratch {
	pool := &s.scratches[m.Arm.Index]
	sc, _ := pool.Get().(*scratch)
	if sc == nil || len(sc.query.Spectrum) != m.Rank() || sc.skip.Cap() != m.NumItems() {
		sc = &scratch{
			call: passes.NewCall(), query: m.NewQuery(),
			variance: make([]float32, m.Rank()), skip: ranking.NewSet(m.NumItems()),
		}
	}
	sc.items, sc.arm, sc.pool = m.Items, m.Arm, pool
	return sc
}

// giveScratch returns the memory to the pool. It drops the references that would keep the request,
// its context or a model alive.
func giveScratch(sc *scratch) {
	sc.unmark()
	sc.items, sc.before, sc.pins = nil, 0, sc.pins[:0]
	clear(sc.named)
	sc.named = sc.named[:0]
	sc.call.Reset()
	sc.list.Reset()
	sc.pool.Put(sc)
}

// mark adds the items of skipped to skip, and unmark removes them: the cost grows with the skipped
// items, not with the catalogue.
func (sc *scratch) mark() {
	for _, i := range sc.skipped {
		sc.skip.Add(i)
	}
}

func (sc *scratch) unmark() {
	for _, i := range sc.skipped {
		sc.skip.Remove(i)
	}
	sc.skipped = sc.skipped[:0]
}

// drawn returns the room for a random query.
func (sc *scratch) drawn(m *model.Model) *model.Query {
	if sc.draw == nil {
		sc.draw = m.NewQuery()
	}
	return sc.draw
}
