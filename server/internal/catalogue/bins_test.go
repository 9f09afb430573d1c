package catalogue

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// binned is a catalogue with numbers of all sizes, some that many items have, and neighbours of
// them, whose first item is the last row of its view.
type binned struct {
	*Catalogue
	view *View
	rng  *rand.Rand
	have []map[string]float64 // by row
}

func newBinned(t *testing.T, rows int) *binned {
	c := check.Get(Open(t.Context(), memory.New(), time.Unix(0, 0), Bounds{}))(t)
	v := c.View(rows, func(id string) (int32, bool) {
		item, err := strconv.Atoi(id)
		return int32(rows - 1 - item), err == nil && item < rows
	})
	t.Cleanup(v.Close)
	return &binned{Catalogue: c, view: v, rng: rand.New(rand.NewPCG(29, uint64(rows))),
		have: make([]map[string]float64, rows)}
}

func (b *binned) draw() float64 {
	switch b.rng.IntN(4) {
	case 0:
		return float64(b.rng.IntN(5))
	case 1:
		return math.Nextafter(float64(b.rng.IntN(5)), float64(b.rng.IntN(7)))
	case 2:
		return math.Float64frombits(b.rng.Uint64()&^(0x7ff<<52) | uint64(b.rng.IntN(2047))<<52)
	}
	return b.rng.NormFloat64()
}

// write gives an item other numbers, or writes it again with its own, or deletes it. Some items are
// not in the model.
func (b *binned) write() {
	id := b.rng.IntN(len(b.have) + len(b.have)/8)
	item := store.Item{ID: strconv.Itoa(id), Numbers: map[string]float64{}}
	for _, column := range []struct {
		name  string
		share float64
	}{{"x", .9}, {"y", .5}, {"rare", .001}} {
		if b.rng.Float64() < column.share {
			item.Numbers[column.name] = b.draw()
		}
	}
	if id < len(b.have) && b.rng.IntN(4) == 0 {
		item.Numbers = b.have[len(b.have)-1-id]
	}
	if b.rng.IntN(20) == 0 {
		b.dropAll([]string{item.ID})
		item.Numbers = nil
	} else {
		b.putAll([]store.Item{item})
	}
	if id < len(b.have) {
		b.have[len(b.have)-1-id] = item.Numbers
	}
}

// someRange draws a range, at times by a number of a row, or by single numbers.
func (b *binned) someRange(name string) Range {
	least, most := b.draw(), b.draw()
	bins := b.view.bins[name]
	if bins != nil && len(bins.numbers) > 0 && b.rng.IntN(3) == 0 {
		least = number(bins.numbers[b.rng.IntN(len(bins.numbers))])
		if b.rng.IntN(2) == 0 {
			most = math.Nextafter(least, most)
		}
	}
	if b.rng.IntN(4) == 0 {
		return NewRange(name, &least, nil, nil, nil, []float64{b.draw(), 3, 4, least, 3})
	}
	return NewRange(name, nil, &least, nil, &most, nil)
}

// passing are the rows that pass by the numbers that the items have.
func (b *binned) passing(ranges []Range) (want []int32) {
	for row, have := range b.have {
		if !slices.ContainsFunc(ranges, func(r Range) bool {
			x, there := have[r.Name]
			return !there || x < r.Least || x > r.Most || r.AnyOf != nil && !slices.Contains(r.AnyOf, x)
		}) {
			want = append(want, int32(row))
		}
	}
	return want
}

// Ranges let those pass that they should, while numbers come, change and go, by bins or without.
func TestRangesByBins(t *testing.T) {
	const words = 64 * step
	for _, rows := range []int{1, parts - 1, parts, parts + 1, words - 1, words, words + 1, 6001} {
		t.Run(fmt.Sprint(rows), func(t *testing.T) {
			b := newBinned(t, rows)
			for round := range 20 {
				for range rows/4 + lateRows/10 { // so that few rows get new bins, too
					b.write()
				}
				for range 30 {
					var ranges []Range
					for _, name := range []string{"x", "y", "rare", "nobody's"} {
						if b.rng.IntN(2) == 0 {
							ranges = append(ranges, b.someRange(name))
						}
					}
					got := passing(b.view, &Filter{Ranges: ranges}, time.Unix(0, 0), true)
					check.MustSame(t, b.passing(ranges), got, "round %d: %+v", round, ranges)
				}
			}
			if rows < 6000 {
				return
			}
			if b.view.bins["x"] == nil || b.view.bins["y"] == nil || b.view.bins["rare"] != nil {
				t.Errorf("%d columns have bins, want those of x and y", len(b.view.bins))
			}
		})
	}
}

