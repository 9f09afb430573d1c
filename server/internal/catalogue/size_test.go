package catalogue

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
	"github.com/gsimc/gsimc/store/storetest"
)

// heldBytes is what the process holds after two collections, of which the second frees what pools
// and finalizers keep for one.
func heldBytes() float64 {
	var m runtime.MemStats
	for range 2 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// hostile is an item with as many names as there may be, each as long as it may be, which no other
// item has.
func hostile(i int) store.Item {
	item := store.Item{ID: strconv.Itoa(i)}
	for n := range store.MaxItemNames {
		text := strings.Repeat("n", 235) + fmt.Sprintf("%08d-%06d", i, n)
		item.Categories = append(item.Categories, text)
		item.Labels = append(item.Labels, strings.Clone(text))
	}
	return item
}

// What is counted is about what the heap grows by, of any kind of items, with a view that knows
// them or not.
func TestCountedBytesAreThoseOfTheHeap(t *testing.T) {
	for _, kind := range []struct {
		name string
		n    int
		item func(i int) store.Item
	}{
		{"hostile", 400, hostile},
		{"bare", 50_000, func(i int) store.Item { return store.Item{ID: strconv.Itoa(i)} }},
		{"titled", 50_000, func(i int) store.Item {
			return store.Item{ID: strconv.Itoa(i), Title: strings.Repeat("t", 60+i%10),
				Categories: []string{fmt.Sprint("c", i%100)}, Labels: []string{"new"}}
		}},
		{"own-names", 30_000, func(i int) store.Item {
			return store.Item{ID: strconv.Itoa(i), Labels: []string{fmt.Sprint("label-", i)}}
		}},
		{"spread", 50_000, func(i int) store.Item {
			item := store.Item{ID: strconv.Itoa(i)}
			for n := range 3 {
				item.Labels = append(item.Labels, fmt.Sprintf("%d-%05d", n, i*(7+n)%5000))
			}
			return item
		}},
		{"embedded", 20_000, func(i int) store.Item {
			return store.Item{ID: strconv.Itoa(i), Embedding: slices.Repeat([]float32{1}, 100)}
		}},
		{"numbered", 20_000, func(i int) store.Item {
			item := store.Item{ID: strconv.Itoa(i), Numbers: map[string]float64{}}
			for n := range event.MaxNumbers {
				item.Numbers[fmt.Sprint("n", n)] = float64(i)
			}
			return item
		}},
		{"numbered-apart", 20_000, func(i int) store.Item {
			return store.Item{ID: strconv.Itoa(i),
				Numbers: map[string]float64{fmt.Sprint("n", i%event.MaxNumberNames): 1}}
		}},
		{"numbered-rarely", 20_000, func(i int) store.Item {
			item := store.Item{ID: strconv.Itoa(i)}
			if i%200 == 0 {
				item.Numbers = map[string]float64{fmt.Sprint("n", i/200): 1}
			}
			return item
		}},
		{"many-names", 15_000, func(i int) store.Item {
			item := store.Item{ID: strconv.Itoa(i)}
			for n := range 100 {
				item.Labels = append(item.Labels, fmt.Sprintf("label-%03d", n))
			}
			return item
		}},
	} {
		for _, known := range []bool{false, true} {
			t.Run(fmt.Sprint(kind.name, "/known=", known), func(t *testing.T) {
				c := check.Get(Open(t.Context(), memory.New(), time.Now(), Bounds{}))(t)
				v := c.View(kind.n, func(id string) (int32, bool) {
					row, err := strconv.Atoi(id)
					return int32(row), err == nil && known
				})
				defer v.Close()
				before := heldBytes()
				for i := range kind.n {
					c.putAll([]store.Item{kind.item(i)})
				}
				held := heldBytes() - before
				ratio := float64(c.Bytes()) / held
				t.Logf("%d items: %.1f MB counted, %.1f MB held, ratio %.2f", kind.n,
					float64(c.Bytes())/1e6, held/1e6, ratio)
				if ratio < 0.7 || ratio > 1.6 {
					t.Errorf("%d bytes are counted, %.0f held", c.Bytes(), held)
				}
			})
		}
	}
}

// What is counted is what bins take, too, where most of their numbers have gone, until the bins go.
func TestCountedBytesOfBinsAfterDeletions(t *testing.T) {
	const rows = 12_000
	b := newBinned(t, rows)
	numbers := map[string]float64{}
	for n := range event.MaxNumbers {
		numbers[fmt.Sprint("n", n)] = float64(n)
	}
	var ids []string
	for i := range rows {
		ids = append(ids, strconv.Itoa(i))
		b.putAll([]store.Item{{ID: ids[i], Numbers: numbers}})
	}
	check.Same(t, len(numbers), len(b.view.bins), "columns with bins")
	b.dropAll(ids[:rows*7/10])
	check.Same(t, len(numbers), len(b.view.bins), "columns with bins after deletions")
	numbersHeld := func() float64 { return float64(8 * chunkSlots * b.items.chunks) }
	counted := float64(b.Bytes()-b.items.bytes) - numbersHeld()
	before := heldBytes() - numbersHeld()
	b.dropAll(ids[:rows*9/10])
	check.Same(t, 0, len(b.view.bins), "columns with bins after more deletions")
	if held := before - heldBytes() + numbersHeld(); counted < .95*held || counted > 1.3*held {
		t.Errorf("%.0f bytes of bins are counted, %.0f held", counted, held)
	}
	check.Same(t, b.items.bytes+b.items.columnsBytes(), b.Bytes(), "bytes without bins")
}

// The growth that is reckoned before a write is that which it brings, and nothing is left at the
// end.
func TestGrowthIsReckonedBefore(t *testing.T) {
	rng := rand.New(rand.NewPCG(44, 2))
	c, _ := open(t, memory.New(), time.Unix(0, 0), Bounds{})
	for step := range 300 {
		var items []store.Item
		for id := range rng.Perm(30)[:1+rng.IntN(10)] {
			item := storetest.RandomItem(rng)
			item.ID = strconv.Itoa(id)
			items = append(items, item)
		}
		want := c.items.bytes + c.items.growth(items)
		columns, growth := c.items.columnsAfter(items)
		most := c.items.columnsBytes() + growth
		must(t, put(t, c, items...))
		if got := c.items.bytes; got != want {
			t.Fatalf("step %d: %d bytes, reckoned %d", step, got, want)
		}
		if got := c.items.columnsBytes(); got > most || len(c.items.columns) != columns {
			t.Fatalf("step %d: %d columns of %d bytes, reckoned %d of at most %d", step,
				len(c.items.columns), got, columns, most)
		}
		check.Get(c.Delete(t.Context(), []string{items[0].ID}))(t)
	}
	for id := range 30 {
		check.Get(c.Delete(t.Context(), []string{strconv.Itoa(id)}))(t)
	}
	check.Same(t, int64(0), c.Bytes(), "bytes without an item")
}

// Beyond the largest size a batch is refused as a whole, before anything is stored; what makes the
// catalogue smaller passes, even where it is too large.
func TestSizeIsBounded(t *testing.T) {
	st := memory.New()
	c, _ := open(t, st, time.Unix(0, 0), Bounds{Bytes: 1 << 20})
	stored := 0
	for refused := false; !refused && stored < 50; stored++ {
		err := put(t, c, hostile(stored), store.Item{ID: fmt.Sprint("with-", stored)})
		large, ok := errors.AsType[*LargeError](err)
		if refused = ok; !ok {
			must(t, err)
			continue
		}
		if large.Limit != 1<<20 || large.Bytes != c.Bytes() || large.Bytes+large.Growth <= 1<<20 {
			t.Errorf("refused with %+v at %d bytes", large, c.Bytes())
		}
		if _, found, err := st.Item(t.Context(), fmt.Sprint("with-", stored)); found || err != nil {
			t.Errorf("a part of a refused batch is stored: %t, %v", found, err)
		}
	}
	if held := c.Bytes(); held > 1<<20 || held < 1<<19 || stored < 5 || stored == 50 {
		t.Errorf("%d batches and %d bytes before the refusal", stored, held)
	}
	other, _ := open(t, st, time.Unix(0, 0), Bounds{Bytes: 1 << 10})
	check.Same(t, c.Size(), other.Size(), "items that an opening takes")
	check.Same(t, c.Bytes(), other.Bytes(), "bytes that an opening takes")
	check.Pass(t, put(t, other, store.Item{ID: "0", Categories: hostile(0).Categories}),
		"an item that has fewer names is refused")
	if err := put(t, other, hostile(0)); err == nil {
		t.Error("a catalogue that is too large grows")
	}
	check.Same(t, 1, check.Get(other.Delete(t.Context(), []string{"1"}))(t), "deleted")
	// Items that another server has written are taken also if they exceed the bound.
	must(t, put(t, c, store.Item{ID: "of another server", Labels: []string{"l"}}))
	must(t, other.Refresh(t.Context()))
	must(t, c.Refresh(t.Context()))
	check.Same(t, c.Size(), other.Size(), "items taken")
	check.Same(t, c.Bytes(), other.Bytes(), "bytes taken")
}
