package train

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/gsimc/gsimc/internal/num/cost"
	"github.com/gsimc/gsimc/internal/num/gemm"
)

// calibrationTime is how long each unit is measured.
const calibrationTime = 150 * time.Millisecond

// calibrate measures how fast this machine works, in about a second. Other load on the machine
// lowers the figures.
func calibrate() *cost.Speed {
	return &cost.Speed{
		cost.Single:  productSpeed[float32](1024),
		cost.Double:  productSpeed[float64](768),
		cost.Stream:  streamSpeed(64 << 20),
		cost.Gather:  onAllProcessors(gatherSpeed),
		cost.Scatter: onAllProcessors(scatterSpeed),
		cost.Divide:  onAllProcessors(divideSpeed),
		cost.Hash:    hashSpeed,
	}
}

// hashSpeed is that of SHA-256 on processors of the last ten years; it decides about parts of a
// second.
const hashSpeed = 1.5e9

// repeat calls do until calibrationTime is over, and returns how much of amount a second that is.
func repeat(amount float64, do func()) float64 {
	do() // memory is there, and the processor awake
	times, begin := 0, time.Now()
	for time.Since(begin) < calibrationTime {
		do()
		times++
	}
	return amount * float64(times) / time.Since(begin).Seconds()
}

// onAllProcessors adds up the speeds of as many goroutines.
func onAllProcessors(measure func() float64) (sum float64) {
	speeds := make([]float64, runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	for i := range speeds {
		wg.Go(func() { speeds[i] = measure() })
	}
	wg.Wait()
	for _, s := range speeds {
		sum += s
	}
	return sum
}

func productSpeed[T gemm.Float](n int) float64 {
	square := func() gemm.Matrix[T] {
		return gemm.Matrix[T]{Rows: n, Cols: n, Stride: n, Data: make([]T, n*n)}
	}
	a, b, c := square(), square(), square()
	for i := range a.Data {
		a.Data[i], b.Data[i] = 1, 1
	}
	return repeat(2*float64(n)*float64(n)*float64(n), func() {
		gemm.MulAdd(c, 1, gemm.Plain, a, gemm.Plain, b)
	})
}

// streamSpeed counts what is read and what is written.
func streamSpeed(bytes int) float64 {
	from, to := make([]byte, bytes), make([]byte, bytes)
	part := bytes / runtime.GOMAXPROCS(0)
	return repeat(2*float64(bytes), func() {
		var wg sync.WaitGroup
		for lo := 0; lo < bytes; lo += part {
			wg.Go(func() { copy(to[lo:min(lo+part, bytes)], from[lo:]) })
		}
		wg.Wait()
	})
}

func gatherSpeed() float64 {
	const rows = 20000
	rng := rand.New(rand.NewPCG(1, 1))
	x, sum, steps := make([]gemm.FoldRow, rows), make([]gemm.FoldRow, rows),
		make([]gemm.FoldStep, 1024)
	for i := range steps {
		steps[i] = gemm.FoldStep{From: rng.Int32N(rows), To: rng.Int32N(rows), A: 0.5, B: 1, C: 1}
	}
	return repeat(float64(len(steps)), func() { gemm.Fold(nil, x, sum, steps) })
}

func scatterSpeed() float64 {
	const places = 1 << 14
	rng := rand.New(rand.NewPCG(1, 2))
	sums, at := new([places]float32), make([]uint16, 4096)
	for i := range at {
		at[i] = uint16(rng.IntN(places))
	}
	return repeat(float64(len(at)), func() {
		for _, i := range at {
			sums[i%places]++
		}
	})
}

func divideSpeed() float64 {
	const steps = 1 << 14
	x := 1.0
	return repeat(steps, func() {
		for range steps { // as the variance of a Kalman filter
			p := x + 0.25
			x = p / (p + 1)
		}
	})
}
