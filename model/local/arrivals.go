package local

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// Arrivals counts the successions between new items, the arrivals, and all items, in order to give
// a graph the rows and columns of items that it does not know. It is not safe for concurrent use.
//
// The histories are a sample: r users of the training stand behind each. So r·F is the expected
// number of all successions. It is too noisy for pairs that were seen once or twice, and a row
// keeps its largest numbers, which would be those of the luckiest pairs. With f_u the part of
// history u in F = Σ_u f_u, the estimate is
//
//	r √(F² − Σ_u f_u² + Σ_u f_u²/r)
//
// The parts that the histories have in common add up. The squares of the parts in which they differ
// add up, and are r times too large in a sample. A pair that was seen in many histories has about
// r·F, and one that was seen once has √r·F. The estimate is r·F for r ≤ 1.
type Arrivals struct {
	spec    Spec
	degrees []int64                // n
	ids     []string               // those of others included
	near    []map[int32]succession // of each arrival to be placed, by the index of the other item
	weights [MaxGap + 1]float32
}

// succession sums up over the histories with arrival i and item j. A history has each item once, so
// it adds to F_ij or to F_ji.
type succession struct {
	after, before               float32 // F_ij, F_ji
	afterSquares, beforeSquares float32 // Σ_u f_u² of both
}

// NewArrivals returns empty counts of the items with these ids. spec holds the constants of the
// graph, degrees the numbers of training users of the n items that it knows. Arrival i has the
// index n+i in histories. others are the ids of further new items, which are neighbours but are not
// placed; their indices follow. It keeps degrees, which must not change.
func NewArrivals(spec *Spec, degrees []int64, ids, others []string) *Arrivals {
	return &Arrivals{
		spec: *spec, degrees: degrees, ids: slices.Concat(ids, others),
		near: make([]map[int32]succession, len(ids)), weights: gapWeights(),
	}
}

// Add takes in a user's history: item indices in the order of time, each at most once. A negative
// index stands for any other item. O(length + MaxGap·arrivals in it).
func (a *Arrivals) Add(history []int32) {
	n := int32(len(a.degrees))
	for at, i := range history {
		if i < n || int(i-n) >= len(a.near) {
			continue
		}
		if a.near[i-n] == nil {
			a.near[i-n] = map[int32]succession{}
		}
		near := a.near[i-n]
		for g := 1; g <= MaxGap; g++ {
			w := a.weights[g]
			if p := at + g; p < len(history) && history[p] >= 0 {
				x := near[history[p]]
				x.after += w
				x.afterSquares += float32(w * w)
				near[history[p]] = x
			}
			if p := at - g; p >= 0 && history[p] >= 0 {
				x := near[history[p]]
				x.before += w
				x.beforeSquares += float32(w * w)
				near[history[p]] = x
			}
		}
	}
}

// Arrival is the local term of a new item, from [Arrivals.Place].
type Arrival struct {
	id             string
	source, target float64 // the powers of its degree by the two exponents
	row            []entry // T_ij for the known items j of the largest
	column         []entry // T_ji likewise

	others []acquaintance
}

// acquaintance is what an arrival i tells of another one, j.
type acquaintance struct {
	id          string  // of j
	row, column float32 // estimates of F_ij + β F_ji − δ and of F_ji + β F_ij − δ
}

// The bounds of an Arrival, for each item that a row of the graph may have.
const (
	sourcesPerNeighbour = 10 // entries of the column
	othersPerNeighbour  = 2  // other arrivals
)

// Place returns arrival i. degree is the number of its users at the scale of the training, and
// sample = r the number of users of the training that stand behind each history. part is that of
// all estimates which counts: by which the item's row was shortened for what its users have in
// common beside it.
func (a *Arrivals) Place(i int, degree int64, sample, part float64) Arrival {
	n, s := int32(len(a.degrees)), &a.spec
	out := Arrival{id: a.ids[i],
		source: power(degree, s.SourceExponent), target: power(degree, s.TargetExponent)}
	source, target := s.Weight*out.source, s.Weight*out.target
	for _, j := range slices.Sorted(maps.Keys(a.near[i])) {
		x := a.near[i][j]
		row, column := x.estimates(s.Backward, sample)
		row, column = s.counted(row)*part, s.counted(column)*part
		switch {
		case j >= n && j != n+int32(i):
			o := acquaintance{a.ids[j-n], bounded(row), bounded(column)}
			out.others = append(out.others, o)
		case j < n:
			row *= source * power(a.degrees[j], s.TargetExponent)
			column *= target * power(a.degrees[j], s.SourceExponent)
			out.row = append(out.row, entry{j, bounded(row)})
			out.column = append(out.column, entry{j, bounded(column)})
		}
	}
	out.row = strongest(out.row, s.Neighbours)
	out.column = strongest(out.column, sourcesPerNeighbour*s.Neighbours)
	out.others = closest(out.others, othersPerNeighbour*s.Neighbours)
	return out
}

