package train

import (
	"time"

	"github.com/gsimc/gsimc/internal/num/cost"
	"github.com/gsimc/gsimc/internal/num/gemm"
)

// measuringTime is how long the speed of this machine is measured.
const measuringTime = 500 * time.Millisecond

// measuredSpeed returns [cost.Typical] times as much as this machine is faster in matrix products
// of float32, on all its processors. The other units are not measured. Other load on the machine
// lowers the figures.
func measuredSpeed() (speed cost.Speed) {
	factor := productSpeed(1024) / cost.Typical[cost.Single]
	for unit, typical := range cost.Typical {
		speed[unit] = factor * typical
	}
	return speed
}

// productSpeed returns the operations a second in products of matrices of n rows and columns.
func productSpeed(n int) float64 {
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
	return times * 2 * float64(n) * float64(n) * float64(n) / time.Since(begin).Seconds()
}
