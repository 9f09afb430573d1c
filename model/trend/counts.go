package trend

import (
	"cmp"
	"math"
	"slices"
)

// Prior is a, the number of events that the prior of an item's factor is worth. Between 0.5 and 8
// it makes no difference that can be measured: the gain of a [Spec] trades with it.
const Prior = 2

// fraction is the number of binary digits of a weight behind the point. An event that fraction + 1
// half-lives of events have followed has no weight.
const fraction = 20

// Counts are the first events of users on items, by span. Items are numbered from 0. Methods are
// not safe for concurrent use, unless nobody calls Add.
type Counts struct {
	spans []*span // rising
}

type span struct {
	at    int64
	items map[int32]int64 // n_b, without zeros
	total int64
}

// find returns where a span is, or where it would be.
func (c *Counts) find(at int64) (int, bool) {
	return slices.BinarySearchFunc(c.spans, at, func(s *span, at int64) int {
		return cmp.Compare(s.at, at)
	})
}

// Add counts n events on an item in a span. n is negative for events that are taken back.
func (c *Counts) Add(at int64, item int32, n int64) {
	place, found := c.find(at)
	if !found {
		c.spans = slices.Insert(c.spans, place, &span{at: at, items: map[int32]int64{}})
	}
	s := c.spans[place]
	s.total += n
	if s.items[item] += n; s.items[item] == 0 {
		delete(s.items, item)
	}
	if len(s.items) == 0 {
		c.spans = slices.Delete(c.spans, place, place+1)
	}
}

// Spans returns the spans that have events, rising, and the number of events from each on.
func (c *Counts) Spans() (spans, from []int64) {
	spans, from = make([]int64, len(c.spans)), make([]int64, len(c.spans))
	sum := int64(0)
	for i, s := range slices.Backward(c.spans) {
		sum += s.total
		spans[i], from[i] = s.at, sum
	}
	return spans, from
}

// Within returns the oldest span that fewer than n events follow, those of later spans.
func (c *Counts) Within(n float64) int64 {
	spans, from := c.Spans()
	for i, at := range spans {
		if i+1 == len(spans) || float64(from[i+1]) < n {
			return at
		}
	}
	return math.MaxInt64
}

// Later is the number of events after a span.
func (c *Counts) Later(span int64) (n int64) {
	for _, s := range slices.Backward(c.spans) {
		if s.at <= span {
			break
		}
		n += s.total
	}
	return n
}

// fade is the weight of an event that others have followed, in units of 2^-fraction.
func fade(followed int64, halfLife float64) int64 {
	return int64(math.Round(math.Ldexp(math.Exp2(-float64(followed)/halfLife), fraction)))
}

// Rates are the faded counts of items after a span.
type Rates struct {
	of    []int64 // r_i, in units of 2^-fraction
	total int64   // R

	// Faded counts of the events on any items: all of them, and those from the first event on an
	// item on, 0 if there is none.
	all   int64
	since []int64
	known int // from this item on, items are new
}

// RatesAfter returns the faded counts of the items 0, 1, … items−1 after a span. Other items have
// none, but their events fade these. O(items + counts).
func (c *Counts) RatesAfter(last int64, halfLife float64, items int) *Rates {
	r := &Rates{of: make([]int64, items), since: make([]int64, items), known: items}
	var since int64 // N_s − N_b
	end, found := c.find(last)
	if found {
		end++
	}
	for _, s := range slices.Backward(c.spans[:end]) {
		weight := fade(since, halfLife)
		if weight == 0 {
			break
		}
		r.all += s.total * weight
		for i, n := range s.items {
			if int(i) < items {
				r.of[i] += n * weight
				r.total += n * weight
				r.since[i] = r.all
			}
		}
		since += s.total
	}
	return r
}

// Of returns the faded counts of these items alone, in their order. -1 stands for an item without
// events. From the known-th on they are new: their events are expected from the first one on.
func (r *Rates) Of(items []int32, known int) *Rates {
	x := &Rates{of: make([]int64, len(items)), all: r.all, since: make([]int64, len(items)),
		known: known}
	for at, i := range items {
		if i >= 0 {
			x.of[at], x.since[at] = r.of[i], r.since[i]
			x.total += r.of[i]
		}
	}
	return x
}

// Item returns r_i.
func (r *Rates) Item(item int32) float64 { return math.Ldexp(float64(r.of[item]), -fraction) }

// TrendsTo stores g_i of all items in dst. shares are in proportion to π_i, with a sum above 0.
func (r *Rates) TrendsTo(dst []float32, shares []int64) {
	expected := r.expected(shares)
	for i := range dst {
		dst[i] = float32(math.Log(r.factor(i, float64(shares[i])*expected)))
	}
}

// factor is e^g_i of an item with R π_i expected events.
func (r *Rates) factor(i int, expected float64) float64 {
	return (r.Item(int32(i)) + Prior) / (expected*float64(r.exposed(i)) + Prior)
}

// exposed is E_i/R, the faded share of all events that have come since an item has. One that nobody
// has may have been there for long, and one of the training has been.
func (r *Rates) exposed(i int) float32 {
	if i < r.known || r.since[i] == 0 {
		return 1
	}
	return float32(float64(r.since[i]) / float64(r.all))
}

// Popular returns numbers in proportion to π_i e^g_i, the share that each item is expected to have
// now: a ranking of the items for somebody of whom nothing is known.
func (r *Rates) Popular(shares []int64) []int64 {
	expected := r.expected(shares)
	popular := make([]int64, len(shares))
	for i, share := range shares {
		now := float64(share) * r.factor(i, float64(share)*expected)
		popular[i] = int64(math.Round(math.Ldexp(now, popularDigits)))
	}
	return popular
}

// Popularity is the number that one of Popular stands for, in the unit of the shares.
func Popularity(now int64) float64 { return math.Ldexp(float64(now), -popularDigits) }

// popularDigits is the number of binary digits of a number of Popular behind the point.
const popularDigits = 10

// expected is R π_i of an item with the share 1.
func (r *Rates) expected(shares []int64) float64 {
	sum := 0.0
	for _, share := range shares {
		sum += float64(share)
	}
	return math.Ldexp(float64(r.total), -fraction) / sum
}
