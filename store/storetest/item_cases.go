package storetest

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gsimc/gsimc/store"
)

// itemCases are about the catalogue, of stores that keep one.
var itemCases = []testCase{
	{
		name: "items",
		explanation: "an item is what the last PutItems of its id said, until DeleteItems; " +
			"EachItem has all items behind an id, in bytewise order",
		run: runItems,
	},
	{
		name: "items-refused",
		explanation: "malformed items are ErrInvalid, and nothing of the call is applied; after " +
			"Close every call is ErrClosed",
		run: runRefusedItems,
	},
	{
		name: "items-revision",
		explanation: "each PutItems and DeleteItems raises ItemsRevision by 1, at the latest " +
			"when it returns, and nothing else does",
		run: runItemsRevision,
	},
	{
		name:        "items-alone",
		explanation: "the catalogue and the histories do not touch each other",
		run: func(t *tester) {
			s := t.withItems()
			t.append(records("u", 0, 3)...)
			t.succeed(s.PutItems(t.ctx, []store.Item{{ID: "u"}, {ID: "item-1"}}))
			t.wantUsers(map[string]uint64{"u": 3})
			t.erase("u")
			t.wantItems(s, map[string]store.Item{"u": {ID: "u"}, "item-1": {ID: "item-1"}}, "")
		},
	},
}

// withItems returns the store as one that keeps items, or skips the test.
func (t *tester) withItems() store.Items {
	s, ok := t.Store.(store.Items)
	if !ok {
		t.Skip("the store keeps no items")
	}
	return s
}

// wantItems compares the items behind an id.
func (t *tester) wantItems(s store.Items, want map[string]store.Item, after string) {
	t.Helper()
	var list, got []store.Item
	for _, id := range slices.Sorted(maps.Keys(want)) {
		if id > after {
			list = append(list, want[id])
		}
	}
	take := func(i store.Item) error { got = append(got, i); return nil }
	t.succeed(s.EachItem(t.ctx, after, take))
	if d := cmp.Diff(list, got, cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("items behind %q (-want +got):\n%s", after, d)
	}
}

// RandomItem draws an item with one of a few ids, among them ones of any bytes.
func RandomItem(rng *rand.Rand) store.Item {
	ids := []string{"a", "aa", "b", "\x00", "\xff\xff", strings.Repeat("z", store.MaxIDBytes)}
	i := store.Item{ID: ids[rng.IntN(len(ids))], Hidden: rng.IntN(2) == 0}
	names := func() []string {
		drawn := make([]string, rng.IntN(5))
		for at := range drawn {
			drawn[at] = fmt.Sprint("name-", rng.IntN(9))
		}
		slices.Sort(drawn)
		return slices.Compact(drawn)
	}
	i.Categories, i.Labels = names(), names()
	if rng.IntN(2) == 0 {
		i.Title = fmt.Sprint("title ä ", rng.IntN(9))
	}
	if rng.IntN(2) == 0 {
		i.Embedding = []float32{rng.Float32(), 1, -rng.Float32()}
	}
	if rng.IntN(2) == 0 {
		i.Numbers = map[string]float64{"price": rng.NormFloat64(), "sold_ever": math.MaxFloat64}
	}
	for _, t := range []*time.Time{&i.From, &i.Until} {
		if rng.IntN(2) == 0 {
			*t = time.UnixMicro(rng.Int64N(253402300799_999999)).UTC()
		}
	}
	return i
}

func runItems(t *tester) {
	s, rng, want := t.withItems(), rand.New(rand.NewPCG(61, 2)), map[string]store.Item{}
	for range 300 {
		items := make([]store.Item, rng.IntN(4))
		for at := range items {
			items[at] = RandomItem(rng)
		}
		if rng.IntN(3) == 0 {
			var ids []string
			for _, i := range items {
				ids = append(ids, i.ID)
				delete(want, i.ID)
			}
			t.succeed(s.DeleteItems(t.ctx, ids))
		} else {
			for _, i := range items {
				want[i.ID] = i
			}
			t.succeed(s.PutItems(t.ctx, items))
		}
		after := RandomItem(rng).ID
		t.wantItems(s, want, "")
		t.wantItems(s, want, after)
		got, found, err := s.Item(t.ctx, after)
		expected, there := want[after]
		if err != nil || found != there {
			t.Fatalf("Item: found %t, %v; want %t", found, err, there)
		}
		if d := cmp.Diff(expected, got, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("Item (-want +got):\n%s", d)
		}
	}
	stop := errors.New("stop")
	t.succeed(s.PutItems(t.ctx, []store.Item{{ID: "a"}}))
	t.fails(s.EachItem(t.ctx, "", func(store.Item) error { return stop }), stop, "EachItem")
}

