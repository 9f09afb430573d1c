package local

import (
	"fmt"
	"slices"

	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/internal/num/stat"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/kalman"
)

// Graph is the sparse matrix T of a local term, row by row. It does not change, and is safe for
// concurrent use.
type Graph struct {
	Ptr   []int64   // n+1: row i is [Ptr[i], Ptr[i+1])
	Item  []int32   // ascending in each row
	Value []float32 // T_ij
	fades []float32 // a^p, p = 0 … Events−1

	// more holds further entries of the n rows, and further rows, see Extend; nil for none.
	more *Graph

	columns *columns // nil for more
}

// NewGraph returns the graph of n = len(ptr)−1 rows for the constants of s. It keeps the slices,
// which must not change. It is an error if they are not a graph of n items with finite values.
func NewGraph(s *Spec, ptr []int64, item []int32, value []float32) (*Graph, error) {
	g := &Graph{Ptr: ptr, Item: item, Value: value}
	n := len(ptr) - 1
	if n < 0 || ptr[0] != 0 || ptr[n] != int64(len(item)) || len(item) != len(value) {
		return nil, fmt.Errorf("the local graph has %d items and %d values, and its rows do not "+
			"add up to them", len(item), len(value))
	}
	for i := range n {
		if ptr[i] > ptr[i+1] || ptr[i+1] > int64(len(item)) {
			return nil, fmt.Errorf("row %d of the local graph ends before it begins", i)
		}
		row := item[ptr[i]:ptr[i+1]]
		if len(row) > s.Neighbours {
			return nil, fmt.Errorf("row %d of the local graph has %d items, want at most %d",
				i, len(row), s.Neighbours)
		}
		for at, j := range row {
			if j < 0 || int(j) >= n || at > 0 && j <= row[at-1] {
				return nil, fmt.Errorf("row %d of the local graph has item %d at place %d, "+
					"want items from 0 to %d, ascending", i, j, at, n-1)
			}
		}
	}
	for at, x := range value {
		if !(x >= 0 && x <= maxValue) {
			return nil, fmt.Errorf("value %d of the local graph is %v, want 0 to %v",
				at, x, float32(maxValue))
		}
	}
	g.setFades(s)
	return g, nil
}

// maxValue bounds T_ij, so that sums of a user stay far from the end of float32.
const maxValue = 1e30

func (g *Graph) setFades(s *Spec) {
	g.columns = new(columns)
	g.fades = make([]float32, s.Events)
	fade := float32(1)
	for p := range g.fades {
		g.fades[p] = fade
		fade *= float32(s.Fade) // float32 products, not powers: equal in all bits everywhere
	}
}

// Graph returns T for the constants of s. Their Neighbours must not be above those of [Count].
func (c *Successions) Graph(s *Spec) *Graph {
	source, target := powers(c.degrees, s.SourceExponent), powers(c.degrees, s.TargetExponent)
	rows := make([][]entry, c.n)
	parallel.Tasks(c.n, func(i int) { rows[i] = c.row(i, s, source[i]*s.Weight, target) })
	g := fromRows(rows)
	g.setFades(s)
	return g
}

// fromRows returns a graph of the given rows, without fades.
func fromRows(rows [][]entry) *Graph {
	n := len(rows)
	g := &Graph{Ptr: make([]int64, n+1)}
	for i, row := range rows {
		g.Ptr[i+1] = g.Ptr[i] + int64(len(row))
	}
	g.Item, g.Value = make([]int32, 0, g.Ptr[n]), make([]float32, 0, g.Ptr[n])
	for _, row := range rows {
		for _, e := range row {
			g.Item, g.Value = append(g.Item, e.item), append(g.Value, e.value)
		}
	}
	return g
}

type entry struct {
	item  int32
	value float32
}

