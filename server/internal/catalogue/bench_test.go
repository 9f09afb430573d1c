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
	must(b, st.PutItems(context.Background(), items))
	c, err := Open(context.Background(), st, time.Now(), Bounds{})
	must(b, err)
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

// BenchmarkLargeCatalogue reports what a million items with titles and with three of a hundred
// thousand categories take: to be read at a start, in memory and in one view, and to be searched
// for a word that no title has; and how long the largest filters take that a request can ask for,
// with ten named ones, and one of ten thousand names, which is refused.
func BenchmarkLargeCatalogue(b *testing.B) {
	const n, categories = 1_000_000, 100_000
	st, items := memory.New(), make([]store.Item, n)
	for i := range items {
		names := []string{fmt.Sprint("category ", i%categories),
			fmt.Sprint("category ", i*7%categories), fmt.Sprint("category ", i*31%categories)}
		slices.Sort(names)
		items[i] = store.Item{ID: strconv.Itoa(i), Categories: slices.Compact(names),
			Title: fmt.Sprintf("The title of an item, number %d", i)}
	}
	must(b, st.PutItems(b.Context(), items))
	clear(items)
	before, begun := heldBytes(), time.Now()
	c, err := Open(b.Context(), st, begun, Bounds{})
	must(b, err)
	opened := time.Now()
	v := c.View(n, func(id string) (int32, bool) {
		i, err := strconv.Atoi(id)
		return int32(i), err == nil
	})
	defer v.Close()
	viewed := time.Now()
	b.Run("start", func(b *testing.B) {
		for b.Loop() {
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(opened.Sub(begun).Seconds(), "s-open")
		b.ReportMetric(viewed.Sub(opened).Seconds(), "s-view")
		b.ReportMetric((heldBytes()-before)/n, "B-held/item")
		b.ReportMetric(float64(c.Bytes())/n, "B-counted/item")
	})
	b.Run("search", func(b *testing.B) {
		for b.Loop() {
			if ids, err := c.FindTitles(b.Context(), "nowhere", 20, nil); err != nil || ids != nil {
				b.Fatal(ids, err)
			}
		}
	})
	named := func(from, n int) (names []string) {
		for i := range n {
			names = append(names, fmt.Sprint("category ", (from+i)*13%categories))
		}
		return names
	}
	largest := &Filter{AnyCategories: named(0, 100), NoCategories: named(100, 100)}
	for i := range 10 {
		largest.And = append(largest.And, &Filter{AnyCategories: named(0, 100),
			NoCategories: named(200+100*i, 100)})
	}
	for _, way := range []struct {
		name   string
		filter *Filter
	}{
		{"any=100", &Filter{AnyCategories: named(0, 100)}},
		{"any=100,no=100,named=10", largest},
		{"no=10000", &Filter{NoCategories: named(0, 10_000)}},
	} {
		b.Run(way.name, func(b *testing.B) {
			var s Selection
			for b.Loop() {
				v.Select(&s, way.filter, time.Now(), false)
			}
		})
	}
}

// BenchmarkGrowthWait reports the longest evaluation of a filter, waiting included, while a
// catalogue grows to three million items.
func BenchmarkGrowthWait(b *testing.B) {
	const n, batch = 3_000_000, 1000
	c, err := Open(b.Context(), memory.New(), time.Now(), Bounds{})
	must(b, err)
	v := c.View(1, func(string) (int32, bool) { return 0, false })
	defer v.Close()
	done, longest := make(chan struct{}), make(chan time.Duration)
	go func() {
		var s Selection
		f, most := &Filter{AnyCategories: []string{"a"}}, time.Duration(0)
		for {
			select {
			case <-done:
				longest <- most
				return
			default:
			}
			begun := time.Now()
			v.Select(&s, f, begun, false)
			most = max(most, time.Since(begun))
			time.Sleep(50 * time.Microsecond)
		}
	}()
	for b.Loop() {
		for first := c.Size(); first < n; first += batch {
			items := make([]store.Item, batch)
			for i := range items {
				items[i].ID = fmt.Sprintf("item-%08d", first+i)
			}
			c.putAll(items)
		}
	}
	close(done)
	b.ReportMetric(float64((<-longest).Microseconds())/1e3, "ms-longest")
}

// BenchmarkUpsertWait reports how long the evaluation of a filter takes, waiting included, while
// batches of 1,000 items with 200 names each are written over others.
func BenchmarkUpsertWait(b *testing.B) {
	const n = 10_000
	c, err := Open(b.Context(), memory.New(), time.Now(), Bounds{})
	must(b, err)
	v := c.View(n, func(id string) (int32, bool) {
		i, err := strconv.Atoi(id)
		return int32(i), err == nil
	})
	defer v.Close()
	write := func(batch int) {
		change := Change{Whole: true, Apply: func(at int, item *store.Item) error {
			item.Categories, item.Labels = nil, nil
			for name := range 100 {
				text := fmt.Sprintf("%04d", (batch*31+at*7+name*97)%5000)
				item.Categories = append(item.Categories, text)
				item.Labels = append(item.Labels, text)
			}
			slices.Sort(item.Categories)
			slices.Sort(item.Labels)
			item.Categories = slices.Compact(item.Categories)
			item.Labels = slices.Compact(item.Labels)
			return nil
		}}
		for i := range 1000 {
			change.IDs = append(change.IDs, strconv.Itoa((batch*1000+i)%n))
		}
		if _, err := c.Upsert(b.Context(), change); err != nil {
			b.Fatal(err)
		}
	}
	for batch := range n / 1000 {
		write(batch)
	}
	done, all := make(chan struct{}), make(chan []time.Duration)
	go func() {
		var s Selection
		f, took := &Filter{AnyCategories: []string{"0001"}}, []time.Duration(nil)
		for {
			select {
			case <-done:
				all <- took
				return
			default:
			}
			begun := time.Now()
			v.Select(&s, f, begun, false)
			took = append(took, time.Since(begun))
			time.Sleep(50 * time.Microsecond)
		}
	}()
	batch := 0
	for b.Loop() {
		write(batch)
		batch++
	}
	close(done)
	took := <-all
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs-median")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "µs-p99")
	b.ReportMetric(float64(took[len(took)*999/1000].Microseconds()), "µs-p999")
}
