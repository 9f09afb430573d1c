package trend

import (
	"cmp"
	"slices"
	"sort"
)

// Log holds first events of users on items in the order of their times: all of [Counts] at once,
// for a past that is looked at again and again. Methods are safe for concurrent use, but for Keep.
type Log struct {
	events []logged
	spec   Spec

	// By [Log.Divide]: the numbers of the spans that have events, rising, and where they begin.
	spans []int64
	ptr   []int // spans[b] has events[ptr[b]:ptr[b+1]]
}

type logged struct {
	time int64
	item int32
}

// NewLog returns the log of events on items at times, in any order.
func NewLog(times []int64, items []int32) *Log {
	l := &Log{events: make([]logged, len(items))}
	for j, item := range items {
		l.events[j] = logged{times[j], item}
	}
	slices.SortFunc(l.events, func(a, b logged) int { return cmp.Compare(a.time, b.time) })
	return l
}

// Time returns the time of the j-th event, from 0.
func (l *Log) Time(j int) int64 { return l.events[j].time }

// Before returns the number of events before a time.
func (l *Log) Before(time int64) int {
	return sort.Search(len(l.events), func(j int) bool { return l.events[j].time >= time })
}

// Keep numbers the items anew by their places. The events on items with the place −1 go.
func (l *Log) Keep(place []int32) {
	kept := l.events[:0]
	for _, e := range l.events {
		if e.item = place[e.item]; e.item >= 0 {
			kept = append(kept, e)
		}
	}
	l.events = kept
}

// Divide returns the log with the spans of spec, for RatesAfter. The two share their events.
func (l *Log) Divide(spec Spec) *Log {
	x := &Log{events: l.events, spec: spec, ptr: []int{0}}
	for end := 0; end < len(l.events); x.ptr = append(x.ptr, end) {
		at := spec.SpanOf(l.events[end].time)
		x.spans = append(x.spans, at)
		end += sort.Search(len(l.events)-end, func(j int) bool {
			return spec.SpanOf(l.events[end+j].time) > at
		})
	}
	return x
}

// RatesAfter returns the faded counts of the items 0, 1, … items−1 after a span, as
// [Counts.RatesAfter] does, but none of the items is new, and the result is not for [Rates.Of]. The
// log must not have events on other items. O(items + events).
func (l *Log) RatesAfter(last int64, items int) *Rates {
	r := &Rates{of: make([]int64, items), known: items}
	var since int // N_s − N_b
	end, found := slices.BinarySearch(l.spans, last)
	if found {
		end++
	}
	for b := end - 1; b >= 0; b-- {
		weight := fade(int64(since), l.spec.HalfLife)
		if weight == 0 {
			break
		}
		events := l.events[l.ptr[b]:l.ptr[b+1]]
		for _, e := range events {
			r.of[e.item] += weight
		}
		r.total += int64(len(events)) * weight
		since += len(events)
	}
	r.all = r.total
	return r
}
