package kalman

import (
	"github.com/gsimc/gsimc/internal/num/prefetch"
	"github.com/gsimc/gsimc/internal/num/simd"
)

// kernel holds the loops over the coordinates of an update. The coordinates are independent of each
// other, and every operation is rounded on its own, so all kernels give the same bits.
type kernel struct {
	name string
	// lanes is the number of coordinates taken at a time. With lanes > 1 the functions leave the
	// remaining coordinates to the generic kernel.
	lanes int

	// filter is UpdateDiagonal: predict, measure, correct.
	filter func(x, z, p, e, h []float32, a, a2, w, eta, nu float32)
	// band is y ← a y + w row.
	band func(y, row []float32, a, w float32)
	// deviation is the Kalman step of the deviation b with variance p; x holds the bands, len(mean)
	// numbers each.
	deviation func(b, p, mean, eta, nu, u, x []float32, growth, scale, w float32)
}

var generic = kernel{"generic", 1, filterGeneric, bandGeneric, deviationGeneric}

// inUse is the kernel in use.
var inUse = simd.Best(kernels())

func filterGeneric(x, z, p, e, h []float32, a, a2, w, eta, nu float32) {
	k := len(x)
	z, p, e, h = z[:k], p[:k], e[:k], h[:k]
	for j := range x {
		pred := float32(a*x[j]) + float32(w*float32(h[j]*e[j]))
		z[j] = float32(a*z[j]) + float32(w*e[j])
		x[j], p[j] = correct(pred, float32(a2*p[j])+eta, z[j], nu)
	}
}

func bandGeneric(y, row []float32, a, w float32) {
	row = row[:len(y)]
	for j := range y {
		y[j] = float32(a*y[j]) + float32(w*row[j])
	}
}

func deviationGeneric(b, p, mean, eta, nu, u, x []float32, growth, scale, w float32) {
	deviationFrom(0, b, p, mean, eta, nu, u, x, growth, scale, w)
}

// deviationFrom does the coordinates from the first on.
func deviationFrom(first int, b, p, mean, eta, nu, u, x []float32, growth, scale, w float32) {
	k := len(mean)
	for j := first; j < k; j++ {
		q := mean[j]
		for at := j; at < len(x); at += k {
			q += x[at]
		}
		variance := p[j] + float32(growth*eta[j])
		b[j], p[j] = correct(b[j], variance, float32(scale*u[j])-q, noiseOf(nu[j], w))
	}
}

// Fetch begins to bring the vectors of s into the cache, and returns at once. It changes nothing
// and only reads where the vectors are, so it may be called while another goroutine updates s.
func (s *State) Fetch() {
	prefetch.Slice(s.X)
	prefetch.Slice(s.Z)
	prefetch.Slice(s.B)
	prefetch.Slice(s.P)
}

// whole is the number of coordinates that come in full registers.
func (k *kernel) whole(n int) int { return n - n%k.lanes }

func (k *kernel) updateFilter(x, z, p, e, h []float32, a, a2, w, eta, nu float32) {
	k.filter(x, z, p, e, h, a, a2, w, eta, nu)
	if at := k.whole(len(x)); at < len(x) {
		filterGeneric(x[at:], z[at:], p[at:], e[at:], h[at:], a, a2, w, eta, nu)
	}
}

func (k *kernel) updateBand(y, row []float32, a, w float32) {
	k.band(y, row, a, w)
	if at := k.whole(len(y)); at < len(y) {
		bandGeneric(y[at:], row[at:], a, w)
	}
}

func (k *kernel) updateDeviation(b, p, mean, eta, nu, u, x []float32, growth, scale, w float32) {
	k.deviation(b, p, mean, eta, nu, u, x, growth, scale, w)
	if at := k.whole(len(mean)); at < len(mean) {
		deviationFrom(at, b, p, mean, eta, nu, u, x, growth, scale, w)
	}
}
