package catalogue

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// BenchmarkSelect evaluates filters of 1, 10 and 100 of 10,000 categories over a million items,
// each of which has three.
func BenchmarkSelect(b *testing.B) {
	const n, categories = 1_000_000, 10_000
	st, items := memory.New(), make([]store.Item, n)
	for i := range items {
		names := []string{strconv.Itoa(i % categories), strconv.Itoa(i * 7 % categories),
			strconv.Itoa(i * 31 % (categories / 100))}
		slices.Sort(names)
		items[i] = store.Item{ID: strconv.Itoa(i), Categories: slices.Compact(names)}
	}
	if err := st.PutItems(context.Background(), items); err != nil {
		b.Fatal(err)
	}
	c, err := Open(context.Background(), st, time.Now())
	if err != nil {
		b.Fatal(err)
	}
	v := c.View(n, func(id string) (int32, bool) {
		i, err := strconv.Atoi(id)
		return int32(i), err == nil
	})
	defer v.Close()
	for _, terms := range []int{0, 1, 10, 100} {
		f := Filter{}
		for t := range terms {
			f.AnyCategories = append(f.AnyCategories, strconv.Itoa(t*97%categories))
		}
		b.Run(fmt.Sprintf("categories=%d", terms), func(b *testing.B) {
			var s Selection
			for b.Loop() {
				v.Select(&s, &f, time.Now(), false)
			}
		})
	}
}
