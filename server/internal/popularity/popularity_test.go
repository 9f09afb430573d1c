package popularity

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/server/internal/servertest"
	"github.com/gsimc/gsimc/server/internal/state"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// Counts are those of the definition, in whichever order the events come.
func TestModelCounts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	for range 20 {
		st, halfLife := memory.New(), time.Duration(1+rng.IntN(100))*time.Hour
		weights := event.Weights{"view": 0.25, "dislike": -1, "none": 0}
		var newest time.Time
		var all []store.Event
		for n := range 200 {
			e := store.Event{ID: fmt.Sprint(n), Item: servertest.Item(rng.IntN(9)), Value: 1,
				Type: []string{"like", "view", "dislike", "none"}[rng.IntN(4)],
				Time: servertest.Now.Add(-time.Duration(rng.IntN(300)) * time.Hour)}
			check.Get(st.Append(t.Context(), []store.Record{
				{User: fmt.Sprint("u", rng.IntN(20)), Event: e}}))(t)
			if weights.Of(e.Type, 1) > 0 {
				all = append(all, e)
				if e.Time.After(newest) {
					newest = e.Time
				}
			}
		}
		want, total := map[string]float64{}, 0.0
		for _, e := range all {
			w := weights.OfType(e.Type) * math.Pow(2, -newest.Sub(e.Time).Hours()/halfLife.Hours())
			want[e.Item] += w
			total += w
		}
		m := check.Get(New(Deps{Store: st, Updater: state.NewUpdater(weights),
			HalfLife: halfLife}).Model(t.Context()))(t)
		check.Same(t, len(want), m.NumItems(), "items")
		for item, w := range want {
			i, known := m.ItemIndex(item)
			got := float64(m.Degree(i)) / float64(m.NumTrainUsers())
			if !known || math.Abs(got-w/total) > 1e-4 {
				t.Errorf("half-life %v: %s has the share %v, want %v", halfLife, item, got, w/total)
			}
		}
		if !slices.IsSortedFunc(m.Popular(), func(a, b int32) int {
			return int(m.Degree(b) - m.Degree(a))
		}) {
			t.Error("the items are not in the order of their counts")
		}
	}
}

// Counts of events that are far apart do not leave the range of their numbers, and events whose
// times rise cost no more than others: the reference, which takes a look at all counts, stays.
func TestCountsOfRisingTimes(t *testing.T) {
	for _, apart := range []time.Duration{time.Millisecond, time.Hour} {
		const n = 4000
		k := counts{halfLife: 30 * time.Minute, most: mostItems, of: map[string]*count{}}
		for i := range n {
			k.add(&store.Event{Item: fmt.Sprint("i", i%(n/2)),
				Time: servertest.Now.Add(time.Duration(i) * apart)}, 1)
		}
		check.Same(t, apart == time.Millisecond, k.reference.Equal(servertest.Now),
			"%v apart: the reference stays", apart)
		m := check.Get(k.model())(t)
		newest, _ := m.ItemIndex(fmt.Sprint("i", n/2-1))
		before, _ := m.ItemIndex(fmt.Sprint("i", n/2-2))
		want := math.Exp2(-apart.Hours() * 2)
		got := float64(m.Degree(before)) / float64(m.Degree(newest))
		if math.Abs(got-want) > 1e-4 {
			t.Errorf("%v apart: the last item but one has %v of the last, want %v", apart, got,
				want)
		}
	}
}

// Events of years ago have an order, though one of today leaves nothing of their weights.
func TestOldCountsHaveAnOrder(t *testing.T) {
	k := counts{halfLife: 168 * time.Hour, most: mostItems, of: map[string]*count{}}
	old := servertest.Now.AddDate(-25, 0, 0)
	for i, item := range []string{"a", "b", "b", "b", "c", "c"} {
		k.add(&store.Event{Item: item, Time: old.Add(time.Duration(i) * time.Minute)}, 1)
	}
	k.add(&store.Event{Item: "z", Time: servertest.Now}, 1)
	m := check.Get(k.model())(t)
	var order []string
	for _, i := range m.Popular() {
		order = append(order, m.ItemID(i))
	}
	check.Same(t, []string{"z", "b", "c", "a"}, order, "by popularity")
}

// Of items that have faded, those with the most events have a place in a model.
func TestOldItemsAreBounded(t *testing.T) {
	k := counts{halfLife: time.Hour, most: 2, of: map[string]*count{}}
	add := func(item string, ago time.Duration) {
		k.add(&store.Event{Item: item, Time: servertest.Now.Add(-ago)}, 1)
	}
	add("a", 900*time.Hour)
	for range 3 {
		add("b", 910*time.Hour)
	}
	add("z", 0)
	m := check.Get(k.model())(t)
	check.MustSame(t, 2, m.NumItems(), "items")
	check.Same(t, []string{"b", "z"}, []string{m.ItemID(0), m.ItemID(1)}, "items by id")
}

// However many items events name, a model has the largest of them.
func TestItemsAreBounded(t *testing.T) {
	k := counts{halfLife: time.Hour, most: 3, of: map[string]*count{}}
	for i := range 1000 {
		for _, item := range []string{"a", "b", "c", fmt.Sprint("rare", i)} {
			k.add(&store.Event{Item: item, Time: servertest.Now}, 1)
		}
		if len(k.of) > 6 {
			t.Fatalf("%d items are counted, want at most 6", len(k.of))
		}
	}
	m := check.Get(k.model())(t)
	check.MustSame(t, 3, m.NumItems(), "items")
	for _, item := range []string{"a", "b", "c"} {
		if i, known := m.ItemIndex(item); !known || m.Degree(i) != 1000*unit+1000 {
			t.Errorf("%s has the count %d, want %d", item, m.Degree(i), 1000*unit+1000)
		}
	}
}
