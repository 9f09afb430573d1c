package model

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/gsimc/gsimc/internal/gemm"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/spectral"
)

// New builds a model from a basis of n items and rank k, the n item ids in bytewise order, and the users' histories: the
// validation users' give P_0 and the noise, the training users' the learned dynamics (see the package comment).
//
// An error names the field of spec, the item or the number that is out of range. Lengths of basis and items that do not
// fit panic.
func New(spec Spec, basis *spectral.Basis, items []string, h Histories) (*Model, error) {
	n, k := basis.N, basis.K
	if n < 1 || n > math.MaxInt32 || k < 1 || k > n || len(items) != n || len(basis.U) != n*k || len(basis.Kappa) != k ||
		len(basis.Lambda) != k || len(basis.Degrees) != n || len(basis.Scale) != n {
		panic(fmt.Sprintf("model: basis of %d×%d with %d coefficients, %d and %d eigenvalues, %d degrees, %d scales and %d items",
			n, k, len(basis.U), len(basis.Kappa), len(basis.Lambda), len(basis.Degrees), len(basis.Scale), len(items)))
	}
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	if h.Train == nil {
		h.Train = func(func(History) bool) {}
	}
	m := &Model{
		spec: spec.clone(), n: n, k: k,
		kappa: append([]float64(nil), basis.Kappa...), lambda: append([]float64(nil), basis.Lambda...),
		table: table{
			basis: gemm.ToFloat32(basis.U), degrees: append([]int64(nil), basis.Degrees...), ids: append([]string(nil), items...),
			encoderScale: make([]float32, n), decoderScale: make([]float32, n), graphScale: append([]float64(nil), basis.Scale...),
		},
	}
	response := make([]float64, k)
	spec.Filter.ResponseTo(response, basis.Lambda)
	m.response = gemm.ToFloat32(response)
	for i, d := range m.degrees {
		m.encoderScale[i], m.decoderScale[i] = m.spec.rescale(d)
	}
	if err := m.setMotion(basis.U, response, h); err != nil {
		return nil, err
	}
	m.measureEnergy(h)
	if err := m.finish(); err != nil {
		return nil, err
	}
	m.version = newImage(m).version()
	return m, nil
}

// setMotion chooses the law by which states move, and learns its constants.
func (m *Model) setMotion(u, response []float64, h Histories) error {
	if m.spec.Dynamics.learned() {
		if err := m.check(); err != nil {
			return err
		}
		return m.learn(h)
	}
	m.kalman = kalman.Filter{
		P0:       flatPrior(m.k), // until the prior is known
		SigmaEta: float32(m.spec.SigmaEta), SigmaNu: float32(m.spec.SigmaNu),
		Alpha: m.spec.Alpha, HalfLife: m.spec.HalfLife,
	}
	if err := m.check(); err != nil {
		return err
	}
	return m.setPrior(u, response, h.Validation)
}

// setPrior estimates P_0. If it is full, it also rotates the basis so that P_0 becomes diagonal: with P_0 = QΛQᵀ,
//
//	basis     U ← UQ
//	predictor rows (QᵀH u_i)ᵀ = u_iᵀ H Q
//	P_0       Λ
func (m *Model) setPrior(u, response []float64, validation []History) error {
	if m.spec.Covariance == CovarianceDiagonal {
		p := newDiagonalMean(m.k)
		m.priorSamples(p.add, validation)
		m.kalman.P0 = variances(p.mean())
		return nil
	}
	c := newOuterMean(m.k)
	m.priorSamples(c.add, validation)
	lambda, q, err := eigen(c.mean())
	if err != nil {
		return err
	}
	m.kalman.P0 = variances(lambda)
	m.rotation = gemm.ToFloat32(q.RawMatrix().Data)

	var rotated mat.Dense
	rotated.Mul(mat.NewDense(m.n, m.k, u), q)
	m.basis = gemm.ToFloat32(rotated.RawMatrix().Data)
	var hq, predictor mat.Dense
	hq.Mul(mat.NewDiagDense(m.k, response), q)
	predictor.Mul(mat.NewDense(m.n, m.k, u), &hq)
	m.predictor = gemm.ToFloat32(predictor.RawMatrix().Data)
	return nil
}
