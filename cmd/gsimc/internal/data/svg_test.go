package data

import (
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gsimc/gsimc/internal/chart"
	"github.com/gsimc/gsimc/internal/test/check"
)

func TestSmooth(t *testing.T) {
	y := make([]float64, 20)
	for i := range y {
		y[i] = float64(i)
	}
	// single ones up to the 8th; 9 and 10, …, 15 and 16; from the 17th on three at a time
	want := []chart.Point{
		{X: 1}, {X: 2, Y: 1}, {X: 3, Y: 2}, {X: 4, Y: 3}, {X: 5, Y: 4}, {X: 6, Y: 5}, {X: 7, Y: 6},
		{X: 8, Y: 7}, {X: 9.5, Y: 8.5}, {X: 11.5, Y: 10.5}, {X: 13.5, Y: 12.5}, {X: 15.5, Y: 14.5},
		{X: 18, Y: 17}, {X: 20, Y: 19},
	}
	check.SameBy(t, cmpopts.EquateApprox(1e-6, 0), want, Smooth(y), "points")
}
