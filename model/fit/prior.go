package fit

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/internal/num/lapack"
	"github.com/gsimc/gsimc/kalman"
)

// Prior is what P_0 of the paper's filter is learned from. P_0 is the weighted mean of the squares
// or outer products of vectors δ. Each validation user with at least two events gives
//
//	δ = Uᵀs_full − H Uᵀs_allbutlast
//
// with weight 1: the error of the prediction of GS-IMC before the last event, measured after it
// (paper, Section 4). Both spectra come from the filter, so that weights, forgetting and the degree
// exponent count as they do in serving. The filter's own prior has no effect on them.
//
// Without such users each training interaction stands for a user with this one event. Then δ = e_i,
// and the weight of item i is its degree. This needs no data outside the model, and it has the
// right size: the change of a coordinate by an event.
type Prior struct {
	Items      *Items // in the coordinates of the spectrum
	Filter     *kalman.Filter
	Response   []float32 // k, H(λ)
	Validation []kalman.History
}

// samples calls add with vectors δ and their weights.
func (p *Prior) samples(add func(delta []float64, weight float64)) {
	x, users := p.Items, 0
	delta := make([]float64, x.K)
	for _, h := range p.Validation {
		if len(h) < 2 {
			continue
		}
		users++
		s := p.Filter.NewState()
		last := len(h) - 1
		for _, e := range h[:last] {
			p.fold(s, e)
		}
		for j, z := range s.Z {
			delta[j] = -float64(p.Response[j]) * float64(z)
		}
		p.fold(s, h[last])
		for j, z := range s.Z {
			delta[j] += float64(z)
		}
		add(delta, 1)
	}
	if users > 0 {
		return
	}
	for i := range x.N {
		for j, u := range row(x.Basis, i, x.K) {
			delta[j] = float64(u) * float64(x.EncoderScale[i])
		}
		add(delta, float64(max(x.Degrees[i], 1)))
	}
}

func (p *Prior) fold(s *kalman.State, e kalman.Event) {
	u, g := p.Items.encoder(e.Item, p.Items.K)
	p.Filter.UpdateDiagonal(s, u, p.Response, float32(e.Weight*g), e.Time)
}

// Diagonal returns the mean of the squares: P_0 per coordinate.
func (p *Prior) Diagonal() []float32 {
	mean, total := make([]float64, p.Items.K), 0.0
	p.samples(func(delta []float64, weight float64) {
		for j, x := range delta {
			mean[j] += weight * x * x
		}
		total += weight
	})
	for j := range mean {
		mean[j] /= total
	}
	return variances(mean)
}

// Rotated is a basis in which a full P_0 is diagonal: with P_0 = QΛQᵀ,
//
//	Basis        UQ
//	Predictions  rows (QᵀH u_i)ᵀ = u_iᵀ H Q
//	P0           Λ
type Rotated struct {
	P0, Rotation, Basis, Predictions []float32
}

// Full returns the mean of the outer products. u is the basis and response is H(λ), in float64.
func (p *Prior) Full(u, response []float64) (*Rotated, error) {
	n, k := p.Items.N, p.Items.K
	c, total := zeros(k, k), 0.0
	sum := blas64.Symmetric{Uplo: blas.Upper, N: k, Stride: k, Data: c.Data}
	p.samples(func(delta []float64, weight float64) {
		blas64.Syr(weight, blas64.Vector{N: k, Inc: 1, Data: delta}, sum)
		total += weight
	})
	floats.Scale(1/total, c.Data)
	lambda, q, err := eigen(c)
	if err != nil {
		return nil, err
	}
	hq := zeros(k, k)
	for i, v := range q.Data {
		hq.Data[i] = response[i/k] * v
	}
	basis := gemm.Matrix[float64]{Rows: n, Cols: k, Stride: k, Data: u}
	rotated, predictions := zeros(n, k), zeros(n, k)
	gemm.MulAdd(rotated, 1, gemm.Plain, basis, gemm.Plain, q)
	gemm.MulAdd(predictions, 1, gemm.Plain, basis, gemm.Plain, hq)
	return &Rotated{
		P0: variances(lambda), Rotation: gemm.ToFloat32(q.Data),
		Basis: gemm.ToFloat32(rotated.Data), Predictions: gemm.ToFloat32(predictions.Data),
	}, nil
}

func zeros(rows, cols int) gemm.Matrix[float64] {
	return gemm.Matrix[float64]{
		Rows: rows, Cols: cols, Stride: cols, Data: make([]float64, rows*cols),
	}
}

// eigen returns the eigenvalues of c, descending, and its eigenvectors as the columns of q: c =
// q·diag(values)·qᵀ. The upper triangle of c is given; q has its place. The entry of largest
// magnitude in each column is positive, so that the result does not depend on the solver's choice
// of signs.
func eigen(c gemm.Matrix[float64]) (values []float64, q gemm.Matrix[float64], err error) {
	refused := errors.New("the full prior covariance has no finite eigenvalues: " +
		"look for extreme weights in the validation histories, or choose a diagonal one")
	infinite := func(x float64) bool { return !(math.Abs(x) <= math.MaxFloat32) }
	if slices.ContainsFunc(c.Data, infinite) {
		return nil, q, refused
	}
	values, ok := lapack.Eigen(c)
	if !ok {
		return nil, q, refused
	}
	k := c.Rows
	slices.Reverse(values)
	for j := range k {
		slices.Reverse(c.Data[j*k : (j+1)*k])
	}
	for j := range k {
		largest := 0.0
		for i := range k {
			if v := c.Data[i*k+j]; math.Abs(v) > math.Abs(largest) {
				largest = v
			}
		}
		for i := range k {
			c.Data[i*k+j] *= math.Copysign(1, largest)
		}
	}
	return values, c, nil
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
