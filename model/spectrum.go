package model

// Spectrum is the energy of a history by frequency: the shares of the sum of the squares of its
// coordinates in the eigenvectors of the item graph, k of them, in the order of [Model.Lambda].
type Spectrum struct {
	Before []float64 // of z = Σ w_i e_i, the sum of the encoder rows of the events, not faded
	After  []float64 // of q − q_0, the query of the state less that of a state without events
}

// Spectrum returns the energy of a history before and after the filter, or with learned dynamics
// before and after the law of motion: of the events, and of the query that a state of them has. The
// shares of each add up to 1, or are all 0 without any energy. O(k·len(events)), and O(k²) more
// with a full covariance, whose rotation is undone.
func (m *Model) Spectrum(events History, query *Query, est Estimator) *Spectrum {
	m.checkQuery(query.Spectrum)
	z, q := make([]float64, m.k), make([]float64, m.k)
	for _, e := range events {
		u, g := m.encoder(e.Item)
		w := float64(e.Weight) * float64(g)
		for j, x := range u {
			z[j] += w * float64(x)
		}
	}
	none := m.NewQuery()
	m.transition.queryTo(none.Spectrum, m.NewState(), est)
	for j, x := range query.Spectrum {
		q[j] = float64(x) - float64(none.Spectrum[j])
	}
	return &Spectrum{
		Before: energyShares(m.rotation.back(z)), After: energyShares(m.rotation.back(q)),
	}
}

// energyShares makes shares of energy of coordinates, in place.
func energyShares(v []float64) []float64 {
	sum := 0.0
	for j, x := range v {
		v[j] = x * x
		sum += v[j]
	}
	if sum == 0 {
		return v
	}
	for j := range v {
		v[j] /= sum
	}
	return v
}
