package model

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/gsimc/gsimc/internal/gemm"
	"github.com/gsimc/gsimc/kalman"
)

// priorSamples calls add with the vectors whose mean square, or mean outer product, is P_0, each
// with its weight: for every validation user with two events or more
//
//	δ = Uᵀs_full − H Uᵀs_allbutlast
//
// the error of the prediction that GS-IMC makes before the last event, measured after it (paper,
// Section 4). Both spectra come from Fold, so that weights, forgetting and the degree exponent
// count as they do when serving.
//
// Without such users the training data stand in for them: one user for every training interaction,
// with that one event. Then δ = e_i, and the weight of item i is its degree. It needs no data that
// the model does not have, and is of the right size: what an event moves a coordinate by.
//
// It is called before the basis is rotated, with the response diagonal in it.
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

// variances rounds to float32 and lifts what is zero, or below it by rounding, to the smallest
// variance that the Kalman filter takes. The first event adds the process noise, so this floor is
// never felt.
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