// row returns row i of the graph.
func (c *Successions) row(i int, s *Spec, scale float64, target []float64) []entry {
	pairs := c.pairs[c.ptr[i]:c.ptr[i+1]]
	row, values := make([]entry, 0, len(pairs)), make([]float32, 0, len(pairs))
	for _, p := range pairs {
		sum := float64(p.after) + float64(s.Backward*float64(p.before))
		if v := float32(s.counted(sum) * scale * target[p.item]); v > 0 {
			row, values = append(row, entry{p.item, v}), append(values, v)
		}
	}
	return largest(row, values, s.Neighbours)
}

// largest returns up to most entries of a row: its largest values, and of equal ones those of the
// first items. values holds the values of the row and is reordered.
func largest(row []entry, values []float32, most int) []entry {
	if len(row) <= most {
		return row
	}
	least, ties := stat.Nth(values, len(values)-most), 0
	for _, v := range values[len(values)-most:] {
		if v == least { // of which as many are kept
			ties++
		}
	}
	kept := row[:0]
	for _, e := range row {
		if e.value == least {
			if ties == 0 {
				continue
			}
			ties--
		}
		if e.value >= least {
			kept = append(kept, e)
		}
	}
	return kept
}

// Events is the number of events of a user that count.
func (g *Graph) Events() int { return len(g.fades) }

// More returns the part of an extended graph that [Graph.Extend] added, nil for none. The graph is
// the sum of its own rows and those of the part.
func (g *Graph) More() *Graph { return g.more }

// Weight returns T_ij, 0 for items that the graph does not have.
func (g *Graph) Weight(i, j int32) float32 {
	for part := g; part != nil; part = part.more {
		if int(i) >= len(part.Ptr)-1 {
			continue
		}
		items, values := part.Row(i)
		if at, found := slices.BinarySearch(items, j); found {
			return values[at]
		}
	}
	return 0
}

// Row returns the neighbours of item i and their T_ij, without those of More. Not to be changed.
func (g *Graph) Row(i int32) (items []int32, values []float32) {
	return g.Item[g.Ptr[i]:g.Ptr[i+1]], g.Value[g.Ptr[i]:g.Ptr[i+1]]
}

// Factor returns a^p·w, the factor of the row of an event of weight w that is p events old; 0 for
// an event that does not count any more.
func (g *Graph) Factor(p int, w float32) float32 {
	if p >= len(g.fades) {
		return 0
	}
	return g.fades[p] * w
}

// Sum is the memory in which the local term of one user is added up. It is not safe for concurrent
// use.
type Sum struct {
	values []float32 // n, zero between calls
	marked []bool    // n: the item is in items
	items  []int32
}

// NewSum returns a sum for graphs of n items, arrivals included.
func NewSum(n int) *Sum { return &Sum{values: make([]float32, n), marked: make([]bool, n)} }

// BoostsTo appends the local term b of the newest events of a user to dst, and returns it: each
// item that it has a number for, once. recent holds the events, the newest one last; items beyond
// the graph have no row. The numbers are added in the order of the events, oldest first.
func (g *Graph) BoostsTo(
	dst []ranking.Boost, recent []kalman.Recent, s *Sum,
) []ranking.Boost {
	for at, e := range recent {
		factor := g.Factor(len(recent)-1-at, e.Weight)
		if factor == 0 {
			continue
		}
		g.addRow(s, e.Item, factor)
		if g.more != nil {
			g.more.addRow(s, e.Item, factor)
		}
	}
	for _, j := range s.items {
		dst = append(dst, ranking.Boost{Item: j, Score: s.values[j]})
		s.values[j], s.marked[j] = 0, false
	}
	s.items = s.items[:0]
	return dst
}

// addRow adds a multiple of row i to s. Items beyond the graph have no row.
func (g *Graph) addRow(s *Sum, i int32, factor float32) {
	if int(i) >= len(g.Ptr)-1 {
		return
	}
	items, values := g.Row(i)
	for k, j := range items {
		if !s.marked[j] {
			s.marked[j] = true
			s.items = append(s.items, j)
		}
		s.values[j] += float32(factor * values[k])
	}
}
