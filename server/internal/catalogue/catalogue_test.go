package catalogue

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
	"github.com/gsimc/gsimc/store/storetest"
)

var must = check.Must

// rows is the number of rows of the models of these tests; item i is row i.
const rows = 200

func rowOf(id string) (int32, bool) {
	row, err := strconv.Atoi(id)
	return int32(row), err == nil && row < rows
}

func open(t *testing.T, st store.Store, now time.Time, most Bounds) (*Catalogue, *View) {
	t.Helper()
	c := check.Get(Open(t.Context(), st, now, most))(t)
	v := c.View(rows, rowOf)
	t.Cleanup(v.Close)
	return c, v
}

// put writes an item as a whole.
func put(t *testing.T, c *Catalogue, items ...store.Item) error {
	t.Helper()
	change := Change{Whole: true, Apply: func(at int, item *store.Item) error {
		*item = items[at]
		return nil
	}}
	for _, i := range items {
		change.IDs = append(change.IDs, i.ID)
	}
	_, err := c.Upsert(t.Context(), change)
	return err
}

// passing are the rows that a view lets pass.
func passing(v *View, f *Filter, now time.Time, listed bool) (got []int32) {
	var s Selection
	v.Select(&s, f, now, listed)
	if s.Among != nil {
		return append(got, s.Among...)
	}
	for row := range int32(v.barred.Cap()) {
		if s.Skip == nil || !s.Skip.Has(row) {
			got = append(got, row)
		}
	}
	return got
}

// expected are the rows that pass by what the store has.
func expected(t *testing.T, st store.Items, f *Filter, now time.Time) (want []int32) {
	t.Helper()
	items := map[string]store.Item{}
	must(t, st.EachItem(t.Context(), "", func(i store.Item) error { items[i.ID] = i; return nil }))
	lets := func(has, every, some, none []string) bool {
		in := func(name string) bool { return slices.Contains(has, name) }
		for _, name := range every {
			if !in(name) {
				return false
			}
		}
		return (len(some) == 0 || slices.ContainsFunc(some, in)) && !slices.ContainsFunc(none, in)
	}
	for row := range rows {
		i := items[strconv.Itoa(row)]
		if !i.Hidden && !now.Before(i.From) && (i.Until.IsZero() || now.Before(i.Until)) &&
			!slices.ContainsFunc(append(f.And, f), func(f *Filter) bool {
				return !lets(i.Categories, f.AllCategories, f.AnyCategories, f.NoCategories) ||
					!lets(i.Labels, f.AllLabels, f.AnyLabels, f.NoLabels) ||
					slices.ContainsFunc(f.Ranges, func(r Range) bool {
						x, there := i.Numbers[r.Name]
						return !there || x < r.Least || x > r.Most ||
							len(r.AnyOf) > 0 && !slices.Contains(r.AnyOf, x)
					})
			}) {
			want = append(want, int32(row))
		}
	}
	return want
}

func randomFilter(rng *rand.Rand) *Filter {
	f := &Filter{}
	for _, names := range []*[]string{&f.AnyCategories, &f.AllCategories, &f.NoCategories,
		&f.AnyLabels, &f.AllLabels, &f.NoLabels} {
		for range max(rng.IntN(6)-3, 0) {
			*names = append(*names, fmt.Sprint("name-", rng.IntN(10)))
		}
	}
	for range max(rng.IntN(5)-3, 0) {
		r := Range{Name: []string{"price", "sold_ever", "other"}[rng.IntN(3)],
			Least: rng.NormFloat64() - 1, Most: math.Inf(1)}
		switch rng.IntN(3) {
		case 0:
			r.Most = r.Least + rng.Float64()
		case 1:
			r.AnyOf = []float64{rng.NormFloat64(), math.MaxFloat64}
		}
		f.Ranges = append(f.Ranges, r)
	}
	return f
}