// bounded returns x, which is at least 0, as a value that a graph may have.
func bounded(x float64) float32 { return float32(min(x, maxValue)) }

// estimates returns the estimates of F_ij + β F_ji and of F_ji + β F_ij among all users of the
// training.
func (x *succession) estimates(backward, sample float64) (row, column float64) {
	after, before := float64(x.after), float64(x.before)
	afterSquares, beforeSquares := float64(x.afterSquares), float64(x.beforeSquares)
	squared := backward * backward
	// Products are rounded before they are added: the digest of an extension covers the estimates.
	return estimate(after+float64(backward*before),
			afterSquares+float64(squared*beforeSquares), sample),
		estimate(before+float64(backward*after),
			beforeSquares+float64(squared*afterSquares), sample)
}

// estimate returns r √(F² − own + own/r) for the sum F and own = Σ_u f_u².
func estimate(sum, own, sample float64) float64 {
	if sample <= 1 {
		return sample * sum
	}
	square := float64(sum * sum)
	own = min(own, square)
	return sample * math.Sqrt(square-own+own/sample)
}

// strongest returns up to most entries of the largest values above 0. The entries are by item.
func strongest(all []entry, most int) []entry {
	all = slices.DeleteFunc(all, func(e entry) bool { return !(e.value > 0) })
	values := make([]float32, len(all))
	for at, e := range all {
		values[at] = e.value
	}
	return slices.Clip(largest(all, values, most))
}

// closest returns up to most of the other arrivals that are next to one most.
func closest(all []acquaintance, most int) []acquaintance {
	if len(all) > most {
		slices.SortFunc(all, func(a, b acquaintance) int {
			return cmp.Or(cmp.Compare(b.row+b.column, a.row+a.column), cmp.Compare(a.id, b.id))
		})
		all = all[:most]
	}
	return slices.Clip(all)
}

// Extend returns the graph with further rows n, n+1, … for the arrivals, which must be placed for
// this graph and for the constants of s. A row of an item that g knows keeps its entries, and gains
// up to Neighbours entries for arrivals. The row of an arrival has up to Neighbours entries. The
// graph shares the memory of g. Entries of arrivals that are not among the given ones are left out.
func (g *Graph) Extend(s *Spec, arrivals []Arrival) *Graph {
	n := len(g.Ptr) - 1
	rows := make([][]entry, n+len(arrivals))
	for at, a := range arrivals {
		rows[n+at] = slices.Clone(a.row)
		for _, e := range a.column {
			rows[e.item] = append(rows[e.item], entry{int32(n + at), e.value})
		}
	}
	for pair, sum := range meetings(arrivals) {
		from, to := &arrivals[pair[0]], &arrivals[pair[1]]
		value := s.Weight * float64(sum) * from.source * to.target
		rows[n+pair[0]] = append(rows[n+pair[0]], entry{int32(n + pair[1]), bounded(value)})
	}
	for i := range rows {
		slices.SortFunc(rows[i], func(a, b entry) int { return cmp.Compare(a.item, b.item) })
		rows[i] = strongest(rows[i], s.Neighbours)
	}
	x := *g
	x.more = fromRows(rows)
	return &x
}

// meetings returns F_ij + β F_ji − δ for the pairs i, j of arrivals that have met. Where both tell
// a number the smaller one counts: histories that were read for the sake of the other item make a
// number larger, never smaller.
func meetings(arrivals []Arrival) map[[2]int]float32 {
	place := make(map[string]int, len(arrivals))
	for at := range arrivals {
		place[arrivals[at].id] = at
	}
	sums := map[[2]int]float32{}
	meet := func(from, to int, sum float32) {
		if other, known := sums[[2]int{from, to}]; known {
			sum = min(sum, other)
		}
		sums[[2]int{from, to}] = sum
	}
	for at := range arrivals {
		for _, o := range arrivals[at].others {
			if to, given := place[o.id]; given {
				meet(at, to, o.row)
				meet(to, at, o.column)
			}
		}
	}
	return sums
}
