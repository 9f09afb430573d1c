package model

import (
	"fmt"
	"slices"

	"github.com/gsimc/gsimc/internal/file/safetensors"
	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/internal/num/vec"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/model/internal/sealed"
)

// paperFilter holds the constants of the paper's filter, in the coordinates in which P is diagonal.
type paperFilter struct {
	kalman.Filter
	response []float32 // k, H(λ) in the coordinates of the spectrum
}

// diagonalFilter is the paper's filter with a diagonal prior covariance: P and H are diagonal in
// the same coordinates, those of the spectrum.
type diagonalFilter struct{ paperFilter }

// rotatedFilter is the paper's filter with a full prior covariance QΛQᵀ. P is diagonal in
// coordinates that are rotated by Q, in which H becomes QᵀHQ. So the prediction of an item is not a
// multiple of its row: table.predictions has the rows QᵀH u_i.
type rotatedFilter struct {
	paperFilter
	rotation rotation
}

// newPaperFilter returns the filter of spec with a prior P_0.
func newPaperFilter(spec *Spec, response, p0 []float32) paperFilter {
	return paperFilter{
		Filter: kalman.Filter{
			P0: p0, SigmaEta: float32(spec.SigmaEta), SigmaNu: float32(spec.SigmaNu),
			Alpha: spec.Alpha, HalfLife: spec.HalfLife,
		},
		response: response,
	}
}

// learnFilter estimates P_0. If it is full, learnFilter also rotates the basis so that P_0 becomes
// diagonal, see [fit.Rotated].
func (m *Model) learnFilter(u, response []float64, validation []History) error {
	filter := newPaperFilter(&m.spec, m.response, flatPrior(m.k))
	m.transition = &diagonalFilter{filter}
	if err := m.check(); err != nil {
		return err
	}
	prior := fit.Prior{
		Items: m.items(), Filter: &filter.Filter, Response: m.response, Validation: validation,
	}
	if m.spec.Covariance == CovarianceDiagonal {
		m.transition = &diagonalFilter{newPaperFilter(&m.spec, m.response, prior.Diagonal())}
		return nil
	}
	r, err := prior.Full(u, response)
	if err != nil {
		return err
	}
	m.basis, m.rotation = r.Basis, r.Rotation
	m.setPredictions(r.Predictions)
	m.transition = &rotatedFilter{newPaperFilter(&m.spec, m.response, r.P0), m.rotation}
	return nil
}

// flatPrior has the variance 1 for each of k coordinates.
func flatPrior(k int) []float32 { return slices.Repeat([]float32{1}, k) }

func (m *Model) readRotatedFilter(r *safetensors.Reader) {
	n, k := int64(m.n), int64(m.k)
	p0 := safetensors.Array[float32](r, "p0", k)
	m.setPredictions(safetensors.Array[float32](r, "predictor", n, k))
	m.rotation = safetensors.Array[float32](r, "rotation", k, k)
	m.transition = &rotatedFilter{newPaperFilter(&m.spec, m.response, p0), m.rotation}
}

// deviation returns nil: P of the paper's filter is no variance of a query, see
// [Model.HasVariance].
func (f *paperFilter) deviation() *kalman.Dynamics { return nil }

func (f *paperFilter) describe(d *Description) {
	d.Response = f.response
	d.Prior = newRange(f.P0)
}

func (f *diagonalFilter) fold(s *kalman.State, t *table, i int, e Event) {
	u, g := t.encoder(i, len(f.P0))
	w := float32(e.Weight * g) // the update is linear in w·e, so the factor can stand on either
	f.UpdateDiagonal(s, u, f.response, w, e.Time)
}

func (f *diagonalFilter) queryTo(q []float32, s *kalman.State, est Estimator) {
	if f.readEstimate(q, s, est) {
		return
	}
	for j, h := range f.response {
		q[j] = h * s.Z[j]
	}
}

// predict returns nil: the prediction H u_i follows from the row.
func (f *diagonalFilter) predict(*table, [][]float64) []float32 { return nil }

func (f *diagonalFilter) tensors(*table) []sealed.Tensor {
	return []sealed.Tensor{sealed.Numbers("p0", f.P0)}
}

// predicted returns coordinate j of H u_i.
func (f *diagonalFilter) predicted(t *table, i, j int) float64 {
	return float64(f.response[j]) * float64(t.basis[i*len(f.P0)+j])
}

func (f *rotatedFilter) fold(s *kalman.State, t *table, i int, e Event) {
	u, g := t.encoder(i, len(f.P0))
	f.Update(s, u, t.prediction(i), float32(e.Weight*g), e.Time)
}

// queryTo rotates z back and forth for EstimatorGS: q = QᵀHQ z.
func (f *rotatedFilter) queryTo(q []float32, s *kalman.State, est Estimator) {
	if f.readEstimate(q, s, est) {
		return
	}
	clear(q)
	for j, h := range f.response {
		qj := row(f.rotation, j, len(f.response))
		hz := h * vec.Dot(qj, s.Z) // coordinate j of HQz
		for l, r := range qj {
			q[l] += float32(hz * r)
		}
	}
}

// predict returns the rows QᵀH u.
func (f *rotatedFilter) predict(_ *table, rows [][]float64) []float32 {
	var predictions []float32
	for _, rotated := range rows {
		u := f.rotation.back(rotated)
		for j, h := range f.response {
			u[j] *= float64(h)
		}
		predictions = append(predictions, gemm.ToFloat32(f.rotation.apply(u))...)
	}
	return predictions
}

func (f *rotatedFilter) tensors(t *table) []sealed.Tensor {
	n, k := int64(len(t.degrees)), int64(len(f.P0))
	return []sealed.Tensor{
		sealed.Numbers("predictor", t.predictions, n, k),
		sealed.Numbers("rotation", f.rotation, k, k),
		sealed.Numbers("p0", f.P0),
	}
}

// predicted returns coordinate j of QᵀH u_i.
func (f *rotatedFilter) predicted(t *table, i, j int) float64 {
	return float64(t.prediction(i)[j])
}

// readEstimate stores x̂ in q and returns true, or returns false for EstimatorGS. It panics on
// another estimator and on lengths that do not fit.
func (f *paperFilter) readEstimate(q []float32, s *kalman.State, est Estimator) bool {
	if k := len(f.P0); len(q) != k || len(s.X) != k || len(s.Z) != k {
		panic(fmt.Sprintf("model: rank %d, but query of length %d and state of %d",
			k, len(q), len(s.Z)))
	}
	switch est {
	case EstimatorBGS:
		copy(q, s.X)
		return true
	case EstimatorGS:
		return false
	}
	panic(fmt.Sprintf("model: unknown estimator %q", est))
}

// rotation is the orthogonal k×k matrix Q of a full prior covariance, row-major; nil stands for the
// identity.
type rotation []float32

// apply returns Qᵀu, the coordinates of u in Model.basis. Without a rotation it returns u itself.
func (q rotation) apply(u []float64) []float64 {
	if q == nil {
		return u
	}
	out := make([]float64, len(u))
	for j, x := range u {
		for l, r := range row(q, j, len(u)) {
			out[l] += x * float64(r)
		}
	}
	return out
}

// back returns Qv in new memory: the inverse of apply.
func (q rotation) back(v []float64) []float64 {
	if q == nil {
		return append([]float64(nil), v...)
	}
	out := make([]float64, len(v))
	for j := range out {
		for l, r := range row(q, j, len(v)) {
			out[j] += float64(r) * v[l]
		}
	}
	return out
}