// Two catalogues over one store, each writing in turn: after a refresh both let pass what the store
// says, for filters that come once and again, while items change, come and go, and time goes on.
func TestCataloguesFollowTheStore(t *testing.T) {
	rng, st := rand.New(rand.NewPCG(66, 1)), memory.New()
	now := time.Unix(0, 0)
	var both [2]*Catalogue
	var views [2]*View
	for i := range both {
		both[i], views[i] = open(t, st, now, Bounds{})
		views[i].Shared().Close() // another one has it still
	}
	filters := make([]*Filter, 8)
	for i := range filters {
		filters[i] = randomFilter(rng)
		for range max(rng.IntN(4)-1, 0) {
			filters[i].And = append(filters[i].And, randomFilter(rng))
		}
	}
	for step := range 400 {
		writer := both[rng.IntN(2)]
		items, ids := make([]store.Item, 1+rng.IntN(40)), []string(nil)
		for i := range items {
			items[i] = storetest.RandomItem(rng)
			items[i].ID = strconv.Itoa(rng.IntN(rows + 50))
		}
		slices.SortFunc(items, func(a, b store.Item) int { return strings.Compare(a.ID, b.ID) })
		items = slices.CompactFunc(items, func(a, b store.Item) bool { return a.ID == b.ID })
		for _, i := range items {
			ids = append(ids, i.ID)
		}
		var err error
		if rng.IntN(3) == 0 {
			_, err = writer.Delete(t.Context(), ids)
		} else {
			err = put(t, writer, items...)
		}
		must(t, err)
		if rng.IntN(4) == 0 {
			continue // several writes before the other one looks
		}
		now = time.UnixMicro(rng.Int64N(253402300799_999999))
		for i, c := range both {
			must(t, c.Refresh(t.Context()))
			f, listed := filters[rng.IntN(len(filters))], rng.IntN(2) == 0
			for range 3 {
				got := passing(views[i], f, now, listed)
				check.MustSame(t, expected(t, st, f, now), got, "step %d, catalogue %d, filter %+v",
					step, i, f)
			}
		}
		if a, b := both[0].Size(), both[1].Size(); a != b {
			t.Fatalf("step %d: %d items and %d", step, a, b)
		}
		if a, b := both[0].items.bytes, both[1].items.bytes; a != b { // columns go by slots
			t.Fatalf("step %d: %d bytes and %d", step, a, b)
		}
	}
}

// A catalogue that alone writes reads the store once: its own writes need no second look.
func TestOwnWritesAreKnown(t *testing.T) {
	st := &countingStore{Items: memory.New()}
	c, _ := open(t, st, time.Unix(0, 0), Bounds{})
	for i := range 5 {
		must(t, put(t, c, store.Item{ID: strconv.Itoa(i)}))
		must(t, c.Refresh(t.Context()))
	}
	check.Same(t, 1, st.readings, "readings of the whole catalogue")
	must(t, st.PutItems(t.Context(), []store.Item{{ID: "x"}}))
	if err := put(t, c, store.Item{ID: "y"}); err != nil { // hides that another one wrote
		t.Fatal(err)
	}
	if err := c.Refresh(t.Context()); err != nil || c.Size() != 7 || st.readings != 2 {
		t.Errorf("%d items after %d readings, %v; want 7 after 2", c.Size(), st.readings, err)
	}
}

// countingStore counts the readings of the whole catalogue, and has damaged items.
type countingStore struct {
	store.Items
	readings int
	damaged  map[string]bool
}

func (s *countingStore) EachItem(
	ctx context.Context, after string, fn func(store.Item) error,
) error {
	s.readings++
	var ids []string
	err := s.Items.EachItem(ctx, after, func(i store.Item) error {
		if s.damaged[i.ID] {
			ids = append(ids, i.ID)
			return nil
		}
		return fn(i)
	})
	if err == nil && len(ids) > 0 {
		err = &store.DamagedItemsError{IDs: ids}
	}
	return err
}

func (s *countingStore) Item(ctx context.Context, id string) (store.Item, bool, error) {
	if s.damaged[id] {
		return store.Item{}, false, fmt.Errorf("item: %w", store.ErrCorrupt)
	}
	return s.Items.Item(ctx, id)
}

func (s *countingStore) PutItems(ctx context.Context, items []store.Item) error {
	err := s.Items.PutItems(ctx, items)
	for _, i := range items {
		delete(s.damaged, i.ID)
	}
	return err
}

