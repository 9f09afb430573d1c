package eigen

import (
	"github.com/gsimc/gsimc/internal/num/cost"
	"github.com/gsimc/gsimc/internal/num/gemm"
)

// A workload counts the work of an iteration, in seconds of a typical machine, and reports the
// share of the expected work that is done. A nil workload counts nothing.
type workload struct {
	n       int
	product float64 // of one vector with K
	speed   float64 // of the products of large matrices, in operations a second
	meter   *Meter

	done, expected float64 // expected: until the end of the iteration, with done
	finish         float64 // of the last Rayleigh–Ritz step
	iteration      float64 // the share of the iteration in the whole, as first expected
}

// Operations of the dense work, by shape, as fast as products of large matrices.
const (
	EigenWork     = 25 // for each m³ of an eigenproblem of size m
	MeasuringWork = 16 // for each n·k² of the last Rayleigh–Ritz step
	projectWork   = 8  // for each n·p·b of a block step: four products
)

// spacePerPair is the number of Lanczos vectors for one more good pair. It was 1 to 1.6 on graphs
// of shops, films and clicks.
const spacePerPair = 1.3

// newWorkload returns the work of a typical iteration in the type T.
func newWorkload[T gemm.Float](p Problem, n int) *workload {
	w := &workload{n: n, product: p.Product, speed: cost.Single, meter: p.Meter}
	if isDouble[T]() {
		w.speed = cost.Double
	}
	square := float64(p.K) * float64(p.K)
	w.finish = float64(p.K)*w.product +
		MeasuringWork*float64(n)*square/cost.Double + w.eigen(p.K)
	probe := probeSteps * BlockSize
	first := min(firstCheck(p.K, BlockSize), TypicalSpace(n, p.K))
	w.expected = w.between(0, probe, 1) + w.eigen(probe) +
		w.between(0, first, typicalDegree) +
		w.rest(first, TypicalSpace(n, p.K), typicalDegree)
	w.iteration = w.expected / (w.expected + w.finish)
	return w
}

// step is the work of a block step behind p columns, with a filter of the given degree.
func (w *workload) step(p, degree int) float64 {
	if w == nil {
		return 0
	}
	return float64(degree*BlockSize)*w.product +
		projectWork*float64(w.n)*float64(p+BlockSize)*BlockSize/w.speed
}

// between is the work of the steps from one number of columns to another.
func (w *workload) between(from, to, degree int) float64 {
	sum := 0.0
	for p := from; p < to; p += BlockSize {
		sum += w.step(p, degree)
	}
	return sum
}

// rest is the work from a check at p columns to the last one at space, which computes all pairs.
func (w *workload) rest(p, space, degree int) float64 {
	if p >= space {
		return 0
	}
	return w.between(p, space, degree) + w.eigen(space)
}

// eigen is the work of a dense eigenproblem of size m.
func (w *workload) eigen(m int) float64 {
	if w == nil {
		return 0
	}
	return EigenWork * float64(m) * float64(m) * float64(m) / cost.Double
}

// add counts work that begins at this moment, and reports the work before.
func (w *workload) add(work float64) {
	if w == nil {
		return
	}
	w.report()
	w.done += work
}

// expect corrects the expected work after a check at p columns that missed some pairs.
func (w *workload) expect(p, degree, missing int) {
	if w == nil {
		return
	}
	w.expected = w.done + w.rest(p, p+int(spacePerPair*float64(missing)), degree)
	w.report()
}

func (w *workload) report() {
	share := w.done / (w.expected + w.finish)
	w.meter.Update(share / w.iteration)
}

// Seconds returns the typical time of [Krylov] for an operator of order n, on a typical machine.
func (p *Problem) Seconds(n int) float64 {
	w := newWorkload[float32](*p, n)
	return w.expected + w.finish
}
