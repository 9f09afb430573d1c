package gemm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSumRows(t *testing.T) {
	for _, kern := range summers() {
		t.Run(kern.name, func(t *testing.T) {
			before := sumInUse
			defer func() { sumInUse = before }()
			sumInUse = kern
			for _, width := range []int{1, StripWidth - 1, StripWidth, StripWidth + 1, 2 * StripWidth, 3 * StripWidth} {
				testSumRows[float64](t, width)
				testSumRows[float32](t, width)
			}
		})
	}
}

func testSumRows[T Float](t *testing.T, width int) {
	rng := rand.New(rand.NewPCG(13, 14))
	x := guarded[T](rng, 7, width, 0)
	for _, rows := range [][]int32{nil, {0}, {6}, {3, 3}, {5, 0, 6, 1, 2, 4, 3, 0}} {
		dst := guarded[T](rng, 1, width, 0)
		want := make([]T, width)
		for _, r := range rows {
			for j := range want {
				want[j] += T(at(x, Plain, int(r), j))
			}
		}
		SumRows(dst.Data, x.Data, rows)
		checkGuards(t, fmt.Sprint(rows), dst)
		if !slices.Equal(dst.Data, want) {
			t.Errorf("width %d, rows %v: %v, want %v", width, rows, dst.Data, want)
		}
	}
}

func TestSumRowsOutsidePanics(t *testing.T) {
	for _, r := range []int32{-1, 2} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("row %d of 2: no panic", r)
				}
			}()
			SumRows(make([]float64, StripWidth), make([]float64, 2*StripWidth), []int32{0, r})
		}()
	}
}

func BenchmarkSumRows(b *testing.B) {
	b.Run("float64/width=32", func(b *testing.B) { benchmarkSumRows[float64](b, StripWidth) })
	b.Run("float32/width=32", func(b *testing.B) { benchmarkSumRows[float32](b, StripWidth) })
	b.Run("float32/width=64", func(b *testing.B) { benchmarkSumRows[float32](b, 2*StripWidth) })
}

func benchmarkSumRows[T Float](b *testing.B, width int) {
	x := benchMatrix[T](1<<14, width)
	rows := make([]int32, 256)
	for i := range rows {
		rows[i] = int32(i * 7919 % x.Rows)
	}
	dst := make([]T, width)
	for b.Loop() {
		SumRows(dst, x.Data, rows)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(rows)), "ns/row")
}
