package evaluate

import (
	"maps"
	"runtime"
	"slices"

	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/trend"
)

// Trending is the method [Dynamics] with the trends of items, of package trend, added to its
// scores. It is part of [ByTime] alone: only there items have a present.
const Trending = "dynamics-trend"

// Names of the constants that trends choose, in Result.Chosen.
const (
	ChosenHalfLife = "half_life" // in events
	ChosenGain     = "gain"
	ChosenPower    = "power"
)

// stream are the events that a server sees until a target: those of all users.
type stream struct {
	events *dataset.Interactions
	place  []int32 // of the items of events among those of a partition; −1 for none
}

// log returns the events on items that have a place, divided into spans.
func (s *stream) log(spec trend.Spec) *trend.Log {
	l := trend.NewLog(s.events.Time, s.events.Item)
	l.Keep(s.place)
	return l.Divide(spec)
}

// scoreTarget scores all items for the user of the u-th history before its target.
func scoreTarget(scores []float32, q *model.Query, m *model.Model, h *dataset.Histories, u int) {
	history := train.History(h, u)
	LearnedDynamics().queryTo(q, m, history[:len(history)-1])
	m.ScoresTo(scores, q)
}

func timeOfTarget(h *dataset.Histories, u int) int64 {
	times := h.Times(u)
	return times[len(times)-1]
}

// runTrending ranks all targets by m and trends, with the constants that a training chooses.
func (x *ByTime) runTrending(m *model.Model, spec trend.Spec) Result {
	r := newResult(Trending, x.rankTrending(m, spec))
	r.Chosen = map[string]float64{ChosenHalfLife: spec.HalfLife, ChosenGain: spec.Gain,
		ChosenPower: spec.Power}
	return r
}

// rankTrending ranks the targets, the cold ones last. A cold target is ranked by what is popular.
func (x *ByTime) rankTrending(m *model.Model, spec trend.Spec) []int32 {
	warm, shares := &x.Final.Test, m.Degrees()
	ranks := make([]int32, warm.Len()+len(x.targets.cold))
	groups, log := x.byLastSpan(spec), x.final.log(spec)
	chunks := chunksOf(slices.Sorted(maps.Keys(groups)), len(shares))
	parallel.TasksWith(len(chunks), func() func(c int) {
		g, scores, q := make([]float32, len(shares)), make([]float32, len(shares)), m.NewQuery()
		return func(c int) {
			for at, rates := range log.RatesAfter(chunks[c], len(shares)) {
				rates.TrendsTo(g, shares)
				s := &trend.Snapshot{G: g}
				s.SetBy(&spec)
				rising := m.WithTrends(s)
				for _, u := range groups[chunks[c][at]] {
					if u >= warm.Len() {
						cold := x.targets.cold[u-warm.Len()]
						ranks[u] = rank(rates.Popular(shares), cold, warm.Hidden)
						continue
					}
					scoreTarget(scores, q, rising, warm, u)
					ranks[u] = rankLast(scores, warm, u)
				}
			}
		}
	})
	return ranks
}

// chunksOf divides spans into those whose rates are asked for together: at least four for each
// processor, as the targets are scored chunk by chunk too.
func chunksOf(spans []int64, items int) [][]int64 {
	most := max(1, len(spans)/(4*runtime.GOMAXPROCS(0)))
	return slices.Collect(slices.Chunk(spans, min(most, trend.Together(items))))
}

// byLastSpan groups the targets, the cold ones last, by the spans before those of their times.
func (x *ByTime) byLastSpan(spec trend.Spec) map[int64][]int {
	groups := map[int64][]int{}
	add := func(target int, time int64) {
		span := spec.SpanOf(time) - 1
		groups[span] = append(groups[span], target)
	}
	warm := &x.Final.Test
	for u := range warm.Len() {
		add(u, timeOfTarget(warm, u))
	}
	for at, time := range x.targets.coldTimes {
		add(warm.Len()+at, time)
	}
	return groups
}
