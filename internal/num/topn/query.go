package topn

import (
	"math"
	"slices"

	"github.com/gsimc/gsimc/internal/num/vec"
)

// query is a query, of which the integers are made when the first block is read.
type query struct {
	norm     float64   // ‖x‖, rounded up, with room for the rounding of scores
	plain    []float32 // x
	maxDigit int       // largest |h|

	ready   bool
	rotated []float64 // Q x
	numbers []int16   // h, of 16 bits or of 8
	digits  vec.Digits
	bounds  vec.Bounds // of one block; Scale, Error and Margin are set as the scan goes on
	error   float32    // (1 + e_max) f + ρ‖x‖, with room for the rounding of a product
}

// set takes x, which is kept, for numbers up to maxDigit. It returns false if the bound does not
// hold for x, which then needs the float32 scan.
func (q *query) set(ix *Index, x []float32, maxDigit int) bool {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	length := math.Sqrt(sum)
	q.plain, q.maxDigit, q.ready = x, maxDigit, false
	q.norm = length * (1 + 2*rounding(ix.k))
	q.bounds.Norm = up(length)
	return length >= shortest && length <= longest // not NaN
}

// rounding is ρ.
func rounding(k int) float64 { return float64(vec.DotRoundings(k)+64) * 0x1p-24 }

// prepare makes the integers, unless there are some.
func (q *query) prepare(ix *Index) {
	if q.ready {
		return
	}
	q.rotated = slices.Grow(q.rotated[:0], len(q.plain))[:len(q.plain)]
	v := q.rotated
	for j, w := range q.plain {
		v[j] = float64(w)
	}
	ix.rotation.apply(v)
	step := float32(largest(v) / float64(q.maxDigit))
	missing := q.quantise(ix, v, step, q.maxDigit)
	q.error = up((missing*(1+ix.relative) + rounding(ix.k)*q.norm) * (1 + 0x1p-22))
	q.bounds.Step, q.ready = step, true
}

// quantise stores the numbers of x for a step and returns f.
func (q *query) quantise(ix *Index, x []float64, step float32, maxDigit int) float64 {
	if cap(q.numbers) < ix.columns {
		q.numbers = make([]int16, ix.columns)
	}
	q.numbers = q.numbers[:ix.columns]
	clear(q.numbers[len(x):])
	t, most, sum := float64(step), float64(maxDigit), 0.0
	inverse := 1 / t
	for j, v := range x {
		h := min(max(math.RoundToEven(v*inverse), -most), most)
		q.numbers[j] = int16(h)
		d := v - t*h
		sum += d * d
	}
	q.digits.Set(q.numbers)
	return math.Sqrt(sum)
}
