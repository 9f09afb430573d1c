package breakdown

import (
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/spectral"
)

// Energy is the energy of the spectra of histories by frequency: shares of the sum of their
// squares. The k frequencies are those of the basis, low ones first.
type Energy struct {
	Before []float64 // of the sums of encoder rows
	After  []float64 // of the queries that a model makes of them
}

// energyUsers is the largest number of test users that energies are summed over.
const energyUsers = 2000

// FilterEnergy returns the energy of the histories of the test users of p before and after a filter
// H of GS-IMC: of z = Σ_i w_i d_i^{−t/2} u_i, with t the exponent rescale, and of H z.
func FilterEnergy(
	p *dataset.Partition, basis *spectral.Basis, rescale float64, filter spectral.Filter,
) *Energy {
	e := newEnergy(basis.K)
	response := make([]float64, basis.K)
	filter.ResponseTo(response, basis.Lambda)
	z := make([]float64, basis.K)
	for h := range histories(&p.Test) {
		spectrumTo(z, basis, rescale, h)
		for j, x := range z {
			after := response[j] * x
			e.Before[j] += float64(x * x)
			e.After[j] += float64(after * after)
		}
	}
	e.normalise()
	return e
}

// DynamicsEnergy is like [FilterEnergy] for a model with learned dynamics on the basis, or on the
// leading part of it. The query of a new user is subtracted from the queries.
func DynamicsEnergy(p *dataset.Partition, basis *spectral.Basis, m *model.Model) *Energy {
	e := newEnergy(m.Rank())
	rescale := m.Spec().DegreeRescale
	z := make([]float64, m.Rank())
	start, q := m.NewQuery(), m.NewQuery()
	m.QueryTo(start, m.NewState(), model.EstimatorBGS)
	for h := range histories(&p.Test) {
		spectrumTo(z, basis, rescale, h)
		m.QueryTo(q, m.StateOf(h), model.EstimatorBGS)
		for j, x := range z {
			after := float64(q.Spectrum[j]) - float64(start.Spectrum[j])
			e.Before[j] += float64(x * x)
			e.After[j] += float64(after * after)
		}
	}
	e.normalise()
	return e
}

func newEnergy(k int) *Energy { return &Energy{make([]float64, k), make([]float64, k)} }

// histories yields what is before the targets of the users of h, of up to energyUsers of them.
func histories(h *dataset.Histories) func(yield func(model.History) bool) {
	return func(yield func(model.History) bool) {
		users := min(h.Len(), energyUsers)
		for u := range users {
			all := train.History(h, u*h.Len()/users)
			if !yield(all[:len(all)-1]) {
				return
			}
		}
	}
}

// spectrumTo stores the sum of the encoder rows of h in z, up to the rank of z.
func spectrumTo(z []float64, basis *spectral.Basis, rescale float64, h model.History) {
	clear(z)
	for _, event := range h {
		encoder, _ := model.Rescale(basis.Degrees[event.Item], rescale)
		weight := float64(event.Weight) * float64(encoder)
		row := basis.U[int(event.Item)*basis.K:][:len(z)]
		for j, u := range row {
			z[j] += float64(weight * u)
		}
	}
}

// normalise makes shares of sums.
func (e *Energy) normalise() {
	for _, values := range [][]float64{e.Before, e.After} {
		sum := 0.0
		for _, x := range values {
			sum += x
		}
		for j := range values {
			if sum > 0 {
				values[j] /= sum
			}
		}
	}
}