// Bins follow what a column becomes: where all numbers are replaced by larger ones, as times are, no
// part has many, few rows do not get new bins at each write, and there are none without numbers.
func TestBinsFollow(t *testing.T) {
	for _, rows := range []int{10, 10000} {
		t.Run(fmt.Sprint(rows), func(t *testing.T) { followBins(t, rows) })
	}
}

func followBins(t *testing.T, rows int) {
	b := newBinned(t, rows)
	writes := 4*rows + 2*lateRows
	most, made, had := 0, 0, (*bins)(nil)
	for now := range writes {
		b.putAll([]store.Item{{ID: strconv.Itoa(now % rows), Numbers: map[string]float64{"x": float64(now)}}})
		have := b.view.bins["x"]
		if have != had {
			had, made = have, made+1
		}
		for part := range parts {
			if have != nil {
				most = max(most, len(have.late[part]))
			}
		}
	}
	if limit := lateRows + lateShare*(rows/parts+1); most > limit {
		t.Errorf("%d of %d numbers have come to one of the parts, want up to %d", most, rows, limit)
	}
	if limit := 2 + writes/lateRows; made > limit {
		t.Errorf("%d writes made bins %d times, want up to %d", writes, made, limit)
	}
	latest := b.view.bins["x"].run(span{ordered(float64(writes - 1)), ordered(float64(writes))})
	check.Same(t, 0, len(latest.came()[1]), "numbers looked at twice, of a range in one part")
	for i := range rows {
		b.dropAll([]string{strconv.Itoa(i)})
	}
	check.Same(t, 0, len(b.view.bins), "columns with bins, without a number")
}

// The bins that the last write has left to be made are made without another one.
func TestBinsFollowWithoutAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBinned(t, 1)
		b.putAll([]store.Item{{ID: "0", Numbers: map[string]float64{"x": 1, "y": 2, "z": 3}}})
		check.Same(t, 1, len(b.view.bins), "columns with bins after a write")
		ctx, end := context.WithCancel(t.Context())
		go b.Watch(ctx, func(err error) { t.Error(err) })
		time.Sleep(3 * poll)
		end()
		synctest.Wait()
		check.Same(t, 3, len(b.view.bins), "columns with bins after a rest")
	})
}

// The watch does not rest for the time that bins take, and makes none when it is to end.
func TestBinsDelayNoWatch(t *testing.T) {
	b := newBinned(t, 1)
	b.putAll([]store.Item{{ID: "0", Numbers: map[string]float64{"x": 1, "y": 2}}})
	ctx, end := context.WithCancel(t.Context())
	b.build.Lock()
	time.AfterFunc(2*poll/rest, func() {
		end()
		b.build.Unlock()
	})
	wait, err := b.round(ctx)
	check.Must(t, err)
	check.Same(t, poll, wait, "rest after a round")
	check.Same(t, 1, len(b.view.bins), "columns with bins")
}

// A write makes the bins of one column, the one that needs them most, and a new view has all.
func TestBinsOfOneColumnAWrite(t *testing.T) {
	b := newBinned(t, 1)
	item := store.Item{ID: "0", Numbers: map[string]float64{"x": 1, "y": 2, "z": 3}}
	for want := range 4 {
		check.Same(t, want, len(b.view.bins), "columns with bins after %d writes", want)
		b.putAll([]store.Item{item})
	}
	b.view.bins["x"].moved, b.view.bins["y"].moved, b.view.bins["z"].moved = 2e6, 4e6, 3e6
	for _, next := range []string{"y", "z", "x"} {
		before := maps.Clone(b.view.bins)
		b.putAll([]store.Item{item})
		before[next] = b.view.bins[next]
		check.Same(t, 0, before[next].moved, "numbers that came to %s", next)
		check.Same(t, true, maps.Equal(before, b.view.bins), "only %s has new bins", next)
	}
	v := b.View(1, func(string) (int32, bool) { return 0, true })
	defer v.Close()
	check.Same(t, 3, len(v.bins), "columns with bins of a new view")
}
