package loadtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// A filter lets about the part of the items pass that its name says, all of its categories
// together being needed for that.
func TestFiltersPassTheirParts(t *testing.T) {
	const items = 50_000
	has := map[string][]int{}
	for i := range items {
		for _, category := range catalogued(i, "x").GetCategories() {
			has[category] = append(has[category], i)
		}
	}
	passing := func(names []string) int {
		var all []int
		for _, name := range names {
			all = append(all, has[name]...)
		}
		slices.Sort(all)
		return len(slices.Compact(all))
	}
	for _, s := range filterShares {
		want, deviation := items/float64(s.every), math.Sqrt(items/float64(s.every))
		for _, count := range filterCounts {
			names := categoriesOf(s, count)
			if got := float64(passing(names)); math.Abs(got-want) > 5*deviation {
				t.Errorf("%s by %d categories: %v items, want about %v", s.name, count, got, want)
			}
			if count > 1 && want > 100 && passing(names[1:]) == passing(names) {
				t.Errorf("%s by %d categories: the first has no items", s.name, count)
			}
		}
	}
}

// Drawn filters differ, and the others do not.
func TestFilterWays(t *testing.T) {
	same, ways := 0, filterWays(rand.New(rand.NewPCG(1, 1)))
	for _, way := range ways {
		if first := fmt.Sprint(way.filter()); first == fmt.Sprint(way.filter()) {
			same++
		}
	}
	if want := len(filterShares)*len(filterCounts) + 1; same != want || len(ways) != want+1 {
		t.Errorf("%d of %d filters are the same when asked for again, want %d", same, len(ways), want)
	}
}
