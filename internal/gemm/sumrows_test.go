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
			rng := rand.New(rand.NewPCG(13, 14))
			x := guarded[float64](rng, 7, StripWidth, 0)
			for _, rows := range [][]int32{nil, {0}, {6}, {3, 3}, {5, 0, 6, 1, 2, 4, 3, 0}} {
				dst := guarded[float64](rng, 1, StripWidth, 0)
				want := make([]float64, StripWidth)
				for _, r := range rows {
					for j := range want {
						want[j] += at(x, Plain, int(r), j)
					}
				}
				SumRows(dst.Data, x.Data, rows)
				checkGuards(t, fmt.Sprint(rows), dst)
				if !slices.Equal(dst.Data, want) {
					t.Errorf("rows %v: %v, want %v", rows, dst.Data, want)
				}
			}
		})
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
	x := benchMatrix[float64](1<<14, StripWidth)
	rows := make([]int32, 256)
	for i := range rows {
		rows[i] = int32(i * 7919 % x.Rows)
	}
	dst := make([]float64, StripWidth)
	for b.Loop() {
		SumRows(dst, x.Data, rows)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(rows)), "ns/row")
}
