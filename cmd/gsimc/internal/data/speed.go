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
// kinds of work are not measured. Other load on the machine lowers both.
func MeasuredSpeed() (operations, faster float64) {
	const n = 1024 // rows and columns
	square := func() gemm.Matrix[float32] {
		return gemm.Matrix[float32]{Rows: n, Cols: n, Stride: n, Data: make([]float32, n*n)}
	}
	a, b, c := square(), square(), square()
	for i := range a.Data {
		a.Data[i], b.Data[i] = 1, 1
	}
	multiply := func() { gemm.MulAdd(c, 1, gemm.Plain, a, gemm.Plain, b) }
	multiply() // memory is there, and the processor awake
	times, begin := 0.0, time.Now()
	for time.Since(begin) < measuringTime {
		multiply()
		times++
	}
	operations = times * 2 * n * n * n / time.Since(begin).Seconds()
	return operations, operations / cost.Single
}
