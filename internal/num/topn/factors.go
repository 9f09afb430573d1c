package topn

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/internal/num/vec"
)

// Times returns an index of the same rows, whose gains are those of x times the factors. These must
// be above 0, and the products finite. The numbers of the copies are those of x, in another order:
// the integers of a row are the same with any gain. Its memory is of the Go heap. x must not be
// closed meanwhile. O(nk), on all processors, and much faster than New; O(n) with the factors of
// the call before. It keeps the slice, which must not change.
func (x *Index) Times(factors []float32) *Index {
	if len(factors) != x.n {
		panic(fmt.Sprintf("topn: %d factors, want %d", len(factors), x.n))
	}
	if y := x.times.last.Load(); y != nil && slices.Equal(y.times.factors, factors) {
		return y
	}
	y := x.multiply(factors)
	y.times.factors = factors
	x.times.last.Store(y)
	return y
}

// multiple is what [Index.Times] has made of an index, and what it was made by.
type multiple struct {
	last    atomic.Pointer[Index]
	factors []float32
}

// multiply is Times, always anew.
func (x *Index) multiply(factors []float32) *Index {
	y := &Index{rows: x.rows, gain: make([]float32, x.n), n: x.n, k: x.k, first: x.first,
		rotation: x.rotation, relative: x.relative + factorRounding}
	y.searches.New = func() any { return new(search) }
	y.norms = make([]float64, len(x.norms))
	for i, f := range factors {
		y.gain[i] = x.gain[i] * f
		if x.quantised {
			y.norms[i] = x.norms[i] * ratio(y.gain[i], x.gain[i]) * (1 + 0x1p-50)
		}
	}
	if !x.quantised || slices.Max(y.norms) > longest {
		return y
	}
	y.quantised = true
	y.layOut(x.five.numbers != nil, func(size int) []byte { return make([]byte, size) })
	parallel.Tasks(y.blocks(), func(b int) { y.takeBlock(b, x) })
	return y
}

// factorRounding bounds, as a part of the row, what the rounding of its new step adds to its error:
// ‖c‖ times half of a unit in the last place of the step.
const factorRounding = 0x1p-22

// ratio is a/b, and 1 if both are 0.
func ratio(a, b float32) float64 {
	if b == 0 {
		return 1
	}
	return float64(a) / float64(b)
}

// takeBlock makes the rows of block b from those of another index. Steps and errors are in
// proportion to the gain of the row, but for roundings.
func (x *Index) takeBlock(b int, from *Index) {
	for row := b * vec.BlockRows; row < min((b+1)*vec.BlockRows, x.n); row++ {
		i := x.row[row]
		was, f := int(from.place[i]), ratio(x.gain[i], from.gain[i])
		more := x.norms[i]*factorRounding + underflow(x.k, float64(x.gain[i]))
		x.bytes.takeRow(row, &from.bytes, was, f, more, vec.CopyBlockRow)
		if x.five.numbers != nil {
			x.five.takeRow(row, &from.five, was, f, more, vec.CopyFiveBitRow)
		}
	}
}

// takeRow makes a row from a row of another copy times f, by a function that copies its numbers
// from block to block. more is added to its error.
func (c *copied) takeRow(row int, from *copied, was int, f, more float64,
	numbers func(to []byte, r int, from []byte, s int),
) {
	c.scale[row] = float32(f * float64(from.scale[was]))
	c.slack[row] = up(f*float64(from.slack[was]) + more)
	numbers(c.block(row/vec.BlockRows), row%vec.BlockRows,
		from.block(was/vec.BlockRows), was%vec.BlockRows)
}

// Gains are those of the rows. Not to be changed.
func (x *Index) Gains() []float32 { return x.gain }
