package gemm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestAddRows(t *testing.T) {
	for _, kern := range adders() {
		t.Run(kern.name, func(t *testing.T) {
			before := addInUse
			defer func() { addInUse = before }()
			addInUse = kern
			for _, width := range []int{1, StripWidth - 1, StripWidth, StripWidth + 1, 2 * StripWidth, 3 * StripWidth} {
				testAddRows[float64](t, width)
				testAddRows[float32](t, width)
			}
		})
	}
}

func testAddRows[T Float](t *testing.T, width int) {
	rng := rand.New(rand.NewPCG(15, 16))
	for _, rows := range [][]int32{nil, {0}, {6}, {3, 3}, {5, 0, 6, 1, 2, 4, 3, 0}} {
		strip, x := guarded[T](rng, 7, width, 0), guarded[T](rng, 1, width, 0)
		want := slices.Clone(strip.Data)
		for _, r := range rows {
			for j := range width {
				want[int(r)*width+j] += T(at(x, Plain, 0, j))
			}
		}
		AddRows(strip.Data, x.Data, rows)
		checkGuards(t, fmt.Sprint(rows), strip)
		if !slices.Equal(strip.Data, want[:len(strip.Data)]) {
			t.Errorf("width %d, rows %v: %v, want %v", width, rows, strip.Data, want)
		}
	}
}

func TestAddRowsOutsidePanics(t *testing.T) {
	for _, r := range []int32{-1, 2} {
		strip := make([]float32, 2*StripWidth)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("row %d of 2: no panic", r)
				}
			}()
			x := make([]float32, StripWidth)
			x[0] = 1
			AddRows(strip, x, []int32{0, r})
		}()
		if strip[0] != 0 {
			t.Errorf("row %d of 2: written before it was noticed", r)
		}
	}
}

func BenchmarkAddRows(b *testing.B) {
	strip, x := benchMatrix[float32](1<<14, StripWidth), benchMatrix[float32](1, StripWidth)
	rows := make([]int32, 256)
	for i := range rows {
		rows[i] = int32(i * 7919 % strip.Rows)
	}
	for b.Loop() {
		AddRows(strip.Data, x.Data, rows)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(rows)), "ns/row")
}