// A damaged item is hidden and counted, and the catalogue opens; writing it as a whole or deleting
// it heals it, and changing a part of it is refused.
func TestDamagedItemsAreHidden(t *testing.T) {
	st := &countingStore{Items: memory.New(), damaged: map[string]bool{"3": true, "5": true}}
	var items []store.Item
	for i := range 10 {
		items = append(items, store.Item{ID: strconv.Itoa(i), Categories: []string{"c"}})
	}
	must(t, st.Items.PutItems(t.Context(), items))
	now := time.Unix(0, 0)
	c, v := open(t, st, now, Bounds{})
	holds := func(moment string, damaged int, want ...int32) {
		t.Helper()
		got := passing(v, &Filter{AnyCategories: []string{"c"}}, now, false)
		if d := cmp.Diff(want, got); d != "" || c.Damaged() != damaged {
			t.Errorf("%s: %d damaged, want %d; rows (-want +got):\n%s", moment, c.Damaged(), damaged, d)
		}
		for _, row := range []int32{3, 5} {
			shown := slices.Contains(passing(v, &Filter{}, now, false), row)
			check.Same(t, slices.Contains(want, row) || c.Size() == 9 && row == 5, shown,
				"%s: row %d is shown", moment, row)
		}
	}
	holds("at first", 2, 0, 1, 2, 4, 6, 7, 8, 9)
	partly := Change{IDs: []string{"3"}, Apply: func(int, *store.Item) error { return nil }}
	if _, err := c.Upsert(t.Context(), partly); !errors.Is(err, ErrDamaged) {
		t.Errorf("a change of a part: %v, want ErrDamaged", err)
	}
	if _, _, err := c.Get(t.Context(), "5"); !errors.Is(err, ErrDamaged) {
		t.Errorf("Get: %v, want ErrDamaged", err)
	}
	read := 0
	must(t, c.Each(t.Context(), "", func(store.Item) error { read++; return nil }))
	check.Same(t, 8, read, "items of Each")
	must(t, put(t, c, items[3]))
	holds("after a write", 1, 0, 1, 2, 3, 4, 6, 7, 8, 9)
	check.Get(c.Delete(t.Context(), []string{"5"}))(t)
	holds("after a deletion", 0, 0, 1, 2, 3, 4, 6, 7, 8, 9)
}

// Beyond the largest number of items none is added, and those that are there may change and go.
func TestNumberOfItemsIsBounded(t *testing.T) {
	c, _ := open(t, memory.New(), time.Unix(0, 0), Bounds{Items: 3})
	item := func(id string) store.Item { return store.Item{ID: id} }
	must(t, put(t, c, item("a"), item("b")))
	if err := put(t, c, item("c"), item("d")); !errors.Is(err, ErrFull) || c.Size() != 2 {
		t.Errorf("the fourth: %v and %d items, want ErrFull and 2", err, c.Size())
	}
	must(t, put(t, c, item("b"), item("c")))
	must(t, put(t, c, item("a"), item("b"), item("c")))
	if _, err := c.Delete(t.Context(), []string{"a"}); err != nil {
		t.Error(err)
	}
	must(t, put(t, c, item("d")))
}

// The union of sets of few rows and of many is that of their rows, and leaves the sets as they are.
func TestUnion(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 4))
	for range 50 {
		sets, want := make([]*roaring.Bitmap, 1+rng.IntN(20)), roaring.New()
		sizes := 0
		for i := range sets {
			sets[i] = roaring.New()
			for range 1 + rng.IntN(2)*rng.IntN(1000) {
				sets[i].Add(uint32(rng.IntN(200_000)))
			}
			sizes += int(sets[i].GetCardinality())
			want.Or(sets[i])
		}
		if got := union(sets); !got.Equals(want) {
			t.Fatalf("a union of %d sets has %d rows, want %d", len(sets), got.GetCardinality(),
				want.GetCardinality())
		}
		for _, set := range sets {
			sizes -= int(set.GetCardinality())
		}
		if sizes != 0 {
			t.Fatal("a set has changed")
		}
	}
}
