package local

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// The columns of a graph hold what its rows hold.
func TestColumns(t *testing.T) {
	const n = 60
	rng := rand.New(rand.NewPCG(1, 2))
	rows := make([][]entry, n)
	for i := range rows {
		for j := range int32(n) {
			if rng.IntN(6) == 0 {
				rows[i] = append(rows[i], entry{j, rng.Float32()})
			}
		}
	}
	g := fromRows(rows)
	g.columns = new(columns)
	total := 0
	for j := range int32(n) {
		items, values := g.column(j)
		if !slices.IsSorted(items) {
			t.Errorf("column %d has the items %v", j, items)
		}
		for at, i := range items {
			if got, want := g.Weight(i, j), values[at]; got != want {
				t.Errorf("column %d, row %d: %v, want %v", j, i, got, want)
			}
		}
		total += len(items)
	}
	if want := len(g.Item); total != want {
		t.Errorf("entries in the columns: %v, want %v", total, want)
	}
}

// A sum of lists that is merged has the bits of one whose entries are sorted by column first; in
// both, the entries of a column are added in the order of the lists.
func TestSum(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var all, got []entry
		for range rng.IntN(11) {
			i, by := int32(rng.IntN(40)), 2*rng.Float64()
			var items []int32
			var values []float32
			most := float32(0)
			for j := range int32(40) {
				if j != i && rng.IntN(3) == 0 {
					items, values = append(items, j), append(values, maxValue*rng.Float32())
					all = append(all, entry{j, bounded(float64(values[len(values)-1]) * by)})
					most = max(most, values[len(values)-1])
				}
			}
			all = append(all, entry{i, bounded(float64(most) * by)})
			got = sum(got, scaled(i, items, values, by))
		}
		slices.SortStableFunc(all, func(a, b entry) int { return int(a.item - b.item) })
		var want []entry
		for _, e := range all {
			if last := len(want) - 1; last >= 0 && want[last].item == e.item {
				want[last].value = min(want[last].value+e.value, maxValue)
			} else {
				want = append(want, e)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: the sums are %v, want %v", seed, got, want)
		}
	}
}

// Ten popular neighbours, half of which rows have.
func BenchmarkBorrow(b *testing.B) {
	const n, popular = 75_000, 10
	rows := make([][]entry, n)
	rng := rand.New(rand.NewPCG(4, 5))
	for i := range rows {
		for j := range int32(popular) {
			if rng.IntN(2) == 0 {
				rows[i] = append(rows[i], entry{j, rng.Float32()})
			}
		}
	}
	g, s := fromRows(rows), Default()
	g.columns = new(columns)
	var of []Share
	for j := range int32(popular) {
		of = append(of, Share{j, 0.1})
	}
	g.column(0)
	for b.Loop() {
		g.Borrow("new", &s, 5, 1, of)
	}
}

// A borrowed arrival has no more entries than others, and no number that a graph may not have.
func TestBorrowWithinBounds(t *testing.T) {
	const n = 2000
	s := Default()
	s.Neighbours, s.Weight = 3, 1
	rows := make([][]entry, n)
	for i := range rows {
		for j := range int32(3) {
			rows[i] = append(rows[i], entry{(int32(i) + 1 + 7*j) % n, maxValue})
		}
		rows[i] = append(rows[i], entry{0, maxValue}) // a popular one
		slices.SortFunc(rows[i], func(a, b entry) int { return int(a.item) - int(b.item) })
	}
	g := fromRows(rows)
	g.columns = new(columns)
	var of []Share
	for j := range int32(10) {
		of = append(of, Share{j, 1})
	}
	a := g.Borrow("new", &s, 5, 2, of)
	if len(a.row) > 3 || len(a.column) > 30 || len(a.column) < 30 {
		t.Errorf("%d entries of the row, %d of the column", len(a.row), len(a.column))
	}
	if _, err := TableOf([]Arrival{a}).Arrivals(&s, n, []string{"new"}); err != nil {
		t.Error(err)
	}
	own := Arrival{id: "new", row: a.row[:1], column: a.column,
		others: []acquaintance{{"x", maxValue, 1}}}
	mixed := own.Mix(&a, 0.25, &s)
	if _, err := TableOf([]Arrival{mixed}).Arrivals(&s, n, []string{"new"}); err != nil {
		t.Error(err)
	}
	if mixed.others[0].column != 0.75 || own.others[0].column != 1 {
		t.Errorf("others %+v, own %+v", mixed.others, own.others)
	}
}
