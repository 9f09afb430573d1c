package tally

import (
	"math"
	"slices"

	"github.com/gsimc/gsimc/model/trend"
)

// A Pace tells how fast events have come, and so how popular a new item is.
type Pace struct {
	trained trend.Degrees
	spec    trend.Spec
	oldest  int64   // span that counts
	spans   []int64 // that have events, rising
	from    []int64 // events from each of spans on
	halved  int     // of the users whose events these are
}

// Pace returns the pace of what is counted now.
func (t *Tally) Pace() *Pace {
	p := &Pace{trained: t.trained, spec: t.spec, oldest: t.oldest, halved: t.halved}
	p.spans, p.from = t.counts.Spans()
	return p
}

// Expected is [trend.Degrees.Expected] of an item with so many users of the store, of whom the
// first took it at this time; near is what its neighbours in content have, 0 without any.
func (p *Pace) Expected(users float64, since int64, near float64) float64 {
	return p.trained.Expected(users, math.Ldexp(p.eventsSince(since), p.halved), near)
}

// eventsSince is the number of counted events from the span of a time on. Events before those that
// count are taken to have come as fast.
func (p *Pace) eventsSince(unix int64) float64 {
	span := p.spec.SpanOf(unix)
	at, _ := slices.BinarySearch(p.spans, span)
	if at == len(p.spans) {
		return 0
	}
	events := float64(p.from[at])
	if span < p.oldest {
		end := float64(p.spans[len(p.spans)-1] + 1)
		events *= (end - float64(span)) / (end - float64(p.oldest))
	}
	return events
}
