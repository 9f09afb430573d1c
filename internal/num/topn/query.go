package topn

import (
	"math"
	"slices"

	"github.com/gsimc/gsimc/internal/num/vec"
)

// query is a query in integers, ready for the scan of an index.
type query struct {
	rotated []float64 // Q x
	numbers []int16   // h, of 16 bits or of 8
	digits  vec.Digits
	bounds  vec.Bounds // of one block; Scale, Error and Margin are set as the scan goes on
	norm    float64    // ‖x‖, rounded up, with room for the rounding of scores
	error   float32    // (1 + e_max) f + ρ‖x‖, with room for the rounding of a product
}

// set prepares x, with numbers up to maxDigit. It returns false if the bound does not hold for x,
// which then needs the float32 scan.
func (q *query) set(ix *Index, x []float32, maxDigit int) bool {
	q.rotated = slices.Grow(q.rotated[:0], len(x))[:len(x)]
	v := q.rotated
	for j, w := range x {
		v[j] = float64(w)
	}
	ix.rotation.apply(v)
	length := norm(v)
	if !(length >= shortest && length <= longest) { // NaN too
		return false
	}
	step := float32(largest(v) / float64(maxDigit))
	missing := q.quantise(ix, v, step, maxDigit)
	rounding := float64(vec.DotRoundings(ix.k)+64) * 0x1p-24
	q.norm = length * (1 + 2*rounding)
	q.error = up((missing*(1+ix.relative) + rounding*length) * (1 + 0x1p-22))
	q.bounds.Step, q.bounds.Norm = step, up(length)
	return true
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
