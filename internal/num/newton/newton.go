// Package newton finds the largest value of a concave function of a few parameters, such as the
// logarithm of a likelihood, by Newton's method.
package newton

import "github.com/gsimc/gsimc/internal/num/parallel"

// Most is the largest number of parameters. A function of fewer has derivatives 0 by the others.
const Most = 4

// Params are parameters, or something for each of them.
type Params [Most]float64

// Dot returns Σ x_a y_a.
func (x *Params) Dot(y *Params) (sum float64) {
	for a := range x {
		sum += x[a] * y[a]
	}
	return sum
}

// Moments are the value of a function, its gradient, and the negative of its matrix of second
// derivatives.
type Moments struct {
	Value    float64
	Gradient Params
	Matrix   [Most]Params
}

// Sum adds up n moments, in their order. It calls of in parallel.
func Sum(n int, of func(t int) Moments) (sum Moments) {
	each := make([]Moments, n)
	parallel.TasksWith(n, func() func(t int) {
		return func(t int) { each[t] = of(t) }
	})
	for t := range each {
		m := &each[t]
		sum.Value += m.Value
		for a := range sum.Gradient {
			sum.Gradient[a] += m.Gradient[a]
			for b := range sum.Gradient {
				sum.Matrix[a][b] += m.Matrix[a][b]
			}
		}
	}
	return sum
}

// The climb ends with the step by which the value grows by less than enough, as the derivatives
// foretell, or after mostSteps. So small a step is not measured: each measurement takes as long.
const (
	mostSteps = 30
	enough    = 1e-3
)

// Climb finds the largest value of f from a point on, over the parameters that are free, and where
// it lies. A step that goes down is halved.
func Climb(
	from Params, free [Most]bool, f func(Params) Moments,
) (at Params, value float64) {
	at = from
	now := f(at)
	for range mostSteps {
		step := now.step(free)
		if grows := step.Dot(&now.Gradient) / 2; 0 <= grows && grows < enough {
			for a := range at {
				at[a] += step[a]
			}
			return at, now.Value + grows
		}
		next, better, to := now, false, at
		for range mostSteps {
			for a := range at {
				to[a] = at[a] + step[a]
			}
			next = f(to)
			if better = next.Value > now.Value; better {
				break
			}
			for a := range step {
				step[a] /= 2
			}
		}
		if !better {
			break
		}
		at, now = to, next
	}
	return at, now.Value
}

// degenerate is the part of a second derivative that the other parameters have to leave for a
// parameter to move.
const degenerate = 1e-12

// step solves for the step of Newton's method, by elimination. A parameter stays if nothing depends
// on it beside those before it.
func (m *Moments) step(free [Most]bool) (x Params) {
	a, b := m.Matrix, m.Gradient
	for p := range a {
		if !free[p] || !(a[p][p] > degenerate*m.Matrix[p][p]) {
			a[p], b[p] = Params{}, 0
			for q := range a {
				a[q][p] = 0
			}
			a[p][p] = 1
			continue
		}
		for q := p + 1; q < len(a); q++ {
			factor := a[q][p] / a[p][p]
			for r := p; r < len(a); r++ {
				a[q][r] -= factor * a[p][r]
			}
			b[q] -= factor * b[p]
		}
	}
	for p := len(a) - 1; p >= 0; p-- {
		x[p] = b[p]
		for q := p + 1; q < len(a); q++ {
			x[p] -= a[p][q] * x[q]
		}
		x[p] /= a[p][p]
	}
	return x
}
