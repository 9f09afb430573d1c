package local

import (
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
		out.row = sum(out.row, scaled(x.Item, items, values, part))
		items, values = g.column(x.Item)
		out.column = sum(out.column, scaled(x.Item, items, values, part))
	}
	out.row = strongest(out.row, s.Neighbours)
	out.column = strongest(out.column, sourcesPerNeighbour*s.Neighbours)
	return out
}

// Mix returns part times other, which is borrowed, and the rest of a.
func (a *Arrival) Mix(other *Arrival, part float64, s *Spec) Arrival {
	mix := func(own, borrowed []entry, most int) []entry {
		times := func(entries []entry, by float64) []entry {
			entries = slices.Clone(entries)
			for at := range entries {
				entries[at].value = float32(by * float64(entries[at].value))
			}
			return entries
		}
		return strongest(sum(times(own, 1-part), times(borrowed, part)), most)
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

// scaled returns the entries of the row or column of item i times a factor, with one for itself, by
// item.
func scaled(i int32, items []int32, values []float32, by float64) []entry {
	all, most, own := make([]entry, 0, len(items)+1), float32(0), 0
	for at, j := range items {
		if j <= i {
			own = at + 1
		}
		all = append(all, entry{j, bounded(float64(values[at]) * by)})
		most = max(most, values[at])
	}
	return slices.Insert(all, own, entry{i, bounded(float64(most) * by)})
}

// sum returns the sums of the entries of each item, by item, of two lists by item.
func sum(a, b []entry) []entry {
	out := make([]entry, 0, len(a)+len(b))
	for i, j := 0, 0; i < len(a) || j < len(b); {
		var e entry
		if j == len(b) || i < len(a) && a[i].item <= b[j].item {
			e = a[i]
			i++
		} else {
			e = b[j]
			j++
		}
		if last := len(out) - 1; last >= 0 && out[last].item == e.item {
			out[last].value = min(out[last].value+e.value, maxValue)
		} else {
			out = append(out, e)
		}
	}
	return out
}