func runItemsRevision(t *tester) {
	s := t.withItems()
	last, err := s.ItemsRevision(t.ctx)
	t.succeed(err)
	step := func(by uint64, what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		got, err := s.ItemsRevision(t.ctx)
		if err != nil || got != last+by {
			t.Fatalf("after %s the revision is %d, %v; want %d", what, got, err, last+by)
		}
		last = got
	}
	step(1, "a write", s.PutItems(t.ctx, []store.Item{{ID: "a"}, {ID: "b"}}))
	step(1, "the same write", s.PutItems(t.ctx, []store.Item{{ID: "a"}, {ID: "b"}}))
	step(1, "a deletion", s.DeleteItems(t.ctx, []string{"a", "nobody"}))
	t.append(records("u", 0, 3)...)
	step(0, "events", nil)
	step(0, "a reading", s.EachItem(t.ctx, "", func(store.Item) error { return nil }))
	t.fails(s.PutItems(t.ctx, []store.Item{{}}), store.ErrInvalid, "PutItems of nothing")
	step(0, "a refusal", nil)
	errs := make(chan error)
	for at := range 8 {
		go func() { errs <- s.PutItems(t.ctx, []store.Item{{ID: fmt.Sprint(at)}}) }()
	}
	for range 8 {
		t.succeed(<-errs)
	}
	step(8, "eight writes at once", nil)
}

// manyNumbers returns n numbers.
func manyNumbers(n int) map[string]float64 {
	numbers := map[string]float64{}
	for at := range n {
		numbers[fmt.Sprint("n", at)] = 1
	}
	return numbers
}

func runRefusedItems(t *tester) {
	s := t.withItems()
	long := strings.Repeat("x", store.MaxIDBytes+1)
	for _, bad := range []store.Item{{}, {ID: long}, {ID: "i", Categories: []string{""}},
		{ID: "i", Labels: []string{long}}, {ID: "i", Labels: []string{"b", "a"}},
		{ID: "i", Categories: []string{"a", "a"}}, {ID: "i", Title: "\xff"},
		{ID: "i", Title: strings.Repeat("x", store.MaxTitleBytes+1)},
		{ID: "i", Labels: make([]string, store.MaxItemNames+1)},
		{ID: "i", Embedding: make([]float32, 3)},
		{ID: "i", Embedding: []float32{1, float32(math.NaN())}},
		{ID: "i", Embedding: slices.Repeat([]float32{1}, store.MaxEmbedding+1)},
		{ID: "i", Numbers: map[string]float64{"price": math.Inf(1)}},
		{ID: "i", Numbers: map[string]float64{"price": math.NaN()}},
		{ID: "i", Numbers: map[string]float64{"Price": 1}},
		{ID: "i", Numbers: manyNumbers(21)}} {
		err := s.PutItems(t.ctx, []store.Item{{ID: "good"}, bad})
		t.fails(err, store.ErrInvalid, "PutItems of a bad item")
	}
	t.wantItems(s, nil, "")
	t.end()
	_, _, err := s.Item(t.ctx, "a")
	_, revisionErr := s.ItemsRevision(t.ctx)
	t.allFail(store.ErrClosed, map[string]error{
		"ItemsRevision": revisionErr, "PutItems": s.PutItems(t.ctx, nil),
		"DeleteItems": s.DeleteItems(t.ctx, nil), "Item": err,
		"EachItem": s.EachItem(t.ctx, "", func(store.Item) error { return nil }),
	})
}
