package local

import (
	"slices"

	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/kalman"
)

// Finder looks for the positions in histories. It is the memory of one worker.
type Finder struct {
	Seen *ranking.Set // items of the history before the position

	counts *Successions // nil without a local term
	events int          // that count
	near   []int32
}

// NewFinder returns a finder for a number of items, by counts, which may be nil, and the number of
// newest events that count.
func NewFinder(items int, counts *Successions, events int) *Finder {
	return &Finder{Seen: ranking.NewSet(items), counts: counts, events: events}
}

// Walk calls fold with each event of h, and before it found with its position, without scores, if a
// choice of constants ranks it: it is one of the given number of last events, comes after another
// one, counts, and is the first on its item.
func (f *Finder) Walk(
	h kalman.History, last int, found func(at int, p Position), fold func(e kalman.Event),
) {
	f.Seen.Clear()
	for at, e := range h {
		if at > 0 && at >= len(h)-last && e.Weight > 0 && !f.Seen.Has(e.Item) {
			found(at, f.Position(h[:at], e.Item))
		}
		fold(e)
		f.Seen.Add(e.Item)
	}
}

// Position returns the position after a history, without scores. Seen holds the items of the
// history.
func (f *Finder) Position(past kalman.History, target int32) Position {
	p := Position{Target: ranking.Scored{Item: target}}
	if f.counts == nil {
		return p
	}
	p.Recent = Newest(nil, past, f.events)
	f.near = f.counts.Near(f.near[:0], p.Recent)
	for _, i := range f.near {
		if !f.Seen.Has(i) {
			p.Near = append(p.Near, ranking.Scored{Item: i})
		}
	}
	return p
}

// Newest appends to dst the given number of newest events of a history, the newest one last, for
// the Recent of a Position after it: negative weights become 0.
func Newest(dst []kalman.Recent, h kalman.History, events int) []kalman.Recent {
	for _, e := range h[max(0, len(h)-events):] {
		dst = append(dst, kalman.Recent{Item: e.Item, Weight: max(e.Weight, 0)})
	}
	return dst
}

// Near appends to dst the items that the local term of recent events may give a number to, each
// once, ascending.
func (c *Successions) Near(dst []int32, recent []kalman.Recent) []int32 {
	from := len(dst)
	for _, e := range recent {
		if int(e.Item) >= c.n {
			continue
		}
		for _, p := range c.pairs[c.ptr[e.Item]:c.ptr[e.Item+1]] {
			dst = append(dst, p.item)
		}
	}
	slices.Sort(dst[from:])
	return dst[:from+len(slices.Compact(dst[from:]))]
}
