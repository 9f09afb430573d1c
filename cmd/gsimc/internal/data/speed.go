package train

import (
	"time"

	"github.com/gsimc/gsimc/internal/num/gemm"
)

// measuringTime is how long the speed of this machine is measured.
const measuringTime = 500 * time.Millisecond

// measuredSpeed returns how many operations a second all processors of this machine do in matrix
// products of float32. Over [cost.Single] it is how much faster the machine is than package cost
// counts; other kinds of work are not measured. Other load on the machine lowers it.
func measuredSpeed() float64 {
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
	return times * 2 * n * n * n / time.Since(begin).Seconds()
}
