package local

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// An ArrivalTable holds a number m of arrivals as arrays, in the form of a file.
type ArrivalTable struct {
	Source, Target []float64 // m, the powers of the degrees
	Rows, Columns  Entries   // of known items
	Others         Entries   // of other arrivals, by their places in Names; the values of rows
	OtherColumns   []float32 // beside Others.Value, those of columns
	Names          []string  // ascending bytewise, distinct
}

// Entries are lists of numbered values, one list for each arrival.
type Entries struct {
	Ptr   []int64 // m+1: list i is [Ptr[i], Ptr[i+1])
	Item  []int32
	Value []float32
}

func newEntries() Entries { return Entries{Ptr: []int64{0}} }

// end ends the list of one arrival.
func (e *Entries) end() { e.Ptr = append(e.Ptr, int64(len(e.Item))) }

func (e *Entries) add(item int32, value float32) {
	e.Item, e.Value = append(e.Item, item), append(e.Value, value)
}

// TableOf returns the table of the arrivals.
func TableOf(arrivals []Arrival) *ArrivalTable {
	place := map[string]int32{}
	for i := range arrivals {
		for _, o := range arrivals[i].others {
			place[o.id] = 0
		}
	}
	t := &ArrivalTable{Rows: newEntries(), Columns: newEntries(), Others: newEntries(),
		Names: slices.Sorted(maps.Keys(place))}
	for at, name := range t.Names {
		place[name] = int32(at)
	}
	for i := range arrivals {
		a := &arrivals[i]
		t.Source, t.Target = append(t.Source, a.source), append(t.Target, a.target)
		for _, e := range a.row {
			t.Rows.add(e.item, e.value)
		}
		for _, e := range a.column {
			t.Columns.add(e.item, e.value)
		}
		for _, o := range a.others {
			t.Others.add(place[o.id], o.row)
			t.OtherColumns = append(t.OtherColumns, o.column)
		}
		t.Rows.end()
		t.Columns.end()
		t.Others.end()
	}
	return t
}

// Arrivals returns the arrivals of the table, which have these ids, for a graph of n items with the
// constants of s. It is an error if they could not be such, as the bounds of lists and values are.
func (t *ArrivalTable) Arrivals(s *Spec, n int, ids []string) ([]Arrival, error) {
	if len(t.Source) != len(ids) || len(t.Target) != len(ids) {
		return nil, fmt.Errorf("%d items have %d and %d powers", len(ids), len(t.Source),
			len(t.Target))
	}
	if len(t.OtherColumns) != len(t.Others.Item) {
		return nil, fmt.Errorf("%d neighbours have %d values", len(t.Others.Item),
			len(t.OtherColumns))
	}
	for _, list := range []struct {
		what        string
		e           *Entries
		items, most int
	}{
		{"row", &t.Rows, n, s.Neighbours},
		{"column", &t.Columns, n, sourcesPerNeighbour * s.Neighbours},
		{"neighbours", &t.Others, len(t.Names), othersPerNeighbour * s.Neighbours},
	} {
		if err := list.e.check(len(ids), list.items, list.most); err != nil {
			return nil, fmt.Errorf("the %s of a new item: %w", list.what, err)
		}
	}
	arrivals := make([]Arrival, len(ids))
	for i, id := range ids {
		if !isPower(t.Source[i]) || !isPower(t.Target[i]) {
			return nil, fmt.Errorf("new item %d has the powers %v and %v", i, t.Source[i],
				t.Target[i])
		}
		arrivals[i] = Arrival{id: id, source: t.Source[i], target: t.Target[i],
			row: t.Rows.list(i), column: t.Columns.list(i)}
		for at := t.Others.Ptr[i]; at < t.Others.Ptr[i+1]; at++ {
			row, column := t.Others.Value[at], t.OtherColumns[at]
			if !isValue(column) {
				return nil, fmt.Errorf("a neighbour of a new item has the value %v", column)
			}
			arrivals[i].others = append(arrivals[i].others,
				acquaintance{t.Names[t.Others.Item[at]], row, column})
		}
	}
	return arrivals, nil
}

// list returns list i.
func (e *Entries) list(i int) []entry {
	list := make([]entry, 0, e.Ptr[i+1]-e.Ptr[i])
	for at := e.Ptr[i]; at < e.Ptr[i+1]; at++ {
		list = append(list, entry{e.Item[at], e.Value[at]})
	}
	return list
}

// check checks m lists of items below n, each of at most most different ones.
func (e *Entries) check(m, n, most int) error {
	if len(e.Ptr) != m+1 || e.Ptr[0] != 0 || e.Ptr[m] != int64(len(e.Item)) ||
		len(e.Item) != len(e.Value) {
		return fmt.Errorf("%d numbers and %d values are not those of %d lists", len(e.Item),
			len(e.Value), m)
	}
	seen := map[int32]bool{}
	for i := range m {
		from, to := e.Ptr[i], e.Ptr[i+1]
		if from > to || to > int64(len(e.Item)) || to-from > int64(most) {
			return fmt.Errorf("list %d runs from %d to %d, want at most %d of %d entries", i, from,
				to, most, len(e.Item))
		}
		clear(seen)
		for at := from; at < to; at++ {
			if j := e.Item[at]; j < 0 || int(j) >= n || seen[j] {
				return fmt.Errorf("list %d has %d, want different numbers from 0 to %d", i, j, n-1)
			}
			if !isValue(e.Value[at]) {
				return fmt.Errorf("list %d has the value %v, want 0 to %v", i, e.Value[at],
					float32(maxValue))
			}
			seen[e.Item[at]] = true
		}
	}
	return nil
}

func isValue(x float32) bool { return x >= 0 && x <= maxValue }

func isPower(x float64) bool { return x >= 0 && x <= math.MaxFloat32 }
