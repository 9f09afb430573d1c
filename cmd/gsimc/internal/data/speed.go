package data

import (
	"time"

	"github.com/gsimc/gsimc/internal/num/cost"
	"github.com/gsimc/gsimc/internal/num/gemm"
)

// measuringTime is how long the speed of this machine is measured.
const measuringTime = 500 * time.Millisecond

// MeasuredSpeed returns how many operations a second all processors of this machine do in matrix
// products of float32. faster is how much faster the machine is than package cost counts; other
// kinds of work are not measured. Other load on the machine halves the mean speed of a product,
// which ends with its slowest part, and slows a training far less. So the fastest product counts,
// and products are short: some of them find all processors free.
func MeasuredSpeed() (operations, faster float64) {
	const n = 512 // rows and columns
	square := func() gemm.Matrix[float32] {
		return gemm.Matrix[float32]{Rows: n, Cols: n, Stride: n, Data: make([]float32, n*n)}
	}
	a, b, c := square(), square(), square()
	for i := range a.Data {
		a.Data[i], b.Data[i] = 1, 1
	}
	for begin := time.Now(); time.Since(begin) < measuringTime; {
		start := time.Now()
		gemm.MulAdd(c, 1, gemm.Plain, a, gemm.Plain, b)
		operations = max(operations, 2*n*n*n/time.Since(start).Seconds())
	}
	return operations, operations / cost.Single
}
