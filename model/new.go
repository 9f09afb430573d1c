package model

import (
	"fmt"
	"math"
	"slices"

	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/spectral"
)

// New builds a model from a basis of n items and rank k, the n item ids in bytewise order, and the
// users' histories. P_0 and the noise are learned from the validation users, learned dynamics from
// the training users (see the package comment). The rank of the model is below k if h has smaller
// ranks to choose from, and one of them is chosen.
//
// An error names the field of spec, the item or the number that is out of range. New panics if the
// lengths of basis and items do not fit.
func New(spec Spec, basis *spectral.Basis, items []string, h fit.Histories) (*Model, error) {
	n, k := basis.N, basis.K
	if n < 1 || n > math.MaxInt32 || k < 1 || k > n || len(items) != n ||
		len(basis.U) != n*k || len(basis.Kappa) != k || len(basis.Lambda) != k ||
		len(basis.Degrees) != n || len(basis.Scale) != n {
		panic(fmt.Sprintf("model: basis of %d×%d with %d coefficients, %d and %d eigenvalues, "+
			"%d degrees, %d scales and %d items", n, k, len(basis.U),
			len(basis.Kappa), len(basis.Lambda), len(basis.Degrees), len(basis.Scale), len(items)))
	}
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	if h.Train == nil {
		h.Train = func(func(History) bool) {}
	}
	m := &Model{
		spec: spec.clone(), n: n, k: k,
		spectrum: spectrum{kappa: slices.Clone(basis.Kappa), lambda: slices.Clone(basis.Lambda)},
		table: table{
			basis:        gemm.ToFloat32(basis.U),
			degrees:      slices.Clone(basis.Degrees),
			ids:          slices.Clone(items),
			encoderScale: make([]float32, n),
			decoderScale: make([]float32, n),
			graphScale:   slices.Clone(basis.Scale),
		},
	}
	response := make([]float64, k)
	spec.Filter.ResponseTo(response, basis.Lambda)
	m.response = gemm.ToFloat32(response)
	for i, d := range m.degrees {
		m.encoderScale[i], m.decoderScale[i] = Rescale(d, m.spec.DegreeRescale)
	}
	if err := m.learnTransition(basis.U, response, &h); err != nil {
		return nil, err
	}
	m.measureEnergy(h)
	if err := m.finish(); err != nil {
		return nil, err
	}
	m.learnLocal(&h)
	if d, ok := m.transition.(*learnedDynamics); ok {
		w := &m.spec.Dynamics.Popularity
		*w, d.popularity = h.Popularity(m.items(), *w, m.newWalker)
	}
	m.version = m.image().Version()
	return m, nil
}

// items are the items of m for package fit.
func (m *Model) items() *fit.Items {
	return &fit.Items{
		N: m.n, K: m.k, Basis: m.basis, EncoderScale: m.encoderScale, DecoderScale: m.decoderScale,
		Degrees: m.degrees,
	}
}
