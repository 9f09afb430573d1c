package local

import (
	"cmp"
	"slices"
	"sync"
)

// Share is the part of an item in a mixture.
type Share struct {
	Item int32
	Part float64
}

// columns are the columns of a graph, found when they are first asked for. They take as much memory
// as its rows.
type columns struct {
	once sync.Once
	of   *Graph // the transposed graph
}

// column returns the items i with a T_ij for item j, ascending, and the T_ij.
func (g *Graph) column(j int32) (items []int32, values []float32) {
	g.columns.once.Do(func() { g.columns.of = g.transposed() })
	return g.columns.of.Row(j)
}

// transposed returns the graph with rows and columns exchanged.
func (g *Graph) transposed() *Graph {
	n := len(g.Ptr) - 1
	t := &Graph{Ptr: make([]int64, n+2), Item: make([]int32, len(g.Item)),
		Value: make([]float32, len(g.Item))}
	for _, j := range g.Item {
		t.Ptr[j+2]++
	}
	for j := range n {
		t.Ptr[j+2] += t.Ptr[j+1]
	}
	for i := range int32(n) {
		items, values := g.Row(i)
		for at, j := range items {
			to := &t.Ptr[j+1]
			t.Item[*to], t.Value[*to] = i, values[at]
			*to++
		}
	}
	t.Ptr = t.Ptr[:n+1]
	return t
}

// Borrow returns an arrival of which no succession is known: its row and its column are those of
// known items, each times its part and a scale. No item follows itself, so T has no diagonal; but
// who has taken an item may well take another one that is like it, as one that often follows it. So
// T_jj is the largest number of the row or column here. degree is the number of the arrival's users
// at the scale of the training.
func (g *Graph) Borrow(id string, s *Spec, degree int64, scale float64, of []Share) Arrival {
	out := Arrival{id: id,
		source: power(degree, s.SourceExponent), target: power(degree, s.TargetExponent)}
	for _, x := range of {
		part := x.Part * scale
		items, values := g.Row(x.Item)
		out.row = appendScaled(out.row, x.Item, items, values, part)
		items, values = g.column(x.Item)
		out.column = appendScaled(out.column, x.Item, items, values, part)
	}
	out.row = strongest(summed(out.row), s.Neighbours)
	out.column = strongest(summed(out.column), sourcesPerNeighbour*s.Neighbours)
	return out
}

// Mix returns part times other, which is borrowed, and the rest of a.
func (a *Arrival) Mix(other *Arrival, part float64, s *Spec) Arrival {
	mix := func(own, borrowed []entry, most int) []entry {
		all := make([]entry, 0, len(own)+len(borrowed))
		for _, e := range own {
			all = append(all, entry{e.item, float32((1 - part) * float64(e.value))})
		}
		for _, e := range borrowed {
			all = append(all, entry{e.item, float32(part * float64(e.value))})
		}
		return strongest(summed(all), most)
	}
	out := *a
	out.row = mix(a.row, other.row, s.Neighbours)
	out.column = mix(a.column, other.column, sourcesPerNeighbour*s.Neighbours)
	out.others = slices.Clone(a.others)
	for at := range out.others {
		o := &out.others[at]
		o.row, o.column = float32((1-part)*float64(o.row)), float32((1-part)*float64(o.column))
	}
	return out
}

// appendScaled appends the entries of the row or column of item i to all, times a factor, with one
// for itself.
func appendScaled(all []entry, i int32, items []int32, values []float32, by float64) []entry {
	most := float32(0)
	for at, j := range items {
		all = append(all, entry{j, bounded(float64(values[at]) * by)})
		most = max(most, values[at])
	}
	return append(all, entry{i, bounded(float64(most) * by)})
}

// summed adds up the entries of each item, and orders them by item.
func summed(all []entry) []entry {
	slices.SortStableFunc(all, func(a, b entry) int { return cmp.Compare(a.item, b.item) })
	out := all[:0]
	for _, e := range all {
		if last := len(out) - 1; last >= 0 && out[last].item == e.item {
			out[last].value = min(out[last].value+e.value, maxValue)
		} else {
			out = append(out, e)
		}
	}
	return out
}
