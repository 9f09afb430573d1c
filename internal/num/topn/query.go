package topn

import (
	"math"

	"github.com/gsimc/gsimc/internal/num/vec"
)

// query is a query in integers, ready for the scan of an index.
type query struct {
	numbers  []int16 // h, of 16 bits or of 8
	digits   vec.Digits
	bounds   vec.Bounds // of one block; Scale, Error and Margin are set as the scan goes on
	norm     float64    // ‖x‖, rounded up, with room for the rounding of scores
	oneDigit bool       // the numbers have 8 bits
	error    float32    // (1 + e_max) f + ρ‖x‖, with room for the rounding of a product
}

// set prepares x, with numbers up to maxDigit. It returns false if the bound does not hold for x,
// which then needs the float32 scan.
func (q *query) set(ix *Index, x []float32, maxDigit int) bool {
	norm, largest := 0.0, 0.0
	for _, v := range x {
		w := float64(v)
		norm += w * w
		largest = max(largest, math.Abs(w))
	}
	norm = math.Sqrt(norm)
	if !(norm >= shortest && norm <= longest) { // NaN too
		return false
	}
	q.oneDigit = maxDigit <= vec.SmallDigit
	step := float32(largest / float64(maxDigit))
	missing := q.quantise(ix, x, step, maxDigit)
	rounding := float64(vec.DotRoundings(ix.k)+64) * 0x1p-24
	q.norm = norm * (1 + 2*rounding)
	q.error = up((missing*(1+ix.relative) + rounding*norm) * (1 + 0x1p-22))
	q.bounds.Step, q.bounds.Norm = step, up(norm)
	return true
}

// quantise stores the numbers of x for a step and returns f.
func (q *query) quantise(ix *Index, x []float32, step float32, maxDigit int) float64 {
	if cap(q.numbers) < ix.columns {
		q.numbers = make([]int16, ix.columns)
	}
	q.numbers = q.numbers[:ix.columns]
	clear(q.numbers[len(x):])
	t, most, sum := float64(step), float64(maxDigit), 0.0
	inverse := 1 / t
	for j, v := range x {
		h := min(max(math.RoundToEven(float64(v)*inverse), -most), most)
		q.numbers[j] = int16(h)
		d := float64(v) - t*h
		sum += d * d
	}
	q.digits.Set(q.numbers)
	return math.Sqrt(sum)
}
