package model

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/kalman"
)

// priorSamples calls add with vectors δ and their weights. P_0 is the weighted mean of their
// squares or outer products. Each validation user with at least two events gives
//
//	δ = Uᵀs_full − H Uᵀs_allbutlast
//
// with weight 1: the error of the prediction of GS-IMC before the last event, measured after it
// (paper, Section 4). Both spectra come from Fold, so that weights, forgetting and the degree
// exponent count as they do in serving.
//
// Without such users each training interaction stands for a user with this one event. Then δ = e_i,
// and the weight of item i is its degree. This needs no data outside the model, and it has the
// right size: the change of a coordinate by an event.
//
// priorSamples must be called before the basis is rotated: H is diagonal in the original basis.
func (m *Model) priorSamples(add func(delta []float64, weight float64), validation []History) {
	delta := make([]float64, m.k)
	users := 0
	for _, h := range validation {
		if len(h) < 2 {
			continue
		}
		users++
		s := m.NewState()
		last := len(h) - 1
		for _, e := range h[:last] {
			m.Fold(s, e)
		}
		for j, z := range s.Z {
			delta[j] = -float64(m.response[j]) * float64(z)
		}
		m.Fold(s, h[last])
		for j, z := range s.Z {
			delta[j] += float64(z)
		}
		add(delta, 1)
	}
	if users > 0 {
		return
	}
	for i := range m.n {
		for j, u := range row(m.basis, i, m.k) {
			delta[j] = float64(u) * float64(m.encoderScale[i])
		}
		add(delta, float64(max(m.degrees[i], 1)))
	}
}

// diagonalMean is the weighted mean of squares, per coordinate.
type diagonalMean struct {
	sum    []float64
	weight float64
}

func newDiagonalMean(k int) *diagonalMean { return &diagonalMean{sum: make([]float64, k)} }

func (d *diagonalMean) add(delta []float64, weight float64) {
	for j, x := range delta {
		d.sum[j] += weight * x * x
	}
	d.weight += weight
}

func (d *diagonalMean) mean() []float64 {
	for j := range d.sum {
		d.sum[j] /= d.weight
	}
	return d.sum
}

// outerMean is the weighted mean of outer products δδᵀ.
type outerMean struct {
	sum    *mat.SymDense
	weight float64
}

func newOuterMean(k int) *outerMean { return &outerMean{sum: mat.NewSymDense(k, nil)} }

func (o *outerMean) add(delta []float64, weight float64) {
	o.sum.SymRankOne(o.sum, weight, mat.NewVecDense(len(delta), delta))
	o.weight += weight
}

func (o *outerMean) mean() *mat.SymDense {
	o.sum.ScaleSym(1/o.weight, o.sum)
	return o.sum
}

// eigen returns the eigenvalues of c, descending, and its eigenvectors as the columns of q: c =
// q·diag(values)·qᵀ. The entry of largest magnitude in each column is positive, so that the result
// does not depend on the solver's choice of signs.
func eigen(c *mat.SymDense) (values []float64, q *mat.Dense, err error) {
	var es mat.EigenSym
	if !finite(c.RawSymmetric().Data) || !es.Factorize(c, true) {
		return nil, nil, errors.New("the full prior covariance has no finite eigenvalues: " +
			"look for extreme weights in the validation histories, or choose a diagonal one")
	}
	k := c.SymmetricDim()
	ascending := es.Values(nil)
	var vectors mat.Dense
	es.VectorsTo(&vectors)
	values, q = make([]float64, k), mat.NewDense(k, k, nil)
	for j := range k {
		from := k - 1 - j
		values[j] = ascending[from]
		largest := 0.0
		for i := range k {
			if v := vectors.At(i, from); math.Abs(v) > math.Abs(largest) {
				largest = v
			}
		}
		for i := range k {
			q.Set(i, j, math.Copysign(1, largest)*vectors.At(i, from))
		}
	}
	return values, q, nil
}

// variances rounds v to float32. Variances of 0, or below 0 by rounding, become kalman.MinVariance,
// the smallest that the Kalman filter accepts. This floor has no effect on queries, because the
// first event adds the process noise.
func variances(v []float64) []float32 {
	p := gemm.ToFloat32(v)
	for j := range p {
		p[j] = max(p[j], kalman.MinVariance)
	}
	return p
}

func flatPrior(k int) []float32 {
	p := make([]float32, k)
	for j := range p {
		p[j] = 1
	}
	return p
}
