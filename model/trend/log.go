package trend

import (
	"math/bits"
	"slices"
	"sort"

	"github.com/gsimc/gsimc/internal/num/parallel"
)

// Log holds first events of users on items in the order of their times: all of [Counts] at once,
// for a past that is looked at again and again. Methods are safe for concurrent use, but for Keep.
type Log struct {
	logged
	spec Spec

	// By [Log.Divide]: the numbers of the spans that have events, rising, and where they begin.
	spans []int64
	ptr   []int // spans[b] has the events from ptr[b] to ptr[b+1]
}

// logged are events with their times and items.
type logged struct {
	times []int64
	items []int32
}

func newLogged(n int) logged { return logged{make([]int64, n), make([]int32, n)} }

// NewLog returns the log of events on items at times, in any order.
func NewLog(times []int64, items []int32) *Log {
	l := &Log{logged: newLogged(len(items))}
	if len(items) == 0 {
		return l
	}
	// The highest digit is that of the events as they are given. Only events that have it in common
	// are in memory twice.
	first := slices.Min(times)
	shift := max(0, bits.Len64(uint64(slices.Max(times)-first))-digitBits)
	ends := l.take(logged{times, items}, first, shift)
	parallel.Tasks(len(ends)-1, func(d int) {
		lo, hi := ends[d], ends[d+1]
		logged{l.times[lo:hi], l.items[lo:hi]}.sort(first, shift)
	})
	return l
}

// digitBits is the number of bits of a digit by which events are sorted.
const digitBits = 11

// take makes e the events of from, sorted by a digit of the time since the first: the lowest one
// after the shift. Events with the same digit keep their order: those with d end at ends[d+1].
func (e logged) take(from logged, first int64, shift int) (ends [1<<digitBits + 1]int) {
	digit := func(t int64) uint64 { return uint64(t-first) >> shift % (1 << digitBits) }
	for _, t := range from.times {
		ends[digit(t)+1]++
	}
	for d := range len(ends) - 1 {
		ends[d+1] += ends[d]
	}
	at := ends
	for j, t := range from.times {
		to := &at[digit(t)]
		e.times[*to], e.items[*to] = t, from.items[j]
		*to++
	}
	return ends
}

// sort sorts events whose times since the first differ in their low bits alone, digit by digit.
func (e logged) sort(first int64, low int) {
	if len(e.times) < 2 {
		return
	}
	other := newLogged(len(e.times))
	for shift := 0; shift < low; shift += digitBits {
		other.take(e, first, shift)
		copy(e.times, other.times)
		copy(e.items, other.items)
	}
}

// Time returns the time of the j-th event, from 0.
func (l *Log) Time(j int) int64 { return l.times[j] }

// Before returns the number of events before a time.
func (l *Log) Before(time int64) int {
	n, _ := slices.BinarySearch(l.times, time)
	return n
}

// Keep numbers the items anew by their places. The events on items with the place −1 go.
func (l *Log) Keep(place []int32) {
	kept := 0
	for j, i := range l.items {
		if place[i] >= 0 {
			l.times[kept], l.items[kept] = l.times[j], place[i]
			kept++
		}
	}
	l.times, l.items = l.times[:kept], l.items[:kept]
}

// Divide returns the log with the spans of spec, for RatesAfter. The two share their events.
func (l *Log) Divide(spec Spec) *Log {
	x := &Log{logged: l.logged, spec: spec, ptr: []int{0}}
	for end := 0; end < len(l.times); x.ptr = append(x.ptr, end) {
		at := spec.SpanOf(l.times[end])
		x.spans = append(x.spans, at)
		end += sort.Search(len(l.times)-end, func(j int) bool {
			return spec.SpanOf(l.times[end+j]) > at
		})
	}
	return x
}

// Together is the number of spans that [Log.RatesAfter] is best asked for at a time: of many items
// there are fewer spans, as each takes memory for each item.
func Together(items int) int { return max(1, min(4*lanes, 1<<22/max(1, items))) }

// RatesBytes is the most memory that [Log.RatesAfter] takes for [Together] spans: 16 bytes for each
// span and item, and 8 for each item.
func RatesBytes(items int) int { return (16*Together(items) + 8) * items }

// RatesAfter returns the faded counts of the items 0, 1, … items−1 after each of the spans last, as
// [Counts.RatesAfter] does, but none of the items is new, and the result is not for [Rates.Of]. The
// log must not have events on other items.
func (l *Log) RatesAfter(last []int64, items int) []*Rates {
	rates, next := make([]*Rates, len(last)), make([]int, len(last)) // next: the span after last
	newest := 0
	for t, span := range last {
		rates[t] = &Rates{of: make([]int64, items), known: items}
		at, found := slices.BinarySearch(l.spans, span)
		if found {
			at++
		}
		next[t], newest = at, max(newest, at)
	}
	weights := make([][lanes]int64, len(last)/lanes+1)
	s := newSums(items, rates)
	for b := newest - 1; b >= 0; b-- {
		events, faded := l.items[l.ptr[b]:l.ptr[b+1]], true
		for t, at := range next {
			w := int64(0)
			if b < at { // N_s − N_b events have followed
				w = fade(int64(l.ptr[at]-l.ptr[b+1]), l.spec.HalfLife)
			}
			faded = faded && b < at && w == 0
			rates[t].total += int64(len(events)) * w
			rates[t].all = rates[t].total
			weights[t/lanes][t%lanes] = w
		}
		if faded {
			break
		}
		s.add(events, weights)
	}
	for t, r := range rates[:lanes*len(s.of)] {
		for i, of := range s.of[t/lanes] {
			r.of[i] = of[t%lanes]
		}
	}
	return rates
}

// lanes is the number of sums of an item that lie next to each other: a line of the cache.
const lanes = 8

// sums are weighted sums over events by item, for groups of lanes weights each. Fewer weights than
// lanes are left: their sums are those of the rates themselves, as unused lanes would take memory.
type sums struct {
	of     [][][lanes]int64 // by group and item
	rest   []*Rates
	counts []int32 // of the events of a span by item, 0 between spans
	met    []int32 // the items that have some, and a place for one that is met again
}

func newSums(items int, rates []*Rates) *sums {
	s := &sums{of: make([][][lanes]int64, len(rates)/lanes), counts: make([]int32, items)}
	s.rest, s.met = rates[len(s.of)*lanes:], make([]int32, items+1)
	for g := range s.of {
		s.of[g] = make([][lanes]int64, items)
	}
	return s
}

// add adds weights to the sums of an item for each of its events.
func (s *sums) add(events []int32, weights [][lanes]int64) {
	met := 0
	for _, i := range events {
		s.met[met] = i
		if s.counts[i]++; s.counts[i] == 1 {
			met++
		}
	}
	for g, of := range s.of {
		w := weights[g]
		for _, i := range s.met[:met] {
			n, sum := int64(s.counts[i]), &of[i]
			sum[0] += n * w[0]
			sum[1] += n * w[1]
			sum[2] += n * w[2]
			sum[3] += n * w[3]
			sum[4] += n * w[4]
			sum[5] += n * w[5]
			sum[6] += n * w[6]
			sum[7] += n * w[7]
		}
	}
	for t, r := range s.rest {
		w := weights[len(s.of)][t]
		for _, i := range s.met[:met] {
			r.of[i] += int64(s.counts[i]) * w
		}
	}
	for _, i := range s.met[:met] {
		s.counts[i] = 0
	}
}
